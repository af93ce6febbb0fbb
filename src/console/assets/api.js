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

/** Calls `on.news(kind, data)` for what happens, and `on.lost()` and `on.found()` as the connection goes and comes back. */
export function follow(on) {
  const source = new EventSource(`${API}/events`);
  for (const kind of ['state', 'event', 'questions', 'lagged', 'gone']) {
    source.addEventListener(kind, (message) => on.news(kind, JSON.parse(message.data)));
  }
  source.addEventListener('open', on.found);
  source.addEventListener('error', () => {
    on.lost();
    // The browser tries again by itself, unless the answer was an error.
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(() => {
      servers().catch(() => {});
      follow(on);
    }, 1000);
  });
}
