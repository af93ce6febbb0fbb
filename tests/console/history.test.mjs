// The history: filters, details, timeline, and a log of 100,000 lines.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

test('calls are found by text, session, verdict, exit and program, and on the timeline', async (t) => {
  const world = new World(t);
  const client = await world.server(['--deny', 'rm']);
  await client.bash('echo needle', { session: 'work' });
  await client.bash('exit 3');
  await client.bash('rm -rf precious');
  await client.call('create_file', { path: 'notes.txt', content: 'private words' });
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.locator('.entry');
  const shows = (words) => until(`only ${words}`, async () => {
    const texts = await entries.locator('code').allTextContents();
    return texts.length === words.length && words.every((word, at) => texts[at].includes(word));
  });
  await shows(['notes.txt', 'rm -rf precious', 'exit 3', 'echo needle', 'a server starts']);
  const search = page.getByRole('searchbox');
  await search.fill('NEEDLE');
  await shows(['echo needle']);
  await search.fill('');
  const select = (label, value) => page.getByLabel(label, { exact: true }).selectOption(value);
  for (const [label, value, words] of [
    ['Session', 'work', ['echo needle']], ['Verdict', 'deny', ['rm -rf precious']], ['Exit', 'denied', ['rm -rf precious']],
    ['Exit', 'failed', ['exit 3']], ['Exit', '3', ['exit 3']], ['Program', 'echo', ['echo needle']],
  ]) {
    await select(label, value);
    await shows(words);
    await select(label, '');
  }
  await shows(['notes.txt', 'rm -rf precious', 'exit 3', 'echo needle', 'a server starts']);
  await entries.filter({ hasText: 'rm -rf precious' }).click();
  await page.locator('.about-entry dd', { hasText: 'rm' }).first().waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('Picture').selectOption('1');
  const bar = page.locator('rect.bar.denied').or(page.locator('rect.bar.failed')).first();
  await bar.waitFor();
  assert.ok((await page.locator('svg .lane').allTextContents()).some((name) => name.startsWith('work')));
  await bar.hover();
  await until('the hint', async () => /rm -rf|exit 3/.test(await page.locator('.timeline-hint').textContent()));
  await bar.focus();
  await page.keyboard.press('Enter');
  await page.locator('.about-entry').waitFor();
  assert.ok(!(await page.content()).includes('private words'));
  assert.deepEqual(context.complaints, []);
});

/** A log as servers write it, without their hashes being right: the page shows it all the same. */
function makeLog(world, calls) {
  const lines = [];
  const begin = Date.now() - 3 * 3_600_000;
  for (let call = 1; call <= calls; call += 1) {
    const at = (more) => new Date(begin + call * 400 + more).toISOString();
    const who = `"server":"7-old","call":${call},"connection":1,"principal":"local","client":"an agent","session":"s${call % 7}","tool":"bash"`;
    const chain = () => `{"seq":${lines.length + 1},"prev":"${createHash('md5').update(String(lines.length)).digest('hex')}"`;
    lines.push(`${chain()},"time":"${at(0)}",${who},"event":"call","arguments":{"command":"make target-${call}"}}`);
    lines.push(`${chain()},"time":"${at(1)}",${who},"event":"verdict","action":"make target-${call}","verdict":"allow","reason":"nothing speaks against it"}`);
    lines.push(`${chain()},"time":"${at(2)}",${who},"event":"process_start","process":"c${call}","pid":3,"command":"make target-${call}","cwd":"/p"}`);
    lines.push(`${chain()},"time":"${at(300)}",${who},"event":"process_exit","process":"c${call}","exit_code":${call % 50 === 0 ? 2 : 0},"milliseconds":300,"stdout_bytes":10,"stderr_bytes":0}`);
    lines.push(`${chain()},"time":"${at(301)}",${who},"event":"result","milliseconds":301,"bytes":40}`);
  }
  mkdirSync(world.state, { recursive: true, mode: 0o700 });
  writeFileSync(`${world.state}/audit.jsonl`, `${lines.join('\n')}\n`, { mode: 0o600 });
  return lines.length;
}

test('100,000 lines are scrolled and searched without all of them being in the page', async (t) => {
  const world = new World(t);
  assert.equal(makeLog(world, 20_000), 100_000);
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  await page.getByRole('tab', { name: 'History' }).click();
  // A program that was built without optimisation takes a while to read the log.
  await page.getByText('20,000 calls').waitFor({ timeout: 90_000 });
  await page.locator('.entry code', { hasText: 'make target-20000' }).waitFor();
  for (const part of [0.5, 0.25, 1]) {
    await page.locator('.rows').evaluate((rows, share) => { rows.scrollTop = share * rows.scrollHeight; }, part);
    await until('the entries', async () => (await page.locator('.entry').count()) > 5 && (await page.locator('.row', { hasText: /^…$/ }).count()) === 0);
    assert.ok((await page.locator('.row').count()) < 60);
  }
  await page.locator('.entry code', { hasText: /^make target-1$/ }).waitFor();
  await page.getByRole('searchbox').fill('target-12345');
  await page.getByText('1 call', { exact: true }).waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByLabel('Exit', { exact: true }).selectOption('failed');
  await page.getByText('400 calls').waitFor();
  assert.ok((await page.locator('rect.bar').count()) < 7 * 1100, 'bars are bounded');
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  assert.ok(usedSize < 40e6, `${usedSize} bytes`);
});
