import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import type { Facts } from '../../src/base/facts.js';
import { type RunningServer, startServer } from '../../src/serve/http/server.js';
import type { ScheduleView } from '../../src/serve/schedule/record.js';
import { faint, keepPicture, launchChromium, noChromium, tooWide } from '../support/chromium.js';
import {
  noFacts,
  now,
  serving,
  someFacts,
  someSchedule,
  wellFacts,
  wellSchedule,
} from '../unit/serve/serving.js';
import { muchFacts, muchSchedule } from './much-to-show.js';

let browser: Browser | undefined;
let server: RunningServer;
let view: ScheduleView;
let facts: Facts;
let page: Page | undefined;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async ({ skip }) => {
  skip(!browser, noChromium);
  view = someSchedule;
  facts = someFacts;
  server = await start();
});
afterEach(async () => {
  await page?.context().close();
  await server?.close();
});

function start(port = 0): Promise<RunningServer> {
  const schedule = { view: () => view };
  const clock = { ...systemClock, now: () => now };
  return startServer({ ...serving({ facts: async () => facts, schedule, clock, refreshMs: 100 }), port });
}

/** Opens the page and notes what it complains about and what it asks others for. */
async function open(options: BrowserContextOptions = {}, path = '/') {
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
  await page.goto(server.url + path);
  return { page, complaints, strangers };
}

/** What there is to show. */
const cases = {
  none: { facts: noFacts, view: { ...someSchedule, running: null, waiting: [], history: [] }, path: '/' },
  well: { facts: wellFacts, view: wellSchedule, path: '/' },
  some: { facts: someFacts, view: someSchedule, path: '/' },
  much: { facts: muchFacts, view: muchSchedule, path: '/' },
  runs: { facts: muchFacts, view: muchSchedule, path: '/runs' },
  run: { facts: someFacts, view: someSchedule, path: `/runs/${someFacts.contents.runs[0]?.run_id}` },
};

describe('the status page in a browser', () => {
  const widths = [380, 820, 1440];
  it.each(
    Object.keys(cases).flatMap((name) =>
      (['light', 'dark'] as const).map((scheme) => [name as keyof typeof cases, scheme] as const),
    ),
  )('is readable with %s to show, %s', async (name, colorScheme) => {
    const { path, ...shown } = cases[name];
    ({ facts, view } = shown);
    const { page, complaints, strangers } = await open({ colorScheme }, path);
    // The facts are a moment old when they are shown first.
    await page.reload();
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate(faint)).toEqual([]);
      expect(await page.evaluate(tooWide)).toEqual([]);
      await keepPicture(page, `${name}-${colorScheme}-${width}`);
    }
    expect([complaints, strangers]).toEqual([[], []]);
  });

  it('is used by keyboard: past the header, to what needs attention, to a run, and to the data', async () => {
    const { page } = await open({ viewport: { width: 380, height: 800 } });
    await page.keyboard.press('Tab');
    expect(await page.evaluate(focused)).toMatchObject({
      text: 'Skip to the content',
      outline: 'solid',
      inside: true,
    });
    await page.keyboard.press('Enter');
    await page.locator('main:focus').waitFor();
    const stops: string[] = [];
    while (stops.at(-1) !== 'metrics') {
      await page.keyboard.press('Tab');
      const now = await page.evaluate(focused);
      expect(now.outline).toBe('solid');
      stops.push(now.text);
    }
    expect(stops).toContain('sync');
    expect(stops).toContain('Copy');
    await page.locator('#runs-table a').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/runs/*');
    expect(await page.locator('h1').innerText()).toBe('nightly: sync');
    expect(await page.locator('#rows').innerText()).toContain('messages');
  });

  it('changes only what differs: focus, selection and opened details stay', async () => {
    const { page, complaints } = await open({ viewport: { width: 380, height: 800 } });
    const run = page.locator('#runs-table a').first();
    await run.focus();
    await page.evaluate("document.getElementById('drift').open = true");
    await page.evaluate(mark);
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('#attention p'))");
    const selected = await page.evaluate('String(getSelection())');
    view = { ...someSchedule, running: null, waiting: [] };
    const [first] = someSchedule.history;
    view = { ...view, history: [{ ...first!, job: 'a new one', runIds: [] }, ...someSchedule.history] };
    await page.locator('#state', { hasText: 'Nothing now' }).waitFor({ state: 'attached' });
    await page.locator('#runs', { hasText: 'a new one' }).waitFor();
    expect(await page.locator('#now').count()).toBe(0);
    expect(await page.locator('#state').getAttribute('aria-live')).toBe('polite');
    expect(await page.evaluate(focused)).toMatchObject({ text: 'sync' });
    expect(await page.evaluate("document.getElementById('drift').open")).toBe(true);
    expect(await page.evaluate('String(getSelection())')).toBe(selected);
    // Elements that did not change are the same ones as before.
    expect(await page.evaluate('window.marked.every((element) => element.isConnected)')).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('copies a command', async () => {
    const { page } = await open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('#attention .copy').first().click();
    await page.locator('#attention .copy', { hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^signalhouse /);
  });

  it('says when it has lost the worker, and is there again with it', async () => {
    const { page } = await open();
    const { port } = server;
    await server.close();
    await page.locator('#connection', { hasText: /^No answer since .*Z\./ }).waitFor();
    view = { ...someSchedule, running: null, waiting: [] };
    server = await start(port);
    await page.locator('#connection').waitFor({ state: 'hidden' });
    expect(await page.locator('#state').innerText()).toContain('Nothing now');
  });

  it('works without a script, and renews itself all the same', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect(await page.locator('#state').innerText()).toContain('Running hourly-push');
    expect(await page.locator('meta[http-equiv=refresh]').getAttribute('content')).toBe('15');
    expect(await page.locator('#freshness').innerText()).toContain(someFacts.freshness[0]!.resource);
  });
});

interface Focused {
  text: string;
  outline: string;
  inside: boolean;
}

// What runs in the browser is text here: this side knows no document.
const focused = `(() => {
  const at = document.activeElement;
  const { left, top } = at.getBoundingClientRect();
  return {
    text: at.getAttribute('aria-label') ?? at.textContent,
    outline: getComputedStyle(at).outlineStyle,
    inside: left >= 0 && top >= 0,
  };
})()` as unknown as () => Focused;

/** Remembers elements of parts that do not change. */
const mark = `window.marked = [...document.querySelectorAll('#freshness *, #requests *, #jobs *')]`;
