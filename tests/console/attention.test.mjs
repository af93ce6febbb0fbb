// A question calls for the person: title and sound, also in a tab that was in the background for an hour.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

/** Counts the tones that the page plays, and hides the page on demand, as another tab in front of it would. */
function instrument() {
  window.tones = 0;
  const { createOscillator } = AudioContext.prototype;
  AudioContext.prototype.createOscillator = function counted() {
    const tone = createOscillator.call(this);
    const { start } = tone;
    tone.start = (...when) => {
      if (this.state === 'running') window.tones += 1;
      return start.apply(tone, when);
    };
    return tone;
  };
  let hidden = false;
  Object.defineProperty(Document.prototype, 'hidden', { get: () => hidden });
  Object.defineProperty(Document.prototype, 'visibilityState', { get: () => (hidden ? 'hidden' : 'visible') });
  window.hide = (value) => {
    hidden = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };
}

async function watched(t, { clock = false } = {}) {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch']);
  const { link } = await world.console();
  const context = await window(t);
  await context.addInitScript(instrument);
  if (clock) await context.clock.install();
  const page = await open(context, link);
  return { world, client, context, page };
}

const deny = (page) => page.locator('[data-decision=deny]').click();

test('a question changes the title and rings, unless the sound is off', async (t) => {
  const { client, context, page } = await watched(t);
  const tones = () => page.evaluate(() => window.tones);
  await page.getByRole('heading', { name: 'testudo', exact: true }).click();
  const first = client.bash('touch one');
  await page.locator('.question').waitFor();
  await until('the sound', async () => (await tones()) === 2);
  assert.equal(await page.title(), '(1 question) testudo');
  const second = client.bash('touch two');
  await page.waitForFunction(() => document.title === '(2 questions) testudo');
  await until('the second sound', async () => (await tones()) === 4);
  await deny(page.locator('.question').first());
  await deny(page.locator('.question').first());
  await Promise.all([first, second]);
  await page.waitForFunction(() => document.title === 'testudo');
  await page.getByRole('button', { name: 'Sound on' }).click();
  const third = client.bash('touch three');
  await page.waitForFunction(() => document.title === '(1 question) testudo');
  assert.equal(await tones(), 4, 'it is off');
  await page.reload();
  await page.getByRole('button', { name: 'Sound off' }).waitFor();
  await page.getByRole('heading', { name: 'testudo', exact: true }).click();
  await page.locator('.question').waitFor();
  assert.equal(await tones(), 0, 'it stays off');
  await deny(page);
  await third;
  assert.deepEqual(context.complaints, []);
});

test('a tab that was hidden for an hour calls, and shows what is true when it is looked at again', async (t) => {
  const { world, client, context, page } = await watched(t, { clock: true });
  const running = client.bash('echo begun; sleep 1020', { session: 'work' });
  running.catch(() => {});
  await page.getByRole('log').getByText('begun').waitFor();
  await page.getByRole('heading', { name: 'testudo', exact: true }).click();
  await page.evaluate(() => window.hide(true));
  await page.clock.fastForward('01:00:00');
  const call = client.bash('touch late');
  await page.waitForFunction(() => /question/.test(document.title));
  await until('the sound', () => page.evaluate(() => window.tones === 2));
  // The title blinks, so that it is seen among others.
  await until('the other title', async () => {
    await page.clock.runFor(1000);
    return (await page.title()) === '● testudo';
  });
  await page.evaluate(() => window.hide(false));
  await until('the countdown', async () => /^(5:00|4:5\d) left$/.test(await page.locator('.countdown').textContent()));
  await page.getByText('Live', { exact: true }).waitFor();
  await page.clock.runFor(2000);
  await page.keyboard.press('1');
  assert.match(await call, /exit_code: 0/);
  await page.waitForFunction(() => document.title === 'testudo');
  // A server that came while nobody looked is there, too.
  const other = await world.server();
  await page.getByRole('region', { name: `Server ${other.pid}` }).waitFor();
  assert.deepEqual(context.complaints, []);
});

test('a tab that the browser had frozen goes on', async (t) => {
  const { client, context, page } = await watched(t);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
  const call = client.bash('touch frozen');
  const answers = () => client.received.includes('nobody to ask');
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.ok(!answers(), 'the question waits for the page');
  await devtools.send('Page.setWebLifecycleState', { state: 'active' });
  await page.locator('.question', { hasText: 'touch frozen' }).waitFor();
  await deny(page);
  assert.match(await call, /refused by the user/);
  await page.getByText('Live', { exact: true }).waitFor();
});
