// The rules and the sandbox in force, and what people have approved.

import * as api from './api.js';
import { el, visible } from './dom.js';
import { say } from './questions.js';

const view = document.getElementById('view-rules');

export async function show(states) {
  const sections = await Promise.all(states.map(async ({ server }) => {
    const given = await api.approvals(server.id).catch(() => []);
    return el('section', { class: 'card', 'aria-label': `Rules of server ${server.pid}` },
      el('header', {}, el('h2', { class: 'path' }, visible(server.project)), el('span', { class: 'quiet' }, `server ${server.pid}, testudo ${server.version}`)),
      el('h3', {}, 'Sandbox'),
      el('p', {}, `Mode ${server.sandbox}; ${server.level ? `the kernel enforces level ${server.level}` : 'the level is found out with the first command'}.`),
      el('h3', {}, 'Policy: the strictest rule that applies wins'),
      el('ul', { class: 'policy' }, ...server.policy.map((line) => el('li', {}, el('code', {}, visible(line))))),
      el('h3', {}, 'Approvals that people gave'),
      given.length === 0 ? el('p', { class: 'quiet' }, 'none')
        : el('ul', { class: 'approvals' }, ...given.map((approval) => approvalRow(server, approval, states))));
  }));
  const empty = el('p', { class: 'empty' }, 'No server of yours is running.');
  view.replaceChildren(...(sections.length > 0 ? sections : [empty]));
}

function approvalRow(server, approval, states) {
  const [what, kind] = approval.program !== undefined ? [approval.program, 'program, for the session']
    : approval.always ? [approval.always.text, `always, in ${approval.always.project}`]
      : [approval.command.text, 'this command, for the session'];
  const revoke = async () => {
    try {
      await api.revoke(server.id, approval.id);
      say('Revoked');
    } catch (problem) {
      say(problem.message);
    }
    show(states);
  };
  return el('li', {}, el('code', {}, visible(what)), el('span', { class: 'quiet' }, ` ${visible(kind)}; ${visible(approval.session)} `),
    el('button', { class: 'no', 'aria-label': `Revoke ${visible(what)}`, onclick: revoke }, 'Revoke'));
}
