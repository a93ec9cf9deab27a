import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { reportPage } from '../../src/report/page.js';
import { axeFindings, keepPicture, launchChromium, noChromium } from '../support/chromium.js';
import { testFolder } from '../support/test-folders.js';
import { someReport } from '../unit/report/some-report.js';

const dir = testFolder();
const file = join(dir, 'report.html');
let browser: Browser | undefined;

beforeAll(async () => {
  const { html } = reportPage(someReport('Boards with 2,000 cards load slowly for admins'), '1.2.3');
  writeFileSync(file, html);
  browser = await launchChromium();
});
beforeEach(({ skip }) => skip(!browser, noChromium));
afterAll(async () => {
  await browser?.close();
});

async function open(options: BrowserContextOptions) {
  const page = await (await browser!.newContext(options)).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:')) complaints.push(request.url());
  });
  await page.goto(`file://${file}`);
  return { page, complaints };
}

it.each([
  ['light', 1366],
  ['dark', 1366],
  ['light', 360],
  ['dark', 360],
] as const)('the report is readable: %s, %i pixels wide', async (colorScheme, width) => {
  const { page, complaints } = await open({ colorScheme, viewport: { width, height: 800 } });
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  // One picture of the two, with text of a readable size: not shrunk.
  const shown = await page.evaluate(shownCharts);
  expect(shown).toHaveLength(11);
  for (const { textSize } of shown) expect(textSize).toBeGreaterThanOrEqual(11);
  await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })");
  expect(await axeFindings(page)).toEqual([]);
  await keepPicture(page, `report-${colorScheme}-${width}`);
  expect(complaints).toEqual([]);
  await page.context().close();
});

it('the report prints light and with its wide charts, also from a dark screen', async () => {
  const { page } = await open({ colorScheme: 'dark', viewport: { width: 360, height: 800 } });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(27, 31, 36)');
  expect(await page.evaluate("getComputedStyle(document.querySelector('.wide')).display")).toBe('block');
  expect(await page.evaluate("getComputedStyle(document.querySelector('.narrow')).display")).toBe('none');
  await page.context().close();
});

const shownCharts = `[...document.querySelectorAll('.chart svg')]
  .filter((one) => one.getBoundingClientRect().width > 0)
  .map((one) => {
    const scale = one.getBoundingClientRect().width / one.viewBox.baseVal.width;
    const sizes = [...one.querySelectorAll('text')].map((text) => parseFloat(getComputedStyle(text).fontSize));
    return { textSize: Math.min(...sizes) * scale };
  })` as unknown as () => { textSize: number }[];
