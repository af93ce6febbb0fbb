// What was done, from the audit log: a list of any length with filters, and the timeline of a day.

import * as api from './api.js';
import { counted, duration, el, setText, size, visible } from './dom.js';
import { Parts } from './parts.js';
import { Timeline } from './timeline.js';
import { VirtualList } from './virtual_list.js';

const view = document.getElementById('view-history');
const [ROW, CHUNK, MOST_CHUNKS] = [34, 100, 20];
const DAY = 86_400_000;
/** Codes come behind these, as far as the log has them. */
const EXITS = [['', 'all'], ['ok', 'succeeded'], ['failed', 'failed'], ['denied', 'denied'], ['open', 'no end']];

const filter = { text: '', session: '', verdict: '', exit: '', program: '' };
const parts = new Parts({ size: CHUNK, most: MOST_CHUNKS, load, onLoaded: () => list.schedule() });
let total = 0;
let shown = null;
let generation = 0;
let isOpen = false;
/** The servers that run. A call of theirs that has no end goes on. */
let alive = new Set();

const select = (name, label, choices) => {
  const options = choices.map(([value, text]) => el('option', { value }, text));
  return el('label', {}, label, el('select', { name, 'aria-label': label, onchange: (event) => change(name, event.target.value) }, ...options));
};
const search = el('input', {
  type: 'search', name: 'text', placeholder: 'Search commands, paths, errors …', 'aria-label': 'Search the history',
  autocomplete: 'off', oninput: (event) => change('text', event.target.value),
});
const day = el('input', { type: 'date', 'aria-label': 'Day', onchange: () => refresh() });
const span = el('select', { 'aria-label': 'Picture', onchange: () => refresh() }, el('option', { value: '24' }, 'whole day'), el('option', { value: '6' }, 'last 6 hours'),
  el('option', { value: '1' }, 'last hour'));
const filters = el('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() }, search,
  select('session', 'Session', [['', 'all']]),
  select('verdict', 'Verdict', [['', 'all'], ['allow', 'allowed'], ['ask', 'asked'], ['deny', 'denied']]),
  select('exit', 'Exit', EXITS),
  select('program', 'Program', [['', 'all']]),
  el('label', {}, 'Day', day), el('label', {}, 'Picture', span));
const totals = el('p', { class: 'quiet', role: 'status' });
const rows = el('div', { class: 'rows', role: 'list', 'aria-label': 'Calls, the newest first', tabindex: '0' });
const about = el('div', { class: 'about-entry', role: 'region', 'aria-label': 'The chosen call', hidden: true });
const timeline = new Timeline((id) => find(id));
view.append(filters, timeline.element, totals, el('div', { class: 'history-split' }, rows, about));

const list = new VirtualList(rows, { rowHeight: ROW, draw, makeRow: () => el('div', { class: 'row', role: 'listitem' }) });

function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

export function open() {
  isOpen = true;
  if (!day.value) day.value = today();
  refresh();
}

export function show(states) {
  alive = new Set(states.map(({ server }) => server.id));
}

export function close() {
  isOpen = false;
}

let changed = 0;
function change(name, value) {
  filter[name] = value;
  clearTimeout(changed);
  changed = setTimeout(() => {
    rows.scrollTop = 0;
    refresh();
  }, 120);
}

let news = 0;
/** Something has happened. The list is read again, but not for every event. */
export function happened() {
  if (!isOpen || news) return;
  news = setTimeout(() => {
    news = 0;
    refresh();
  }, 500);
}

/** The time that the picture shows: the whole day, or its last hours up to now. */
function stretch() {
  const begin = new Date(`${day.value || today()}T00:00:00`).getTime();
  const end = begin + DAY;
  if (span.value === '24') return [begin, end];
  const to = Math.min(Date.now(), end);
  return [to - Number(span.value) * 3_600_000, to];
}

async function refresh() {
  generation += 1;
  const mine = generation;
  const first = Math.floor(rows.scrollTop / ROW / CHUNK);
  const [from, to] = stretch();
  try {
    const [found, picture] = await Promise.all([
      api.history({ ...filter, offset: first * CHUNK, limit: CHUNK }),
      api.timeline({ from, to, filter }),
    ]);
    if (mine !== generation) return;
    parts.clear();
    parts.set(first, found.entries);
    count(found.total);
    choices('session', found.sessions.map((name) => [name, visible(name)]));
    choices('program', found.programs.map((name) => [name, visible(name)]));
    choices('exit', [...EXITS.slice(1), ...found.exits.map((code) => [code, `exit ${code}`])]);
    timeline.draw(picture, { from, to, alive });
    list.refresh();
  } catch (problem) {
    setText(totals, problem.message);
  }
}

