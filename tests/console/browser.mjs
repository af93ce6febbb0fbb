// Chromium, driven by playwright-core from below target/.

import { createRequire } from 'node:module';

const tools = process.env.CONSOLE_TOOLS ?? new URL('../../target/console/', import.meta.url).pathname;
const { chromium } = createRequire(`${tools}/`)('playwright-core');

let shared = null;

/** One browser for all tests of a file; each test has a context of its own. */
export async function launch() {
  shared ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  return shared;
}

export async function close() {
  await (await shared)?.close();
}

/** A browser's window. Whatever the page complains about fails the test. */
export async function window(t, options = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1200, height: 800 }, ...options });
  t.after(() => context.close());
  context.complaints = [];
  context.outside = [];
  context.on('page', (page) => watch(context, page));
  return context;
}

function watch(context, page) {
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => context.complaints.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) context.complaints.push(text);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1:')) context.outside.push(request.url());
  });
}

/** Opens a link of `testudo console` and waits for the page. */
export async function open(context, link) {
  const page = await context.newPage();
  await page.goto(link);
  await page.waitForURL(/\/console$/);
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}
