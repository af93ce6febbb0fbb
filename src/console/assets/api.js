// Talks to the server. Every request goes to our own address, with the cookie that no script can read.

const API = '/console/api';

/** An answer that is not 2xx. `status` is 0 if there was none. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem(0, 'The server does not answer.');
  }
  if (response.status === 401) {
    // The session is over. The same address shows how to log in.
    location.reload();
    throw new Problem(401, 'You are logged out.');
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Problem(response.status, body.error ?? `The server answers ${response.status}.`);
  }
  return response.status === 204 || response.status === 202 ? null : response.json();
}

function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  return request(path, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
}

const of = (server, path) => `${API}/servers/${server}/v1/${path}`;

export const servers = () => request(`${API}/servers`);
export const history = (query) => post(`${API}/history`, query);
export const timeline = (query) => post(`${API}/timeline`, query);
export const answer = (server, question, decision) =>
  post(of(server, `questions/${question}`), { decision, by: 'the console' });
export const stop = (server, command) => post(of(server, `commands/${command}/stop`));
export const type = (server, command, text, keys) => post(of(server, `commands/${command}/input`), { text, keys });
export const tail = (server, command, from) =>
  request(of(server, `commands/${command}/tail?${Object.entries(from).map((pair) => pair.join('=')).join('&')}`));
export const lines = (server, command, stream, from, count) =>
  request(of(server, `commands/${command}/lines/${stream}?from=${from}&count=${count}`));
export const approvals = (server) => request(of(server, 'approvals'));
export const revoke = (server, id) => post(of(server, `approvals/${id}/revoke`));

// Without a server: the drafts that no server works on, which the console of one server does not have.
const draftsOf = (server) => (server ? of(server, 'drafts') : `${API}/drafts`);
export const drafts = (server) => request(draftsOf(server)).catch((problem) => {
  if (!server && problem.status === 404) return [];
  throw problem;
});
export const draftDiff = (server, draft, path) => request(`${draftsOf(server)}/${draft}/diff/${path}`);
export const decide = (server, draft, decision, body) => post(`${draftsOf(server)}/${draft}/${decision}`, body);

export async function logOut() {
  await post('/console/logout');
  location.replace('/console');
}

const KINDS = ['state', 'event', 'questions', 'lagged', 'gone'];

/**
 * Calls `on.news(kind, data)` for what happens, and `on.lost()` and `on.found()` as the connection goes and comes back.
 *
 * A browser has only six connections to one server for all of its tabs. So one tab listens and tells the others; when it is
 * closed, another one takes over.
 */
export function follow(on) {
  if (!navigator.locks) {
    listen(on);
    return;
  }
  const channel = new BroadcastChannel('testudo events');
  let state = null;
  channel.onmessage = ({ data: [what, ...words] }) => {
    if (what !== 'hello') on[what](...words);
    else if (state) channel.postMessage([state]);
  };
  const tell = (what) => (...words) => {
    if (what !== 'news') state = what;
    on[what](...words);
    channel.postMessage([what, ...words]);
  };
  channel.postMessage(['hello']);
  navigator.locks.request('testudo events', () => {
    listen({ news: tell('news'), lost: tell('lost'), found: tell('found') });
    // The lock is held until the tab is closed.
    return new Promise(() => {});
  });
}

function listen(on) {
  const source = new EventSource(`${API}/events`);
  for (const kind of KINDS) source.addEventListener(kind, (message) => on.news(kind, JSON.parse(message.data)));
  source.addEventListener('open', () => on.found());
  source.addEventListener('error', () => {
    on.lost();
    // The browser tries again by itself, unless the answer was an error.
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(() => {
      servers().catch(() => {});
      listen(on);
    }, 1000);
  });
}
