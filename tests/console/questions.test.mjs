// Questions: each answer, by key and by click, and who was first.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

/** Keys count once the question has been in sight for a moment. */
async function press(page, key) {
  await until('the answer', async () => {
    await page.keyboard.press(key);
    return (await page.locator('.question').count()) === 0;
  });
}

test('each choice does what it says', async (t) => {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch', '--ask', 'mkdir']);
  const { link } = await world.console();
  const page = await open(await window(t), link);
  const question = async (command, answer) => {
    const call = client.bash(command);
    await page.locator('.question .message', { hasText: command }).waitFor();
    assert.match(await page.title(), /^\(1 question\)|^●/);
    await answer();
    return call;
  };
  assert.match(await question('touch once', () => press(page, '1')), /exit_code: 0/);
  assert.match(await question('touch once', () => press(page, '5')), /refused by the user/);
  assert.match(await question('touch same', () => press(page, '2')), /exit_code: 0/);
  assert.match(await client.bash('touch same'), /exit_code: 0/);
  assert.match(await question('touch any', () => page.locator('[data-decision=program]').click()), /exit_code: 0/);
  assert.match(await client.bash('touch another'), /exit_code: 0/);
  assert.match(await question('mkdir kept', () => page.locator('[data-decision=always]').click()), /exit_code: 0/);
  await page.waitForFunction(() => document.title === 'testudo');
  const answers = world.audit().split('\n').filter((line) => line.includes('"event":"answer"')).map((line) => JSON.parse(line));
  assert.deepEqual(answers.map(({ decision }) => decision), ['once', 'deny', 'session', 'program', 'always']);
  assert.ok(answers.every(({ by }) => by === 'the console'));

  await page.getByRole('tab', { name: 'Rules' }).click();
  await page.getByText("ask touch").first().waitFor();
  await page.locator('#view-rules').getByText(/level (full|landlock).*credentials cannot be read/).waitFor();
  await page.getByRole('button', { name: 'Revoke mkdir kept' }).click();
  await page.getByRole('button', { name: 'Revoke mkdir kept' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Revoke touch', exact: true }).click();
  await page.getByRole('button', { name: 'Revoke touch', exact: true }).waitFor({ state: 'detached' });
  assert.match(await question('touch yet-another', () => press(page, '5')), /refused by the user/);
});

test('the first answer counts: the losers learn by whom it was given', async (t) => {
  const world = new World(t);
  let decide;
  const decided = () => new Promise((resolve) => { decide = resolve; });
  const client = await world.server(['--ask', 'touch'], { answer: () => decided() });
  const { link } = await world.console();
  const context = await window(t);
  const page = await open(context, link);
  const call = client.bash('touch one');
  await page.getByText('touch one').first().waitFor();
  await until('the client', () => decide);
  decide({ action: 'accept', content: { decision: 'once' } });
  await page.getByText('Answered by the client: once').waitFor();
  assert.match(await call, /exit_code: 0/);
  await page.locator('.question').waitFor({ state: 'detached' });

  const tab = await context.newPage();
  await tab.goto(page.url());
  const next = client.bash('touch two');
  await Promise.all([page, tab].map((each) => each.getByText('touch two').first().waitFor()));
  await tab.locator('[data-decision=deny]').click();
  assert.match(await next, /refused by the user/);
  await page.getByText('Answered by the console: deny').waitFor();
  await until('the client to be told', () => client.received.includes('answered by the console'));
  assert.ok(!existsSync(`${world.project}/two`));

  // An answer that comes too late is told so.
  const third = client.bash('touch three');
  await page.getByText('touch three').first().waitFor();
  const late = await page.evaluate(async () => {
    const [{ server, questions }] = await (await fetch('/console/api/servers')).json();
    const answer = (decision) => fetch(`/console/api/servers/${server.id}/v1/questions/${questions[0].id}`,
      { method: 'POST', body: JSON.stringify({ decision, by: 'the console' }) });
    await answer('once');
    const response = await answer('deny');
    return [response.status, (await response.json()).error];
  });
  assert.deepEqual(late, [409, 'it was answered by the console: once']);
  assert.match(await third, /exit_code: 0/);
});

test('client, approve and console answer at once: one counts, and the others learn which', async (t) => {
  const world = new World(t);
  let asked = () => {};
  const client = await world.server(['--ask', 'touch'], { answer: () => new Promise((resolve) => { asked = resolve; }) });
  const { link } = await world.console();
  const page = await open(await window(t), link);
  const approve = world.spawn(['approve', '--wait']);
  let shown = '';
  approve.stdout.on('data', (data) => { shown += data; });
  await until('approve', () => shown.includes('waiting for questions'));
  const wins = new Set();
  const ways = {
    'the client': { decision: 'once', act: () => asked({ action: 'accept', content: { decision: 'once' } }) },
    'testudo approve': { decision: 'session', act: () => approve.stdin.write('s') },
    'the console': { decision: 'deny', act: () => page.evaluate(() => document.querySelector('[data-decision=deny]')?.click()) },
  };
  const names = Object.keys(ways);
  // In the first rounds one of them is alone, in the others all are.
  for (let round = 0; round < 9; round += 1) {
    const command = `touch round-${round}`;
    asked = null;
    const told = client.received.length;
    const before = shown.length;
    // The notice hides after a while and keeps its text.
    await page.evaluate(() => { document.getElementById('toast').textContent = ''; });
    const call = client.bash(command);
    await until('all to be asked', () => asked && shown.slice(before).includes(`│ ${command}\n`));
    await page.locator('.question .message', { hasText: command }).waitFor();
    const acting = round < 3 ? [names[round]] : [...names.slice(round % 3), ...names.slice(0, round % 3)];
    await Promise.all(acting.map((name) => ways[name].act()));
    const result = await call;
    const answer = await until('the answer in the log', () => world.audit().split('\n').filter((line) => line.includes('"event":"answer"')).map((line) => JSON.parse(line))[round]);
    const { by, decision } = answer;
    assert.equal(decision, ways[by].decision);
    assert.match(result, decision === 'deny' ? /refused by the user/ : /exit_code: 0/, 'what counts is what was decided');
    assert.equal(existsSync(`${world.project}/round-${round}`), decision !== 'deny');
    wins.add(by);
    if (by !== 'the client') await until('the client to be told', () => client.received.slice(told).includes(`answered by ${by}`));
    if (by !== 'testudo approve') await until('approve to say so', () => shown.slice(before).includes(`answered by ${by}: ${decision}`));
    if (by !== 'the console') await page.locator('#toast', { hasText: `nswered by ${by}: ${decision}` }).waitFor({ state: 'attached' });
    await page.locator('.question').waitFor({ state: 'detached' });
  }
  assert.equal(wins.size, 3);
});

test('a digit that is typed elsewhere answers nothing', async (t) => {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch']);
  const { link } = await world.console();
  const page = await open(await window(t), link);
  await page.keyboard.press('/');
  const call = client.bash('touch x');
  await page.locator('.question').waitFor();
  await page.keyboard.type('1111');
  assert.equal(await page.getByRole('searchbox').inputValue(), '1111');
  assert.equal(await page.locator('.question').count(), 1);
  await page.locator('[data-decision=deny]').click();
  assert.match(await call, /refused by the user/);
});

test('two servers are on one page, and a server that is killed comes back', async (t) => {
  const world = new World(t);
  const elsewhere = `${world.root}/elsewhere`;
  mkdirSync(elsewhere);
  const one = await world.server(['--ask', 'touch']);
  const two = await world.server(['--ask', 'touch'], { cwd: elsewhere });
  const { link } = await world.console();
  const page = await open(await window(t), link);
  const calls = [one.bash('touch first'), two.bash('touch second')];
  await until('both questions', async () => (await page.locator('.question').count()) === 2);
  await page.locator('.question', { hasText: 'touch second' }).locator('[data-decision=once]').click();
  assert.match(await calls[1], /exit_code: 0/);
  assert.ok(existsSync(`${elsewhere}/second`) && !existsSync(`${world.project}/first`));
  one.child.kill('SIGKILL');
  await page.locator('.question').waitFor({ state: 'detached' });
  await page.getByRole('region', { name: `Server ${one.pid}` }).waitFor({ state: 'detached' });
  const back = await world.server([]);
  await page.getByRole('region', { name: `Server ${back.pid}` }).waitFor();
  const running = back.bash('echo here I am; sleep 1003');
  await page.getByRole('log').getByText('here I am').waitFor();
  running.catch(() => {});
});
