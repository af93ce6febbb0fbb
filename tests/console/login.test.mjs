// Who comes in, and who does not.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

/** A request that is not made by a browser, with headers of our choice. */
function ask(url, { method = 'GET', headers = {}, body = '' } = {}) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (response) => {
      let text = '';
      response.on('data', (data) => {
        text += data;
        if (response.headers['content-type'] === 'text/event-stream') response.destroy();
      });
      response.on('close', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Reads a stream until the server ends it. */
function ended(url, { headers }) {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => response.resume().on('end', resolve)).on('error', reject).end();
  });
}

/** Logs in without a browser. */
async function cookie(link) {
  const { headers } = await ask(link);
  return headers['set-cookie'][0].split(';')[0];
}

test('a link logs in once, and logging out ends it', async (t) => {
  const world = new World(t);
  const { link, origin } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  assert.equal(page.url(), `${origin}/console`, 'no key stays in the address');
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/console']);
  assert.equal(await page.evaluate(() => document.cookie), '');
  const sent = { headers: { cookie: `${cookie.name}=${cookie.value}` } };
  const stream = ended(`${origin}/console/api/events`, sent);
  const tab = await context.newPage();
  await tab.goto(page.url());
  await tab.getByText('Live', { exact: true }).waitFor();
  const other = await (await window(t)).newPage();
  assert.equal((await other.goto(link)).status(), 401, 'the link is used up');
  assert.equal((await other.goto(`${origin}/console`)).status(), 401);
  assert.equal((await ask(`${origin}/console/api/servers`)).status, 401);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('You are not logged in').waitFor();
  await tab.getByText('You are not logged in').waitFor();
  await stream;
  assert.equal((await ask(`${origin}/console/api/servers`, sent)).status, 401, 'the cookie is worth nothing any more');
  assert.deepEqual([context.complaints, context.outside], [[], []]);
});

test('many tabs work side by side', async (t) => {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch']);
  const { link } = await world.console();
  const context = await window(t);
  const first = await open(context, link);
  const tabs = [first];
  // A browser opens six connections to one server at most.
  for (let count = 0; count < 8; count += 1) {
    const tab = await context.newPage();
    await tab.goto(first.url());
    await tab.getByText('Live', { exact: true }).waitFor();
    tabs.push(tab);
  }
  const call = client.bash('touch one');
  await Promise.all(tabs.map((tab) => tab.locator('.question').waitFor()));
  // Another tab goes on when the one that listens is closed.
  await first.close();
  await tabs[8].locator('[data-decision=once]').click();
  assert.match(await call, /exit_code: 0/);
  await Promise.all(tabs.slice(1).map((tab) => tab.locator('.question').waitFor({ state: 'detached' })));
  const next = client.bash('touch two');
  await tabs[4].locator('.question', { hasText: 'touch two' }).waitFor();
  await tabs[4].locator('[data-decision=deny]').click();
  assert.match(await next, /refused by the user/);
  assert.deepEqual(context.complaints, []);
});

test('a console that has ended is told, and the next one asks for a login', async (t) => {
  const world = new World(t);
  const { child, link, origin } = await world.console();
  const page = await open(await window(t), link);
  child.kill('SIGKILL');
  await page.getByText('Connection lost').waitFor();
  await child.ended;
  await world.console(['--port', new URL(origin).port]);
  await page.getByText('You are not logged in').waitFor();
});

test('requests of other pages and other hosts are refused', async (t) => {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch']);
  const { link, origin } = await world.console();
  const session = await cookie(link);
  const good = { cookie: session, origin, 'content-type': 'application/json' };
  const servers = JSON.parse((await ask(`${origin}/console/api/servers`, { headers: { cookie: session } })).text);
  const stop = `${origin}/console/api/servers/${servers[0].server.id}/v1/commands/c1/stop`;
  assert.equal((await ask(stop, { method: 'POST', headers: good })).status, 404, 'there is no such command');
  const rows = [
    [{ origin: undefined }, 403], [{ origin: 'null' }, 403], [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'http://127.0.0.1:1' }, 403], [{ 'sec-fetch-site': 'same-site' }, 403], [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ host: 'evil.example' }, 403], [{ host: `evil.example:${new URL(origin).port}` }, 403], [{ host: '127.0.0.1' }, 403],
    [{ cookie: '' }, 401], [{ cookie: `${session}x` }, 401],
  ];
  for (const [change, want] of rows) {
    const headers = Object.fromEntries(Object.entries({ ...good, ...change }).filter(([, value]) => value !== undefined));
    assert.equal((await ask(stop, { method: 'POST', headers })).status, want, JSON.stringify(change));
  }
  for (const path of ['', '/login', '/api/servers', '/assets/main.js']) {
    const { status } = await ask(`${origin}/console${path}`, { headers: { host: 'rebound.example' } });
    assert.equal(status, 403, path);
  }
  const events = await ask(`${origin}/console/api/events`, { headers: { cookie: session, origin: 'http://127.0.0.1:3000' } });
  assert.equal(events.status, 403);
  const { headers } = await ask(`${origin}/console`, { headers: { cookie: session } });
  assert.match(headers['content-security-policy'], /default-src 'none'; script-src 'self'; style-src 'self'/);
  assert.doesNotMatch(headers['content-security-policy'], /unsafe/);
  assert.deepEqual([headers['x-frame-options'], headers['x-content-type-options'], headers['referrer-policy']], ['DENY', 'nosniff', 'no-referrer']);
  assert.equal(client.child.exitCode, null);
});

