// What runs now: servers, their sessions and commands, and the output of the command that was chosen.

import * as api from './api.js';
import { duration, el, reconcile, setText, visible } from './dom.js';
import { hostList, updateHosts } from './hosts.js';
import { Output } from './output.js';
import { Keyboard, Screen, lineField } from './terminal.js';

const list = document.getElementById('servers');
const detail = document.getElementById('detail');
/** What is shown on the right: `{ server, command, output }`. */
let chosen = null;
/** The commands that ran when we looked last. */
let known = new Set();

const keyOf = (server, command) => `${server.id} ${command.id}`;

export function show(states) {
  for (const command of states.flatMap(running)) command.since = Date.now() - command.milliseconds;
  if (states.length === 0) {
    reconcile(list, ['none'], {
      key: (name) => name,
      create: () => el('p', { class: 'empty' }, 'No server of yours is running. They appear here as soon as an agent starts one.'),
    });
  } else reconcile(list, states, { key: ({ server }) => server.id, create: serverCard, update: updateServer });
  const all = states.flatMap((state) => running(state).map((command) => [state.server, command]));
  // The output of a command that has ended stays in sight until another one starts.
  const over = !all.some((pair) => keyOf(...pair) === chosen?.key);
  const next = chosen ? all.find((pair) => over && !known.has(keyOf(...pair))) : all[0];
  known = new Set(all.map((pair) => keyOf(...pair)));
  if (next) choose(...next);
  if (!chosen) showNothing();
  markChosen();
}

const running = ({ clients }) => clients.flatMap(({ sessions }) => sessions.flatMap(({ commands }) => commands));

export const isBusy = (states) => states.some((state) => running(state).length > 0);

function serverCard({ server }) {
  const facts = [server.transport, `sandbox ${server.sandbox}`, server.level && `level ${server.level}`].filter(Boolean);
  return el('section', { class: 'card', 'aria-label': `Server ${server.pid}` },
    el('header', {}, el('h2', { class: 'path' }, visible(server.project)),
      el('span', { class: 'quiet' }, `server ${server.pid} · ${facts.join(' · ')}`)),
    el('div', { class: 'sessions' }));
}

function updateServer(card, state) {
  const sessions = state.clients.flatMap((client) => client.sessions.map((session) => ({ client, session, server: state.server })));
  reconcile(card.querySelector('.sessions'), sessions.length > 0 ? sessions : [null], {
    key: (item) => (item ? `${item.client.number} ${item.session.name}` : 'none'),
    create: (item) => (item ? sessionCard(item) : el('p', { class: 'quiet' }, 'No session yet.')),
    update: (child, item) => item && updateSession(child, item),
  });
}

function sessionCard({ client, session }) {
  return el('article', { class: 'session', 'aria-label': `Session ${session.name}` },
    el('h3', {}, visible(session.name), el('span', { class: 'quiet' }, ` ${visible(client.name ?? client.principal)}`)),
    el('p', { class: 'quiet path cwd' }),
    el('ul', { class: 'commands' }),
    hostList(),
    el('p', { class: 'quiet ended' }));
}

function updateSession(card, { session, server }) {
  setText(card.querySelector('.cwd'), visible(session.cwd));
  const ended = session.ended.map(({ id, exit_code: code }) => `${id} ended with ${code}`).join(', ');
  setText(card.querySelector('.ended'), ended || (session.commands.length === 0 ? 'idle' : ''));
  updateHosts(card.querySelector('.hosts'), session.hosts);
  reconcile(card.querySelector('.commands'), session.commands, {
    key: ({ id }) => id,
    create: (command) => el('li', {}, el('button', { class: 'command', onclick: (event) => choose(server, event.currentTarget.shown) },
      el('code', {}, visible(command.command)),
      el('span', { class: 'about' }, el('span', { class: 'elapsed' }), el('span', { class: 'state' })),
      el('span', { class: 'progress' }))),
    update: (child, command) => {
      child.firstChild.dataset.command = keyOf(server, command);
      child.firstChild.shown = command;
      child.querySelector('.elapsed').dataset.since = String(command.since);
      setText(child.querySelector('.state'), [command.task && `task ${command.task}`, command.terminal && 'terminal'].filter(Boolean).join(' · '));
      setText(child.querySelector('.progress'), visible(command.last_line));
    },
  });
}

function markChosen() {
  for (const button of list.querySelectorAll('.command')) {
    button.setAttribute('aria-pressed', String(chosen !== null && button.dataset.command === chosen.key));
  }
  tick();
}

function showNothing() {
  if (detail.firstElementChild?.classList.contains('empty')) return;
  detail.replaceChildren(el('p', { class: 'empty' }, 'Nothing runs right now. What an agent runs is shown here while it runs, and afterwards in the history.'));
}

function choose(server, command) {
  chosen?.output.stop();
  const problem = el('p', { class: 'problem', role: 'alert' });
  const onProblem = (text) => setText(problem, text);
  const keyboard = new Keyboard(server.id, command.id, { onProblem, onTyped: () => chosen?.output.hurry() });
  const screen = command.terminal ? new Screen(keyboard) : null;
  const status = el('span', { class: 'elapsed', 'data-since': String(command.since) });
  const stop = el('button', { class: 'no', onclick: () => stopIt() }, 'Stop');
  const typing = command.takes_input ? lineField(keyboard) : null;
  const stopIt = () => api.stop(server.id, command.id).then(() => { stop.disabled = true; }, (error) => onProblem(error.message));
  const onEnd = (tail) => {
    delete status.dataset.since;
    setText(status, tail ? `ended: ${tail.ended_by ?? `exit ${tail.exit_code}`} after ${duration(tail.milliseconds)}` : 'ended');
    stop.disabled = true;
    typing?.remove();
  };
  const output = new Output(server.id, command.id, { screen, onEnd });
  chosen = { key: keyOf(server, command), output };
  detail.replaceChildren(...[
    el('header', { class: 'detail-head' },
      el('div', {}, el('code', { class: 'whole', tabindex: '0', 'aria-label': 'Command' }, visible(command.command)),
        el('p', { class: 'quiet path' }, [command.description, command.cwd, `pid ${command.pid}`].filter(Boolean).map(visible).join(' · '))),
      el('div', { class: 'detail-tools' }, status, stop)),
    problem, output.element, typing,
    screen && el('p', { class: 'quiet' }, 'Keys go to the program while the terminal has the focus; Shift-Escape leaves it. testudo records nothing of what you type; the program may show it.'),
  ].filter(Boolean));
  markChosen();
}

function tick() {
  for (const element of document.querySelectorAll('.elapsed[data-since]')) {
    setText(element, duration(Date.now() - Number(element.dataset.since)));
  }
}

setInterval(tick, 1000);
