// Commands as they run: output, colours, hostile output, much output, stop.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

test('a running command is shown with its output, its time and its session, and can be stopped', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const page = await open(await window(t), link);
  const wait = `until [ -e ${world.project}/go ]; do sleep 0.02; done`;
  const call = client.bash(`printf '\\033[31mred\\033[0m plain\\n'; ${wait}; echo more; sleep 1004`, { session: 'work', description: 'a try' });
  const output = page.getByRole('log');
  await output.getByText('red', { exact: true }).waitFor();
  assert.match(await output.getByText('red', { exact: true }).getAttribute('style'), /--ansi-1/);
  assert.equal(await output.getByText('more').count(), 0);
  writeFileSync(`${world.project}/go`, '');
  await output.getByText('more').waitFor();
  await page.getByRole('article', { name: 'Session work' }).getByText('more', { exact: true }).waitFor();
  await page.getByText('a try').first().waitFor();
  await until('the time', async () => /[1-9]\.\d s/.test(await page.locator('.detail .elapsed').textContent()));
  await page.getByRole('button', { name: 'Stop' }).click();
  assert.match(await call, /exit_code: 143/);
  await page.locator('.detail').getByText('ended').waitFor();
});

test('a click shows another command, and a new one takes the place of one that has ended', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  client.bash('echo of one; sleep 1010', { session: 'one' }).catch(() => {});
  const two = client.bash(`echo of two; until [ -e ${world.project}/go ]; do sleep 0.02; done`, { session: 'two' });
  const output = page.getByRole('log');
  for (const name of ['two', 'one', 'two']) {
    await page.locator('.command', { hasText: `of ${name}` }).click();
    await output.getByText(`of ${name}`).waitFor();
    assert.equal(await page.locator('.command[aria-pressed=true]').count(), 1);
  }
  writeFileSync(`${world.project}/go`, '');
  await two;
  client.bash('echo of three; sleep 1011', { session: 'two' }).catch(() => {});
  await output.getByText('of three').waitFor();
  assert.deepEqual(context.complaints, []);
});

test('output that is HTML or full of escape sequences changes nothing', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  const hostile = [
    '<img src=x onerror="document.title=1"><script>document.title=2</script></div></main>',
    '\x1b]0;evil title\x07\x1b]52;c;ZXZpbA==\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07',
    '\x1b[2J\x1b[1;1H\x1b[?1049h\x1bc\x9b31m\x1bPq#0\x1b\\ \u202egnp.exe\u2066\x00\x08\x08',
    'javascript:alert(1) {{7*7}} ${7*7}',
  ].join('\n');
  writeFileSync(`${world.project}/<b>name`, '');
  writeFileSync(`${world.project}/hostile`, `${hostile}\nlast words\n`);
  client.bash('cat hostile; sleep 1005 # <img src=y onerror="document.title=3">', { description: '<script>document.title=4</script>' }).catch(() => {});
  const output = page.getByRole('log');
  await output.getByText('last words').waitFor();
  await output.getByText('<img src=x onerror="document.title=1">').waitFor();
  await output.getByText('<U+202E>gnp.exe').waitFor();
  assert.equal(await page.title(), 'testudo');
  assert.equal(await page.locator('main img, main script, main iframe, main a').count(), 0);
  assert.doesNotMatch(await output.textContent(), /\u202e|\u001b|evil title|ZXZpbA/);
  await page.getByRole('tab', { name: 'History' }).click();
  await page.locator('.entry', { hasText: 'onerror' }).click();
  await page.locator('.about-entry dd', { hasText: '<script>' }).waitFor();
  assert.equal(await page.title(), 'testudo');
  assert.deepEqual([context.complaints, context.outside], [[], []]);
});

test('50 MB of output: few updates, little memory, and the end is there', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  await page.evaluate(() => {
    window.frames60 = [];
    const count = new MutationObserver(() => window.frames60.push(performance.now()));
    count.observe(document.getElementById('detail'), { childList: true, subtree: true, characterData: true });
  });
  const task = client.bash("yes 'a line of output that is repeated again and again' | head -c 50000000; echo; echo the very end; sleep 1006", { run_in_background: true });
  await page.getByRole('log').getByText('the very end').waitFor();
  await task;
  const most = await page.evaluate(() => {
    const times = window.frames60;
    return Math.max(...times.map((time, at) => times.findIndex((later, index) => index >= at && later > time + 1000)).map((end, at) => (end < 0 ? times.length : end) - at));
  });
  assert.ok(most <= 70, `${most} updates in a second`);
  assert.ok((await page.locator('.output .line').count()) < 200, 'only the lines in sight are in the page');
  await page.getByText('the last 5,000 lines').or(page.getByText('came too fast')).first().waitFor();
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  assert.ok(usedSize < 40e6, `${usedSize} bytes`);
  // Above the beginning of what is shown live, the list goes on with all lines.
  await page.getByRole('log').evaluate((element) => { element.scrollTop = 0; });
  const all = page.getByRole('log', { name: 'All of stdout' });
  await all.getByText('a line of output').first().waitFor();
  await all.evaluate((element) => { element.scrollTop = 0; });
  await page.locator('.line[data-number="1"]', { hasText: 'a line of output' }).waitFor();
  assert.ok((await page.locator('.output .line').count()) < 200);
});

test('every line of a long output can be seen, while the command runs and afterwards', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  const script = `seq -f 'line %.0f' 200000; printf '\\033[32mgreen\\033]0;never ends\\n'; echo oops >&2; until [ -e go ]; do sleep 0.02; done; echo last; exit 3`;
  const call = client.bash(script);
  await page.getByRole('log').getByText('green', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'All of stderr' }).click();
  await page.getByRole('log', { name: 'All of stderr' }).getByText('oops').waitFor();
  await page.getByText('1 line', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'All of stdout' }).click();
  const all = page.getByRole('log', { name: 'All of stdout' });
  const line = (number) => page.locator(`.line[data-number="${number}"]`);
  await line(200001).getByText('green').waitFor();
  const isLine = async (number) => until(`line ${number}`, async () => (await line(number).textContent({ timeout: 1 }).catch(() => '')) === `line ${number}`);
  await all.evaluate((element) => { element.scrollTop = 0; });
  await isLine(1);
  await all.evaluate((element) => { element.scrollTop = 60_000 * 20; });
  await isLine(60_001);
  await page.keyboard.press('Tab');
  await all.focus();
  await page.keyboard.press('End');
  await line(200001).waitFor();
  // It follows while it is at its end, and stays readable after the end.
  writeFileSync(`${world.project}/go`, '');
  await line(200002).getByText('last').waitFor();
  assert.match(await call, /exit_code: 3/);
  await page.locator('.detail').getByText(/ended: exit 3 after/).waitFor();
  await all.evaluate((element) => { element.scrollTop = 100_000 * 20; });
  await isLine(100_001);
  await page.getByRole('button', { name: 'Latest' }).click();
  await page.getByRole('log', { name: 'Output' }).getByText('last').waitFor();
  assert.deepEqual(context.complaints, []);
});
