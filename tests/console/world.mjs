// A world of its own for each test: a home, a project, servers, consoles. Everything in it ends with the test.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = process.env.TESTUDO ?? new URL('../../target/debug/testudo', import.meta.url).pathname;
const PATIENCE = 60_000;

/** Waits until `check` returns something. */
export async function until(what, check) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

export class World {
  constructor(t) {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'testudo-console-')));
    [this.home, this.project] = ['home', 'project'].map((name) => join(this.root, name));
    mkdirSync(this.home);
    mkdirSync(this.project);
    this.state = join(this.home, '.local/state/testudo');
    this.children = [];
    t.after(() => this.end());
  }

  spawn(words, { cwd = this.project } = {}) {
    const env = { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8' };
    const child = spawn(PROGRAM, words, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.log = '';
    child.stderr.on('data', (data) => { child.log += data; });
    child.ended = new Promise((resolve) => { child.on('exit', resolve); });
    this.children.push(child);
    return child;
  }

  async end() {
    for (const child of this.children) child.kill('SIGTERM');
    await Promise.all(this.children.map((child) => child.ended));
    rmSync(this.root, { recursive: true, force: true });
  }

  /** A server on stdio with a client. `answer` answers its questions; without it, the client cannot be asked. */
  async server(words = [], { answer, ...options } = {}) {
    const client = new Client(this.spawn(words, options), answer);
    const capabilities = answer ? { elicitation: { form: {} } } : {};
    await client.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'an agent', version: '1' } });
    client.send({ method: 'notifications/initialized' });
    return client;
  }

  /** `testudo console`: its link, and where the page is. */
  async console(words = []) {
    const child = this.spawn(['console', '--no-open', ...words]);
    let printed = '';
    child.stdout.on('data', (data) => { printed += data; });
    const link = await until('the link', () => /http:\S+/.exec(printed)?.[0]);
    return { child, link, origin: new URL(link).origin };
  }

  /** A server on HTTP. */
  async http(words) {
    const child = this.spawn(['--transport', 'http', '--listen', '127.0.0.1:0', ...words]);
    const origin = await until('the address', () => /http:\/\/[^/\s]+/.exec(child.log)?.[0]);
    return { child, origin };
  }

  audit() {
    const path = join(this.state, 'audit.jsonl');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }
}

class Client {
  constructor(child, answer) {
    this.child = child;
    this.pid = child.pid;
    this.answer = answer;
    this.next = 1;
    this.waiting = new Map();
    this.received = '';
    createInterface({ input: child.stdout }).on('line', (line) => this.got(line));
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  request(method, params) {
    const id = this.next;
    this.next += 1;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => { this.waiting.set(id, { resolve, reject }); });
  }

  async got(line) {
    this.received += line;
    const message = JSON.parse(line);
    if (message.method === 'elicitation/create') {
      const result = await this.answer(message.params);
      this.send({ id: message.id, result });
    } else if (message.id !== undefined && !message.method) {
      const { resolve, reject } = this.waiting.get(message.id) ?? {};
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
    }
  }

  /** The text of a result. */
  async call(name, args) {
    const { content } = await this.request('tools/call', { name, arguments: args });
    return content.map(({ text }) => text).join('');
  }

  bash(command, more = {}) {
    return this.call('bash', { command, ...more });
  }
}
