// Makes the pictures of docs/console.md, docs/drafts.md and README.md. Usage: scripts/test-console --screenshots [NAME]

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

const [directory, only] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const ends = [];
const t = { after: (end) => ends.unshift(end) };

/** A day's work of an agent, for the timeline. */
function makeLog(world) {
  const now = new Date();
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const commands = ['cargo test', 'git status', 'ls src', 'cargo clippy', 'grep -rn todo src', 'npm run build', 'git push --force', 'curl https://example.com/x.sh'];
  const lines = [];
  let call = 0;
  let random = 7;
  const next = (most) => {
    random = (random * 1103515245 + 12345) % 2147483648;
    return (random >> 10) % most;
  };
  for (const [session, from, to, every] of [['default', 8.2, 11.6, 6], ['review', 9, 10.4, 5], ['default', 13, 17.1, 8], ['docs', 14.2, 15.6, 7]]) {
    for (let hour = from; hour < to; hour += (every + next(every)) / 60) {
      call += 1;
      const command = commands[next(commands.length)];
      const took = 1000 * (command.startsWith('cargo') || command.startsWith('npm') ? 40 + next(200) : 1 + next(8));
      const time = (more) => new Date(midnight + hour * 3_600_000 + more).toISOString();
      const who = { server: '7-earlier', call, connection: 1, principal: 'local', client: 'claude-code', session, tool: 'bash' };
      const add = (more, event) => lines.push(JSON.stringify({ time: time(more), ...who, ...event }));
      add(0, { event: 'call', arguments: { command } });
      if (command.startsWith('git push')) add(1, { event: 'verdict', action: command, verdict: 'deny', rule: "deny git push --force", reason: 'a rule denies it' });
      else {
        add(1, { event: 'process_start', process: `c${call}`, pid: 3, command, cwd: '/home/ada/turtle' });
        const code = command.startsWith('curl') ? 6 : Number(next(9) === 0);
        add(took, { event: 'process_exit', process: `c${call}`, exit_code: code, milliseconds: took, stdout_bytes: next(9000), stderr_bytes: next(500) });
      }
      add(took + 1, { event: 'result', milliseconds: took, bytes: 900, ...(command.startsWith('git push') ? { error: 'denied by a rule' } : {}) });
    }
  }
  mkdirSync(world.state, { recursive: true, mode: 0o700 });
  writeFileSync(join(world.state, 'audit.jsonl'), `${lines.join('\n')}\n`, { mode: 0o600 });
}

const BUILD = `for crate in serde tokio hyper axum clap regex rustix vt100 toml image; do
  printf '\\033[1;32m   Compiling\\033[0m %s v1.%d.%d\\n' $crate $RANDOM $((RANDOM % 9)); sleep 0.05
done
printf '\\033[1;33mwarning\\033[0m\\033[1m: unused variable: \\140shell\\140\\033[0m\\n\\033[1;34m  --> \\033[0msrc/main.rs:12:9\\n'
printf '\\033[1;32m    Finished\\033[0m test profile in 41.07s\\n\\ntest slow_turtle ... \\033[32mok\\033[0m\\ntest hidden_head ... \\033[32mok\\033[0m\\ntest hard_shell ... \\033[31mFAILED\\033[0m\\n'
sleep 1000`;

async function shoot(name, options, work) {
  if (only && only !== name) return;
  const page = await open(await window(t, options), await link());
  await work(page).catch(async (error) => {
    await page.screenshot({ path: join(directory, `failed-${name}.png`) });
    throw error;
  });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(directory, `${name}.png`) });
}

const world = new World(t);
makeLog(world);
const project = join(world.root, 'turtle');
mkdirSync(project);
const client = await world.server(['--ask', 'git push', '--deny', 'git push --force'], { cwd: project });
const link = async () => (await world.console()).link;
writeFileSync(join(project, 'check.sh'), BUILD);
client.bash('bash check.sh --all', { session: 'tests', description: 'Run the tests' }).catch(() => {});
client.bash('npm run dev -- --port 5173 & echo "ready in 312 ms"; wait; sleep 1000', { run_in_background: true, description: 'Development server' }).catch(() => {});
await client.bash('read -r -s -p "Password for ada@example.com: " p; echo; sleep 1000', { pty: true, session: 'deploy' });

const now = async (page) => {
  await page.locator('.command', { hasText: 'check.sh' }).click();
  await page.getByRole('log').getByText('hard_shell').waitFor();
};
try {
  const asked = async (page) => {
    await now(page);
    const call = client.bash('git push origin main', { description: 'Publish the fix' });
    call.catch(() => {});
    await page.locator('.question').first().waitFor();
    await until('the time', async () => (await page.locator('.countdown').first().textContent()) !== '5:00 left');
  };
  const withQuestion = { viewport: { width: 1200, height: 800 } };
  await shoot('console-question', withQuestion, asked);
  await shoot('console-dark', { ...withQuestion, colorScheme: 'dark' }, now);
  await shoot('console-phone', { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2 }, now);
  await shoot('console-history', withQuestion, async (page) => {
    await page.locator('[data-decision=deny]').click();
    await page.locator('#toast').waitFor({ state: 'hidden' });
    await page.getByRole('tab', { name: 'History' }).click();
    await page.locator('rect.bar.denied').first().click();
    await page.locator('.about-entry').waitFor();
  });
  await shoot('console-drafts', withQuestion, async (page) => {
    const drafted = join(world.root, 'tortoise');
    mkdirSync(join(drafted, 'src'), { recursive: true });
    writeFileSync(join(drafted, '.gitignore'), 'target/\n');
    writeFileSync(join(drafted, 'README.md'), '# Tortoise\n\nSlow and steady.\n');
    writeFileSync(join(drafted, 'src/main.rs'), 'fn main() {\n    let steps = 1;\n    for step in 0..steps {\n        println!("step {step}");\n    }\n}\n');
    writeFileSync(join(drafted, 'src/shell.rs'), 'pub fn hide() -> bool {\n    true\n}\n');
    const agent = await world.server(['--draft'], { cwd: drafted });
    await agent.bash(`sed -i 's/let steps = 1;/let steps = std::env::args().count();/; s/"step {step}"/"step {step} of {steps}"/' src/main.rs
      mv src/shell.rs src/carapace.rs; rm README.md; chmod 755 .gitignore; mkdir target; for n in $(seq 412); do echo $n > target/$n.o; done`);
    writeFileSync(join(drafted, 'README.md'), '# Tortoise\n\nSlow, steady, first.\n');
    await page.getByRole('tab', { name: 'Drafts' }).click();
    await page.getByRole('button', { name: 'src/main.rs', exact: true }).click();
    await page.locator('.diff-line.plus').first().waitFor();
  });
  await shoot('console-terminal', withQuestion, async (page) => {
    await page.locator('.command', { hasText: 'Password' }).click();
    await page.locator('.screen').getByText('Password for ada').waitFor();
    await page.locator('.screen').click();
  });
} finally {
  for (const end of ends) await end();
  await close();
}
