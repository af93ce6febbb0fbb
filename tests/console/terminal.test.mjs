// Terminals: screens that the person types into. What they type is found nowhere afterwards.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World } from './world.mjs';

after(close);

test('a password goes to the program and nowhere else', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  const secrets = ['Corr3ct-horse', 'battery-St4ple'];
  const prompt = (name) => `read -r -s -p '${name}? ' ${name}; echo`;
  const digest = createHash('sha256').update(secrets.join('')).digest('hex');
  const check = `[ $(printf %s "$first$second" | sha256sum | cut -d' ' -f1) = ${digest} ] && echo both right`;
  const command = `${prompt('first')}; ${prompt('second')}; ${check}; read -r line; echo "got <$line>"; sleep 1007`;
  const result = await client.bash(command, { pty: true });
  await page.locator('.screen').getByText('first?').waitFor();
  await page.locator('.screen').click();
  await page.keyboard.type(secrets[0]);
  await page.keyboard.press('Enter');
  await page.locator('.screen').getByText('second?').waitFor();
  const field = page.getByLabel('A line for the program');
  await page.getByRole('button', { name: 'Hide' }).click();
  assert.equal(await field.getAttribute('type'), 'password');
  await field.fill(secrets[1]);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.screen').getByText('both right').waitFor();
  assert.equal(await field.inputValue(), '');
  await page.locator('.screen').click();
  await page.keyboard.type('an open wrod');
  for (let back = 0; back < 4; back += 1) await page.keyboard.press('Backspace');
  await page.keyboard.type('word');
  await page.keyboard.press('Enter');
  await page.locator('.screen').getByText('got <an open word>').waitFor();
  const task = /task_id: (\S+)/.exec(result)[1];
  const results = [result, await client.call('task_output', { task_id: task }), client.received];
  await client.call('task_stop', { task_id: task });
  assert.match(results[1], /got <an open word>/);
  const stored = execFileSync('sh', ['-c', `grep -rlE '${secrets.join('|')}' ${world.root} || true`]).toString();
  const storage = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys(), location.href, document.documentElement.outerHTML]));
  for (const secret of secrets) {
    for (const text of [...results, world.audit(), storage, client.child.log]) assert.ok(!text.includes(secret), text.slice(0, 400));
  }
  assert.equal(stored, '');
  const typed = world.audit().split('\n').filter((line) => line.includes('"event":"typed"')).map((line) => JSON.parse(line));
  assert.deepEqual(typed.map(({ process, by }) => [process, by]), [['c1', 'the console']], 'once: how much was typed is not to be seen either');
});

test('a full-screen program is shown and takes keys', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const page = await open(await window(t), link);
  await client.bash('seq 100 > numbers; less numbers', { pty: true });
  const screen = page.locator('.screen');
  await screen.getByText('1', { exact: true }).waitFor();
  await screen.click();
  await page.keyboard.press('End');
  await page.keyboard.press('Shift+G');
  await screen.getByText('100', { exact: true }).waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('g');
  await screen.getByText('1', { exact: true }).waitFor();
  await page.keyboard.press('Shift+Escape');
  assert.ok(await page.evaluate(() => !document.activeElement.closest('.screen')), 'the keyboard can leave the terminal');
  await screen.click();
  await page.keyboard.press('q');
  await page.locator('.detail').getByText('ended').waitFor();
});

test('a task without a terminal can be typed into, too', async (t) => {
  const world = new World(t);
  const client = await world.server();
  const { link } = await world.console();
  const page = await open(await window(t), link);
  await client.bash('while read -r line; do echo "<$line>"; done; sleep 1008', { run_in_background: true });
  const field = page.getByLabel('A line for the program');
  await field.fill('hello there');
  await field.press('Enter');
  await page.getByRole('log').getByText('<hello there>').waitFor();
  await page.getByRole('button', { name: 'Ctrl-C' }).click();
  await page.locator('.detail').getByText('ended').waitFor();
});
