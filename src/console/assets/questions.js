// The questions that wait for the person, on top of everything else.

import * as api from './api.js';
import { el, reconcile, setText } from './dom.js';
import { questionsWait } from './signal.js';

const place = document.getElementById('questions');
/** Read aloud by screen readers. */
const announcement = document.getElementById('announcement');
const toast = document.getElementById('toast');
/** A key that was pressed just as a question appeared was meant for something else. */
const NOT_BEFORE = 600;

let questions = [];
let toastEnds = 0;
/** Questions that we are answering now. */
const answering = new Set();

export function say(text) {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => { toast.hidden = true; }, 6_000);
}

/** Shows what waits in these servers. */
export function show(states) {
  const known = new Map(questions.map((question) => [question.id, question]));
  questions = states.flatMap(({ server, questions: waiting }) => waiting.map((question) => {
    const old = known.get(question.id);
    const told = Date.now() + question.seconds_left * 1000;
    // The server counts whole seconds, so the first count is the best, unless one of the clocks was stopped meanwhile.
    const until = old && Math.abs(old.until - told) < 2000 ? old.until : told;
    return { ...question, server, until, since: old?.since ?? performance.now() };
  }));
  const fresh = questions.filter((question) => !known.has(question.id));
  questionsWait(questions.length, fresh.length > 0);
  if (fresh.length > 0) setText(announcement, `A question waits for you. ${fresh.at(-1).message}`);
  else if (questions.length === 0) setText(announcement, '');
  place.hidden = questions.length === 0;
  reconcile(place, questions, { key: (question) => question.id, create: card, update: (child) => count(child) });
}

function card(question) {
  const { server, principal, session, client } = question;
  const who = [`session ${session}`, client ?? principal, `server ${server.pid}`].join(' · ');
  const buttons = question.choices.map((choice, index) => el('button', {
    class: choice.decision === 'deny' ? 'choice no' : 'choice',
    'data-decision': choice.decision,
    onclick: () => answer(question, choice.decision),
  }, el('kbd', { 'aria-hidden': 'true' }, String(index + 1)), ` ${choice.title}`));
  return el('article', { class: 'question', role: 'alertdialog', 'aria-label': `A question from ${who}`, tabindex: '-1' },
    el('header', {}, el('strong', {}, who), el('span', { class: 'path' }, server.project), el('span', { class: 'countdown' })),
    el('pre', { class: 'message', tabindex: '0', 'aria-label': 'What is asked' }, ...message(question)),
    el('div', { class: 'choices', role: 'group', 'aria-label': 'Choices' },
      ...buttons, el('span', { class: 'beside' }, question.beside)),
    el('p', { class: 'problem', role: 'alert' }));
}

/**
 * The text of the question. Every line of the agent stands behind a bar, so these lines can be told from ours and are shown as
 * what they are. Size and programs stand beside the choices, so they are not shown twice.
 */
function message({ message: text, beside }) {
  const last = `\nsize: ${beside}`;
  const whole = text.endsWith(last) ? text.slice(0, -last.length) : text;
  const blocks = [];
  for (const line of whole.split('\n')) {
    const quoted = line.startsWith('│');
    if (blocks.at(-1)?.quoted === quoted) blocks.at(-1).lines.push(line);
    else blocks.push({ quoted, lines: [line] });
  }
  return blocks.map(({ quoted, lines }) => el('span', { class: quoted ? 'quoted' : 'ours' }, lines.join('\n').trim()));
}

function count(child) {
  const question = questions.find(({ id }) => id === child.dataset.key);
  if (!question) return;
  const left = Math.max(0, Math.round((question.until - Date.now()) / 1000));
  setText(child.querySelector('.countdown'), `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')} left`);
}

setInterval(() => [...place.children].forEach(count), 1000);

async function answer(question, decision) {
  if (answering.has(question.id)) return;
  answering.add(question.id);
  try {
    await api.answer(question.server.id, question.id, decision);
    say(`Answered: ${decision}`);
    show(remaining(question.id));
  } catch (problem) {
    const child = [...place.children].find(({ dataset }) => dataset.key === question.id);
    if (problem.status === 409 || problem.status === 404) {
      say(`Too late: ${problem.message}`);
      show(remaining(question.id));
    } else if (child) child.querySelector('.problem').textContent = problem.message;
  } finally {
    answering.delete(question.id);
  }
}

function remaining(without) {
  const rest = questions.filter(({ id }) => id !== without);
  return rest.map((question) => ({ server: question.server, questions: [question] }));
}

/** An answer that somebody gave, from the log. */
export function answered({ question, decision, by }) {
  const shown = questions.find(({ id }) => id === question);
  if (!shown || answering.has(question)) return;
  say(`Answered by ${by}: ${decision}`);
}

// The number of a choice answers the question that has the focus, or else the first one.
addEventListener('keydown', (event) => {
  const { target } = event;
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !/^[1-9]$/.test(event.key)) return;
  if (target.closest('input, textarea, select, [data-typing]')) return;
  const focused = target.closest('.question')?.dataset.key;
  const question = questions.find(({ id }) => id === focused) ?? questions[0];
  const choice = question?.choices[Number(event.key) - 1];
  if (!choice || performance.now() - question.since < NOT_BEFORE) return;
  event.preventDefault();
  answer(question, choice.decision);
});