function count(found) {
  total = found;
  setText(totals, counted(total, 'call'));
  list.setCount(total);
}

async function load(number) {
  const found = await api.history({ ...filter, offset: number * CHUNK, limit: CHUNK });
  count(found.total);
  return found.entries;
}

/** What a filter can be set to. What it is set to stays there. */
function choices(name, pairs) {
  const field = filters.querySelector(`[name=${name}]`);
  const wanted = new Map([['', 'all'], ...pairs]);
  if (!wanted.has(filter[name])) wanted.set(filter[name], visible(filter[name]));
  if ([...field.options].map((option) => option.value).join('\n') === [...wanted.keys()].join('\n')) return;
  field.replaceChildren(...[...wanted].map(([value, text]) => el('option', { value }, text)));
  field.value = filter[name];
}

function draw(row, index) {
  const entry = parts.get(index);
  if (row.entry === entry && row.firstChild) {
    row.firstChild.setAttribute('aria-pressed', String(entry?.id === shown));
    return;
  }
  row.entry = entry;
  if (!entry) {
    row.replaceChildren(el('span', { class: 'quiet' }, '…'));
    return;
  }
  const time = new Date(entry.from);
  row.replaceChildren(el('button', { class: `entry ${entry.outcome}`, 'aria-pressed': String(entry.id === shown), onclick: () => tell(entry) },
    el('time', { datetime: time.toISOString() }, `${time.toISOString().slice(0, 10) === today() ? '' : `${time.toLocaleDateString('en-CA')} `}${time.toTimeString().slice(0, 8)}`),
    el('span', { class: 'badge' }, badge(entry)),
    el('span', { class: 'who' }, visible(entry.session || 'server')),
    el('code', {}, visible(entry.what).slice(0, 300)),
    el('span', { class: 'took' }, entry.to === null ? '' : duration(entry.to - entry.from))));
}

function badge(entry) {
  if (entry.outcome === 'denied') return 'denied';
  if (entry.outcome === 'open') return alive.has(entry.server) ? 'running' : 'no end';
  if (entry.ended_by) return entry.ended_by;
  if (entry.exit_code !== null) return `exit ${entry.exit_code}`;
  return entry.outcome === 'failed' ? 'error' : 'ok';
}

function tell(entry) {
  shown = entry.id;
  const printed = entry.exit_code === null ? null : `stdout ${size(entry.stdout_bytes)}, stderr ${size(entry.stderr_bytes)}`;
  const facts = [
    ['Time', new Date(entry.from).toLocaleString('en-GB')],
    ['Took', entry.to === null ? badge(entry) : duration(entry.to - entry.from)],
    ['Tool', entry.tool], ['Session', entry.session], ['Client', entry.client ?? entry.principal], ['Server', entry.server],
    ['Directory', entry.cwd], ['Description', entry.description], ['Verdict', entry.verdict], ['Rule', entry.rule],
    ['Reason', entry.reason], ['Answer', entry.answer], ['Exit', badge(entry)], ['Task', entry.task], ['Printed', printed],
    ['Typed', entry.typed ? 'a person typed into it' : null], ['Error', entry.error], ['Denied', entry.denied.join('\n')],
    ['Connections', entry.connections.join('\n')],
  ];
  about.hidden = false;
  about.replaceChildren(
    el('button', { class: 'close', 'aria-label': 'Close', onclick: () => { about.hidden = true; shown = null; list.schedule(); } }, '×'),
    el('pre', { class: 'whole', tabindex: '0', 'aria-label': 'Command' }, visible(entry.what)),
    el('dl', {}, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, visible(value))])));
  list.schedule();
}

/** Scrolls to an entry, and tells about it. */
async function find(id) {
  const { position } = await api.history({ ...filter, offset: 0, limit: 1, find: id });
  if (position === null) return;
  if (!parts.get(position)) await parts.fetch(Math.floor(position / CHUNK));
  list.scrollTo(position);
  const entry = parts.get(position);
  if (entry) tell(entry);
}

export const focusSearch = () => search.focus();
