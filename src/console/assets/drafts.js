// Drafts: what agents changed in a layer over the project, and what becomes of it.

import * as api from './api.js';
import { showDiff } from './diff.js';
import { el, reconcile, size, visible } from './dom.js';
import { say } from './questions.js';

const view = document.getElementById('view-drafts');
const list = el('div', { class: 'drafts' });
const nothing = el('p', { class: 'empty' }, 'There are no drafts. A server with --draft works on one.');
view.append(nothing, list);

let states = null;
let asking = false;
let again = false;
/** The changes whose difference is shown, by draft and path. */
const unfolded = new Set();

export function open(told) {
  states = told;
  refresh();
}

/** The servers have told something new. `show` is called for every view; only an open one keeps it. */
export function show(told) {
  if (states) states = told;
}

export function close() {
  states = null;
}

let news = 0;
/** Something has happened. The drafts are read again, but not for every event. */
export function happened() {
  if (!states || news) return;
  news = setTimeout(() => {
    news = 0;
    refresh();
  }, 1000);
}

async function refresh() {
  if (!states) return;
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const sources = [...states.map(({ server }) => server), { id: null }];
    const found = await Promise.all(sources.map(async (server) => (await api.drafts(server.id)).map((draft) => ({ server, draft }))));
    // Servers that share a draft all tell of it.
    const one = new Map(found.flat().map((each) => [each.draft.key, each]));
    showAll([...one.values()]);
  } catch (problem) {
    if (problem.status !== 0) say(problem.message);
  } finally {
    asking = false;
  }
  if (again) {
    again = false;
    refresh();
  }
}

function showAll(all) {
  nothing.hidden = all.length > 0;
  reconcile(list, all, {
    key: ({ draft }) => draft.key,
    create: ({ draft }) => el('section', { class: 'card draft', 'aria-label': `Draft of ${visible(draft.project)}` }),
    update: (element, each) => {
      // What is the same stays: a person may be reading a difference.
      const told = JSON.stringify([each.server.id, each.draft]);
      if (element.told === told) return;
      element.told = told;
      element.replaceChildren(...parts(each));
    },
  });
}

function parts({ server, draft }) {
  const all = draft.changes.length + draft.protected.length + draft.sums.length;
  const decide = (decision, body, what) => decideAbout(server, draft, decision, body, what);
  const whole = (decision, label, kind) => el('button', {
    class: kind, disabled: all === 0,
    onclick: (event) => sure(event.currentTarget, label, () => decide(decision, {}, 'everything')),
  }, label);
  const rows = (changes) => el('ul', { class: 'changes' }, ...changes.map((change) => row(server, draft, change, decide)));
  return [
    el('header', {}, el('h2', { class: 'path' }, visible(draft.project)),
      el('span', { class: 'quiet' }, all === 0 ? 'no changes' : `${size(draft.bytes)}; your own files stay as they are until you apply`),
      whole('apply', 'Apply all', 'main'), whole('discard', 'Discard all', 'no')),
    draft.changes.length > 0 && rows(draft.changes),
    draft.left_out > 0 && el('p', { class: 'quiet' }, `${draft.left_out} more changes; testudo changes lists them all`),
    draft.sums.length > 0 && rows(draft.sums.map((sum) => ({ ...sum, what: sum.kind, more: sum.text, isSum: true }))),
    draft.protected.length > 0 && el('p', { class: 'warning' }, 'Protected names: programs outside the sandbox run or trust these, so look at them before you apply.'),
    draft.protected.length > 0 && rows(draft.protected),
  ].filter(Boolean);
}

function row(server, draft, change, decide) {
  const id = `${draft.key} ${change.key}`;
  const name = change.from ? `${change.from} → ${change.path}` : change.path;
  const body = { paths: [change.key, change.from_key].filter(Boolean) };
  const below = el('div');
  const unfold = async () => {
    below.replaceChildren(el('p', { class: 'quiet' }, 'Reading …'));
    try {
      below.replaceChildren(showDiff((await api.draftDiff(server.id, draft.key, change.key)).text));
    } catch (problem) {
      below.replaceChildren(el('p', { class: 'problem' }, problem.message));
    }
  };
  const toggle = (event) => {
    const shown = !unfolded.has(id);
    event.currentTarget.setAttribute('aria-expanded', String(shown));
    if (shown) {
      unfolded.add(id);
      unfold();
    } else {
      unfolded.delete(id);
      below.replaceChildren();
    }
  };
  if (unfolded.has(id)) unfold();
  const button = (label, decision, more) => el('button', {
    'aria-label': `${label} ${visible(name)}`,
    onclick: () => decide(decision, { ...body, ...more }, name),
  }, label);
  const label = change.isSum ? el('span', { class: 'change-name' }, visible(name))
    : el('button', { class: 'change-name', 'aria-expanded': String(unfolded.has(id)), onclick: toggle }, visible(name));
  return el('li', { class: 'change' },
    el('div', { class: 'change-row' }, el('span', { class: `what ${change.what}` }, change.what), label,
      el('span', { class: 'quiet' }, visible(change.more)),
      change.conflict && el('span', { class: 'conflict' }, 'you have changed it meanwhile'),
      el('span', { class: 'buttons' },
        change.conflict ? button("Take the draft's", 'apply', { force: true }) : button('Apply', 'apply'),
        button(change.conflict ? 'Keep mine' : 'Discard', 'discard'))),
    below);
}

/** Asks once more, in the button itself. */
function sure(button, label, act) {
  if (button.dataset.sure) {
    delete button.dataset.sure;
    button.textContent = label;
    act();
    return;
  }
  button.dataset.sure = '1';
  button.textContent = `${label}: sure?`;
  setTimeout(() => {
    delete button.dataset.sure;
    button.textContent = label;
  }, 4000);
}

async function decideAbout(server, draft, decision, body, what) {
  try {
    const { done, refused } = await api.decide(server.id, draft.key, decision, body);
    const left = refused.map(({ path, reason }) => `${path}: ${reason}`);
    const shown = left.length > 3 ? [...left.slice(0, 3), `and ${left.length - 3} more`] : left;
    const word = decision === 'apply' ? 'Applied' : 'Discarded';
    say([`${word} ${visible(what)}: ${done} ${done === 1 ? 'change' : 'changes'}`, ...shown.map(visible)].join('\n'));
  } catch (problem) {
    say(problem.message);
  }
  refresh();
}
