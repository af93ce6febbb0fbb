// The hosts that commands reach through the proxy of --network hosts.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World } from './world.mjs';

after(close);

test('hosts are shown while a command runs, with what was refused, and afterwards in the history', async (t) => {
  const host = createServer((request, response) => { response.end('x'.repeat(5000)); });
  await new Promise((resolve) => { host.listen(0, '127.0.0.1', resolve); });
  t.after(() => host.close());
  const { port } = host.address();
  const world = new World(t);
  const client = await world.server(['--allow-host', `127.0.0.1:${port}`, '--deny-host', 'elsewhere.test']);
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  await client.bash(`curl -sS --noproxy '' http://127.0.0.1:${port}/ | wc -c; curl -sS http://elsewhere.test/`, { session: 'work' });
  const hosts = page.getByRole('article', { name: 'Session work' }).getByRole('list', { name: 'Hosts' });
  const reached = hosts.getByRole('listitem').filter({ hasText: `127.0.0.1:${port}` });
  await reached.getByText(/^1 ended · \d+ B sent · 5\.\d KB received$/).waitFor();
  const refused = hosts.getByRole('listitem').filter({ hasText: 'elsewhere.test:80' });
  await refused.getByText('1 refused').waitFor();
  await refused.getByText('--deny-host elsewhere.test (network.deny) names it').waitFor();
  await page.getByRole('tab', { name: 'History' }).click();
  await page.locator('.entry', { hasText: 'curl' }).click();
  const about = page.locator('.about-entry');
  await about.getByText(`127.0.0.1:${port}, `).waitFor();
  await about.getByText('elsewhere.test:80 refused: ').waitFor();
  assert.deepEqual(context.complaints, []);
});

test('a session whose commands reach everything has no list of hosts', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const page = await open(await window(t), link);
  await client.bash('true');
  await page.getByRole('article', { name: 'Session default' }).waitFor();
  assert.equal(await page.getByRole('list', { name: 'Hosts' }).count(), 0);
});