test('a page on another port of this machine can neither ask nor frame', async (t) => {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch']);
  const { link, origin } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  const call = client.bash('touch wanted');
  await page.locator('.question').waitFor();
  const { server, questions } = (await page.evaluate(() => fetch('/console/api/servers').then((response) => response.json())))[0];
  const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>evil</p>'));
  await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
  t.after(() => evil.close());
  const other = await context.newPage();
  await other.goto(`http://127.0.0.1:${evil.address().port}/`);
  const target = `${origin}/console/api/servers/${server.id}/v1/questions/${questions[0].id}`;
  const outcome = await other.evaluate(async ([url, page]) => {
    const body = JSON.stringify({ decision: 'once', by: 'the console' });
    const posts = [{ mode: 'no-cors' }, { mode: 'cors' }].map((more) =>
      fetch(url, { method: 'POST', body, credentials: 'include', ...more }).then((response) => response.type, () => 'failed'));
    const frame = document.createElement('iframe');
    frame.src = page;
    const framed = await new Promise((resolve) => {
      frame.onload = () => { try { resolve(frame.contentDocument === null); } catch { resolve(true); } };
      document.body.append(frame);
    });
    return [await Promise.all(posts), framed, frame.contentWindow.length];
  }, [target, `${origin}/console`]);
  assert.equal(outcome[0][1], 'failed');
  await page.locator('.question').waitFor();
  assert.equal(await page.locator('.question').count(), 1, 'the question still waits');
  await page.locator('[data-decision=deny]').click();
  assert.match(await call, /refused by the user/);
});

test('a command of a session cannot log in, nor use a cookie', async (t) => {
  const world = new World(t);
  const { link, origin } = await world.console();
  const session = await cookie(link);
  const fresh = await world.console();
  for (const words of [[], ['--sandbox', 'off']]) {
    const client = await world.server(words);
    for (const url of [fresh.link, `${origin}/console`, `${origin}/console/api/servers`]) {
      const text = await client.bash(`curl -s -i -m 5 -H 'cookie: ${session}' '${url}' || echo no answer`);
      assert.ok(/403 Forbidden|no answer/.test(text) && !/set-cookie|"pid"/i.test(text), text);
    }
  }
  assert.equal((await ask(fresh.link)).status, 200, 'the link was not used up');
});

test('over HTTP the token logs in, and each token sees its own sessions only', async (t) => {
  const world = new World(t);
  const tokens = `${world.root}/tokens`;
  writeFileSync(tokens, 'alice token-of-alice\nbob token-of-bob\n', { mode: 0o600 });
  const { origin } = await world.http(['--token-file', tokens]);
  const page = await (await window(t)).newPage();
  assert.equal((await page.goto(`${origin}/console`)).status(), 401);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('this is not a token').waitFor();
  await page.getByLabel('Token').fill('token-of-alice');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
  const call = (token, command) => ask(`${origin}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'bash',
    },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 1, method: 'tools/call',
      params: { name: 'bash', arguments: { command, run_in_background: true },
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } },
    }),
  });
  await call('token-of-bob', 'sleep 1001');
  await call('token-of-alice', 'sleep 1002');
  await page.getByText('sleep 1002').first().waitFor();
  assert.equal(await page.getByText('sleep 1001').count(), 0);
  const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
  const states = JSON.parse((await ask(`${origin}/console/api/servers`, bearer('token-of-bob'))).text);
  assert.match(JSON.stringify(states), /sleep 1001/);
  assert.doesNotMatch(JSON.stringify(states), /sleep 1002/);
  const [{ server, clients }] = states;
  const foreign = clients[0].sessions[0].commands[0].id;
  const asAlice = await page.evaluate(([id, command]) => Promise.all(['stop', 'input'].map((what) =>
    fetch(`/console/api/servers/${id}/v1/commands/${command}/${what}`, { method: 'POST', body: '{}' }).then(({ status }) => status))), [server.id, foreign]);
  assert.deepEqual(asAlice, [404, 404]);
  await until('the history', async () => {
    const found = await page.evaluate(() => fetch('/console/api/history', { method: 'POST', body: '{"limit": 50}' }).then((response) => response.text()));
    assert.doesNotMatch(found, /sleep 1001/);
    return found.includes('sleep 1002');
  });
});
