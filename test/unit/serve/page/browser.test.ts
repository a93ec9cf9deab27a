import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.js';
import { type RunningServer, startServer } from '../../../../src/serve/http/server.js';
import type { ScheduleView } from '../../../../src/serve/schedule/view.js';
import { faint, launchChromium, noChromium, pictures } from '../../../support/chromium.js';
import { now, serving, someFacts, someSchedule } from '../serving.js';

let browser: Browser | undefined;
let server: RunningServer;
let view: ScheduleView;
let page: Page | undefined;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async ({ skip }) => {
  skip(!browser, noChromium);
  view = someSchedule;
  server = await start();
});
afterEach(async () => {
  await page?.context().close();
  await server?.close();
});

function start(port = 0): Promise<RunningServer> {
  const schedule = { view: () => view };
  const clock = { ...systemClock, now: () => now };
  return startServer({ ...serving({ schedule, clock, refreshMs: 100 }), port });
}

/** Opens the page and notes what it complains about and what it asks others for. */
async function open(options: BrowserContextOptions = {}) {
  const context = await browser!.newContext(options);
  page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'log') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  const strangers: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${server.url}/`)) strangers.push(request.url());
  });
  await page.goto(server.url);
  return { page, complaints, strangers };
}

describe('the status page in a browser', () => {
  it.each([
    ['light', 1200],
    ['dark', 1200],
    ['light', 360],
    ['dark', 360],
  ] as const)('is readable: %s, %i pixels wide', async (colorScheme, width) => {
    const { page, complaints, strangers } = await open({ colorScheme, viewport: { width, height: 800 } });
    expect(await page.evaluate(faint)).toEqual([]);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe(colorScheme === 'light' ? 'rgb(246, 247, 249)' : 'rgb(18, 21, 26)');
    const picture = pictures ? { path: join(pictures, `status-${colorScheme}-${width}.png`) } : {};
    expect((await page.screenshot({ fullPage: true, ...picture })).length).toBeGreaterThan(10_000);
    expect([complaints, strangers]).toEqual([[], []]);
  });

  it('is used by keyboard: past the header, into what scrolls, and to the data', async () => {
    const { page } = await open({ viewport: { width: 360, height: 800 } });
    await page.keyboard.press('Tab');
    expect(await page.evaluate(focused)).toMatchObject({
      text: 'Skip to the content',
      outline: 'solid',
      inside: true,
    });
    await page.keyboard.press('Enter');
    await page.locator('main:focus').waitFor();
    const stops: string[] = [];
    for (let stop = 0; stop < 8; stop++) {
      await page.keyboard.press('Tab');
      const now = await page.evaluate(focused);
      expect(now.outline).toBe('solid');
      stops.push(now.text);
    }
    expect(stops).toEqual([
      'Jobs, by next start',
      'Freshness of each resource',
      'Changes to push, by status',
      'Last runs, newest first',
      'Rejected: ops.rejected_records',
      'Differences from the documentation: ops.schema_drift',
      'status.json',
      'metrics',
    ]);
  });

  it('renews itself without losing the place, and tells those who listen', async () => {
    const { page, complaints } = await open({ viewport: { width: 220, height: 800 } });
    await page.locator('[aria-label="Last runs, newest first"]').focus();
    await page.evaluate('document.activeElement.scrollLeft = 40');
    view = { ...someSchedule, running: null, waiting: [] };
    await page.locator('#state', { hasText: 'Nothing is running' }).waitFor();
    expect(await page.locator('#state').getAttribute('aria-live')).toBe('polite');
    expect(await page.locator('#now').innerText()).toBe('Nothing is running.');
    const [run] = someSchedule.history;
    view = { ...view, history: [{ ...run!, message: 'a new one' }, ...someSchedule.history] };
    await page.locator('#history', { hasText: 'a new one' }).waitFor();
    expect(await page.evaluate(focused)).toMatchObject({ text: 'Last runs, newest first', scrolled: 40 });
    expect(complaints).toEqual([]);
  });

  it('says when it has lost the worker, and is there again with it', async () => {
    const { page } = await open();
    const { port } = server;
    await server.close();
    await page.locator('#connection', { hasText: /^No answer since .*Z; / }).waitFor();
    view = { ...someSchedule, running: null, waiting: [] };
    server = await start(port);
    await page.locator('#connection').waitFor({ state: 'hidden' });
    expect(await page.locator('#state').innerText()).toContain('Nothing is running');
  });

  it('works without a script, and renews itself all the same', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect(await page.locator('#state').innerText()).toContain('hourly-push is running');
    expect(await page.locator('meta[http-equiv=refresh]').getAttribute('content')).toBe('15');
    expect(await page.locator('#freshness').innerText()).toContain(someFacts.freshness[0]!.resource);
  });
});

interface Focused {
  text: string;
  outline: string;
  inside: boolean;
  scrolled: number;
}

// What runs in the browser is text here: this side knows no document.
const focused = `(() => {
  const at = document.activeElement;
  const { left, top } = at.getBoundingClientRect();
  return {
    text: at.getAttribute('aria-label') ?? at.textContent,
    outline: getComputedStyle(at).outlineStyle,
    inside: left >= 0 && top >= 0,
    scrolled: at.scrollLeft,
  };
})()` as unknown as () => Focused;
