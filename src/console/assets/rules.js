// The rules and the sandbox in force, and what people have approved.

import * as api from './api.js';
import { el, visible } from './dom.js';
import { say } from './questions.js';

const view = document.getElementById('view-rules');
let isOpen = false;
/** What is drawn, as text. It is drawn again only if it differs, so that focus and scroll positions survive. */
let drawn = '';
let last = [];

export function open(states) {
  isOpen = true;
  draw(states);
}

export function close() {
  isOpen = false;
}

export function show(states) {
  if (isOpen) draw(states);
}

async function draw(states) {
  last = states;
  const all = await Promise.all(states.map(async ({ server }) => ({ server, given: await api.approvals(server.id).catch(() => []) })));
  const now = JSON.stringify(all);
  if (now === drawn) return;
  drawn = now;
  const empty = el('p', { class: 'empty' }, 'No server of yours is running. Its policy and its sandbox are shown here while it runs.');
  view.replaceChildren(...(all.length > 0 ? all.map(card) : [empty]));
}

function card({ server, given }) {
  const refused = server.configuration_refused;
  return el('section', { class: 'card', 'aria-label': `Rules of server ${server.pid}` },
    el('header', {}, el('h2', { class: 'path' }, visible(server.project)), el('span', { class: 'quiet' }, `server ${server.pid}, testudo ${server.version}`)),
    refused && el('p', { class: 'problem' }, `The configuration file has changed and does not count: ${visible(refused)}`),
    el('h3', {}, 'Sandbox'),
    el('p', {}, visible(server.sandbox_words)),
    el('h3', {}, 'Policy: the strictest rule that applies wins'),
    el('ul', { class: 'policy' }, ...server.policy.map((line) => el('li', {}, el('code', {}, visible(line))))),
    el('h3', {}, 'Approvals that people gave'),
    given.length === 0 ? el('p', { class: 'quiet' }, 'none')
      : el('ul', { class: 'approvals' }, ...given.map((approval) => approvalRow(server, approval))));
}

function approvalRow(server, approval) {
  const [what, kind] = approval.program !== undefined ? [approval.program, 'program, for the session']
    : approval.always ? [approval.always.text, `always, in ${approval.always.project}`]
      : [approval.command.text, 'this command, for the session'];
  return el('li', {}, el('code', {}, visible(what)), el('span', { class: 'quiet' }, `${visible(kind)}; ${visible(approval.session)}`),
    el('button', {
      class: 'no',
      'aria-label': `Revoke ${visible(what)}`,
      onclick: async () => {
        try {
          await api.revoke(server.id, approval.id);
          say('Revoked');
        } catch (problem) {
          say(problem.message);
        }
        draw(last);
      },
    }, 'Revoke'));
}
