// The page: what it shows is asked for again whenever something happens.

import * as api from './api.js';
import * as now from './commands.js';
import * as drafts from './drafts.js';
import * as past from './history.js';
import * as questions from './questions.js';
import * as rules from './rules.js';
import { setText } from './dom.js';

/**
 * The views by the names of their tabs. Each may have `show(states)`, called whenever the servers have told something new,
 * `open(states)` and `close()` as its tab is chosen and left, and `happened(event)` for each event of the audit log.
 */
const VIEWS = { now, history: past, drafts, rules };

/** Without any news, the servers are asked this often. A connection that has broken without a word is noticed by it. */
const ASK_EVERY = 20_000;

const connection = document.getElementById('connection');
let states = [];
let tab = 'now';
let asking = false;
let again = false;
/** Whether events come (not known at first), and whether the last request was answered. */
const alive = { events: null, answers: true };

/** Asks for the state of all servers. While one request is under way, further ones become a single later one. */
async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    states = await api.servers();
    alive.answers = true;
    questions.show(states);
    Object.values(VIEWS).forEach((view) => view.show?.(states));
  } catch (problem) {
    if (!(problem instanceof api.Problem)) throw problem;
    if (problem.status === 0) alive.answers = false;
  } finally {
    asking = false;
    showConnection();
  }
  if (again) {
    again = false;
    setTimeout(refresh, 100);
  }
}

function showConnection() {
  const lost = alive.events === false || !alive.answers;
  connection.classList.toggle('lost', lost);
  if (lost) setText(connection, 'Connection lost; trying again …');
  else if (alive.events) setText(connection, 'Live');
}

api.follow({
  lost: () => {
    alive.events = false;
    showConnection();
  },
  found: () => {
    alive.events = true;
    refresh();
  },
  news: (kind, data) => {
    if (kind === 'event') {
      if (data.event === 'answer') questions.answered(data);
      Object.values(VIEWS).forEach((view) => view.happened?.(data));
    }
    refresh();
  },
});

// Times and last lines of running commands are not told as events.
setInterval(() => {
  if (!document.hidden && now.isBusy(states)) refresh();
}, 1000);
setInterval(refresh, ASK_EVERY);
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
// The browser had stopped the whole page for a while.
document.addEventListener('resume', refresh);
addEventListener('online', refresh);

const tabs = [...document.querySelectorAll('[role=tab]')];

function open(name, focus) {
  if (name !== tab) VIEWS[tab].close?.();
  tab = name;
  for (const button of tabs) {
    const chosen = button.id === `tab-${name}`;
    button.setAttribute('aria-selected', String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    document.getElementById(button.getAttribute('aria-controls')).hidden = !chosen;
    if (chosen && focus) button.focus();
  }
  VIEWS[name].open?.(states);
}

tabs.forEach((button, index) => {
  button.addEventListener('click', () => open(button.id.slice(4)));
  button.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step) open(tabs[(index + step + tabs.length) % tabs.length].id.slice(4), true);
  });
});

addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.target.closest('input, select, [data-typing]')) return;
  event.preventDefault();
  open('history');
  past.focusSearch();
});

document.getElementById('logout').addEventListener('click', () => api.logOut());

const themes = ['system', 'light', 'dark'];
const themeButton = document.getElementById('theme');

function setTheme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem('theme', name);
  themeButton.textContent = `Theme: ${name}`;
}

themeButton.addEventListener('click', () => {
  const chosen = document.documentElement.dataset.theme ?? 'system';
  setTheme(themes[(themes.indexOf(chosen) + 1) % themes.length]);
});
setTheme(themes.includes(localStorage.getItem('theme')) ? localStorage.getItem('theme') : 'system');
