// Drafts: what agents changed, with readable differences, and the person's decisions.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

function makeProject(world) {
  const write = (name, text) => writeFileSync(join(world.project, name), text);
  write('a.txt', 'one\ntwo\nthree\n');
  write('gone.txt', 'bye\n');
  write('old.txt', 'the same content\n');
  write('both.txt', '1\n');
  write('picture.bin', Buffer.from([0, 1, 2]));
  write('.gitignore', 'build/\n');
  mkdirSync(join(world.project, '.vscode'));
  write('.vscode/settings.json', '{}\n');
  const git = (...words) => execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e', ...words], { cwd: world.project });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', '1');
  write('.vscode/settings.json', '{ "a": 1 }\n');
  git('commit', '-qam', '2');
}

const WORK = `printf 'one\\n<b>2</b>\\nthree\\n' > a.txt; rm gone.txt; mv old.txt new.txt; echo draft > both.txt
printf '\\0\\1' > picture.bin; mkdir build; for n in $(seq 40); do echo $n > build/$n; done; echo plain > added.txt
printf x > $'odd\\n\\xff'; git stash list`;

async function drafts(t) {
  const world = new World(t);
  makeProject(world);
  const client = await world.server(['--draft']);
  await client.bash(WORK);
  const context = await window(t);
  const page = await open(context, (await world.console()).link);
  await page.getByRole('tab', { name: 'Drafts' }).click();
  await page.getByRole('button', { name: 'a.txt', exact: true }).waitFor();
  const read = (name) => readFileSync(join(world.project, name), 'utf8');
  const row = (name) => page.locator('.change', { hasText: name }).first();
  return { world, client, context, page, read, row };
}

test('changes are shown with their differences, as text', async (t) => {
  const { context, page, row } = await drafts(t);
  assert.match(await row('gone.txt').innerText(), /deleted/);
  assert.match(await row('new.txt').innerText(), /renamed\s+old\.txt → new\.txt/);
  assert.match(await row('build').innerText(), /ignored\s+build\s+40 added/);
  assert.equal(await page.locator('.change', { hasText: 'build/1' }).count(), 0);
  assert.match(await page.locator('.change', { hasText: 'odd' }).innerText(), /odd<U\+000A>/);
  await page.getByRole('button', { name: 'a.txt', exact: true }).click();
  await page.locator('.diff-line.plus', { hasText: '+<b>2</b>' }).waitFor();
  await page.locator('.diff-line.minus', { hasText: '-two' }).waitFor();
  await page.getByRole('button', { name: 'picture.bin', exact: true }).click();
  await page.getByText('binary: 3 bytes -> 2 bytes').waitFor();
  assert.equal(await page.locator('.diff b').count(), 0);
  assert.deepEqual(context.complaints, []);
  assert.deepEqual(context.outside, []);
});

test('single changes and everything are applied and discarded', async (t) => {
  const { world, client, page, read, row } = await drafts(t);
  await page.getByRole('button', { name: 'Apply a.txt', exact: true }).click();
  await page.getByText('Applied a.txt: 1 change').waitFor();
  assert.equal(read('a.txt'), 'one\n<b>2</b>\nthree\n');
  assert.equal(read('both.txt'), '1\n');
  await page.getByRole('button', { name: 'a.txt', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Apply old.txt → new.txt', exact: true }).click();
  await page.getByText('Applied old.txt → new.txt').waitFor();
  assert.ok(existsSync(join(world.project, 'new.txt')) && !existsSync(join(world.project, 'old.txt')));
  await page.getByRole('button', { name: 'Discard gone.txt', exact: true }).click();
  await page.getByText('Discarded gone.txt: 1 change').waitFor();
  assert.match(await client.bash('cat gone.txt'), /bye/);
  await page.getByRole('button', { name: 'Apply odd', exact: false }).click();
  await until('the odd name', () => execFileSync('ls', ['-A', world.project]).includes(Buffer.from([0xff])));

  // The person has changed a file meanwhile: both versions are offered, and nothing is overwritten by chance.
  writeFileSync(join(world.project, 'both.txt'), 'mine\n');
  await client.bash('true');
  await row('both.txt').getByText('you have changed it meanwhile').waitFor();
  await page.getByRole('button', { name: 'Apply all' }).click();
  await page.getByRole('button', { name: 'Apply all: sure?' }).click();
  await page.getByText('both.txt: the original has changed').waitFor();
  assert.equal(read('both.txt'), 'mine\n');
  assert.equal(read('added.txt'), 'plain\n');
  await page.getByRole('button', { name: "Take the draft's both.txt" }).click();
  await until('the file', () => read('both.txt') === 'draft\n');
  await page.getByText('no changes').waitFor();
  await client.bash('echo more > more.txt');
  await page.getByRole('button', { name: 'more.txt', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Discard all' }).click();
  await page.getByRole('button', { name: 'Discard all: sure?' }).click();
  await page.getByText('no changes').waitFor();
  assert.match(await client.bash('ls more.txt'), /No such file/);
  const decisions = world.audit().split('\n').filter((line) => line.includes('"event":"draft"')).map((line) => JSON.parse(line));
  assert.ok(decisions.some(({ decision, by }) => decision === 'applied' && by === 'the console'));
});

test('a draft that no server works on is decided about too', async (t) => {
  const { world, client, page, read } = await drafts(t);
  client.child.stdin.end();
  await client.child.ended;
  await page.reload();
  await page.getByRole('tab', { name: 'Drafts' }).click();
  await page.getByRole('button', { name: 'Apply a.txt', exact: true }).click();
  await until('the file', () => read('a.txt').includes('<b>2</b>'));
  await page.getByRole('button', { name: 'Discard gone.txt', exact: true }).click();
  await page.getByRole('button', { name: 'gone.txt', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'added.txt', exact: true }).click();
  await page.locator('.diff-line.plus', { hasText: '+plain' }).waitFor();
  await page.getByRole('button', { name: 'Discard all' }).click();
  await page.getByRole('button', { name: 'Discard all: sure?' }).click();
  await page.getByText('There are no drafts').waitFor();
  assert.equal(read('both.txt'), '1\n');
  assert.ok(!existsSync(join(world.project, 'added.txt')));
});

test('protected names stand apart', async (t) => {
  const { client, page } = await drafts(t);
  assert.equal(await page.getByText('Protected names').count(), 0);
  // Git may bring back what is in the repository.
  await client.bash('git checkout -q HEAD~1 -- .vscode/settings.json');
  await page.getByText('Protected names: programs outside the sandbox run or trust these').waitFor();
  assert.equal(await page.locator('.warning + .changes .change', { hasText: '.vscode/settings.json' }).count(), 1);
});
