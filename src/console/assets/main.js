// The page: what it shows is asked for again whenever something happens.

import * as api from './api.js';
import * as commands from './commands.js';
import * as drafts from './drafts.js';
import * as past from './history.js';
import * as questions from './questions.js';
import * as rules from './rules.js';
import { setText } from './dom.js';

const connection = document.getElementById('connection');
let states = [];
let tab = 'now';
let asking = false;
let again = false;

/** Asks for the state of all servers. While one request is under way, further ones become a single later one. */
async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    states = await api.servers();
    questions.show(states);
    commands.show(states);
  } catch (problem) {
    if (problem.status === 0) lost();
  } finally {
    asking = false;
  }
  if (again) {
    again = false;
    setTimeout(refresh, 100);
  }
}

function lost() {
  connection.classList.add('lost');
  setText(connection, 'Connection lost; trying again …');
}

function found() {
  connection.classList.remove('lost');
  setText(connection, 'Live');
  refresh();
}

api.follow({
  lost,
  found,
  news: (kind, data) => {
    if (kind === 'event') {
      if (data.event === 'answer') questions.answered(data);
      past.happened();
      drafts.happened();
    }
    refresh();
  },
});

// Times and last lines of running commands are not told as events.
setInterval(() => {
  if (!document.hidden && commands.isBusy(states)) refresh();
}, 1000);
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });

const tabs = [...document.querySelectorAll('[role=tab]')];

function open(name, focus) {
  tab = name;
  for (const button of tabs) {
    const chosen = button.id === `tab-${name}`;
    button.setAttribute('aria-selected', String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    document.getElementById(button.getAttribute('aria-controls')).hidden = !chosen;
    if (chosen && focus) button.focus();
  }
  if (name === 'history') past.open();
  else past.close();
  if (name === 'rules') rules.show(states);
  if (name === 'drafts') drafts.open(() => states);
  else drafts.close();
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
  const now = document.documentElement.dataset.theme ?? 'system';
  setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
});
setTheme(themes.includes(localStorage.getItem('theme')) ? localStorage.getItem('theme') : 'system');
