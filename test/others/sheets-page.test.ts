import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid } from '../../src/sheet/write.js';
import { Browsing, logIn } from '../support/browsing.js';
import { axeFindings, keepPicture, tooWide } from '../support/chromium.js';
import { password } from '../support/visiting.js';

const browsing = Browsing.ofFile();

/** A browser of somebody, which notes what it complains about. */
async function open(options: BrowserContextOptions = {}) {
  const context = await browsing.browser.newContext({ acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Chromium reports the status of a login that fails, and of a decision that has to wait.
    if (message.type() !== 'log' && !/\b(401|503)\b/.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints };
}

/** What a page looks like on a desktop and a phone, light and dark: axe finds nothing, and nothing is wider than the screen. */
async function look(page: Page, name: string): Promise<void> {
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['light', 390],
    ['dark', 1280],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate(tooWide)).toEqual([]);
    await keepPicture(page, `sheets-${name}-${colorScheme}-${width}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Waits for a download, and returns where it is. */
async function downloaded(page: Page, start: () => Promise<void>): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), start()]);
  const path = join(browsing.pulling.dataDir, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

/** Raises the first topics of a sheet, and makes one row wrong. */
async function edit(path: string): Promise<{ title: string; from: string }> {
  const grid = await readSheet({ path });
  const at = (name: string) => grid.columns.indexOf(name);
  const rows = grid.rows.map((row, index) => ({
    ...row,
    cells: row.cells.map((cell, column) => {
      if (column !== at('priority')) return cell;
      if (index < 3) return cell === 'very_high' ? 'low' : 'very_high';
      return index === 3 ? 'urgent' : cell;
    }),
  }));
  await writeGrid(path, { ...grid, rows }, { overwrite: true });
  const [first] = grid.rows;
  return { title: String(first?.cells[at('title')]), from: String(first?.cells[at('priority')]) };
}

it('is walked by somebody who never opens a terminal: from the login to the undo', async () => {
  const { page, complaints } = await open();
  await page.goto(`${browsing.served.url}/sheets`);
  expect(await page.title()).toBe('Log in · Signalhouse');
  await logIn(page, 'anna', 'not the password');
  await page.getByRole('alert').filter({ hasText: 'The name or the password is wrong.' }).waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe('anna');
  await look(page, 'login');
  await logIn(page, 'anna');
  await page.waitForURL('**/sheets');

  const path = await downloaded(page, () => page.getByRole('button', { name: 'Download' }).click());
  const { title, from } = await edit(path);
  await page.getByLabel('File').setInputFiles(path);
  await page.getByRole('button', { name: 'Upload and preview' }).click();
  await page.waitForURL('**/sheets/*');
  expect(await page.locator('#summary h2').innerText()).toBe('3 changes to confirm');
  const row = page.locator('#changes-table tr', { hasText: title });
  expect(await row.innerText()).toContain(`priority: ${from.replace('_', ' ')}`);
  expect(await page.locator('#left-out').innerText()).toContain('urgent');
  await look(page, 'preview');
  await page.getByRole('button', { name: 'Confirm 3 changes, and leave 1 out' }).click();

  // It follows the push by itself.
  await page.locator('#changes-table .badge.good').nth(2).waitFor();
  await page.locator('#summary', { hasText: 'applied 3' }).waitFor();
  await look(page, 'result');
  const result = await downloaded(page, () =>
    page.getByRole('link', { name: 'Download the result' }).click(),
  );
  const { columns, rows } = await readSheet({ path: result });
  const results = rows.map(({ cells }) => cells[columns.indexOf('result')]);
  expect(results.slice(0, 4)).toEqual(['applied', 'applied', 'applied', 'invalid']);

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator('h1', { hasText: 'Undo of' }).waitFor();
  expect(await page.locator('#changes-table tr', { hasText: title }).innerText()).toMatch(
    new RegExp(`→ ${from.replace('_', ' ')}`),
  );
  await look(page, 'undo');
  await page.getByRole('button', { name: 'Undo 3 changes' }).click();
  await page.locator('#summary', { hasText: 'applied 3' }).waitFor();

  await page.getByRole('link', { name: 'Lumenfold' }).click();
  await page.getByRole('link', { name: 'Sheets' }).click();
  expect(await page.locator('#history-table tbody tr').count()).toBe(2);
  expect(await page.locator('#history-table tbody tr').nth(1).innerText()).toContain('undone 3');
  await look(page, 'overview');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
  await page.goto(`${browsing.served.url}/sheets`);
  expect(await page.title()).toBe('Log in · Signalhouse');
  expect(complaints).toEqual([]);
  await page.context().close();
});

it('is used by keyboard alone, on a phone, without a script', async () => {
  const { page } = await open({ viewport: { width: 390, height: 800 }, javaScriptEnabled: false });
  await page.goto(`${browsing.served.url}/sheets`);
  await page.keyboard.type('ben');
  await page.keyboard.press('Tab');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/sheets');
  // Tab reaches every control in the order of the page, and each shows that it has the focus.
  const stops: string[] = [];
  while (!stops.at(-1)?.includes('Upload and preview')) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    stops.push((await focused.getAttribute('name')) ?? (await focused.innerText()));
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    expect(stops.length).toBeLessThan(30);
  }
  expect(stops.slice(stops.indexOf('about'))).toEqual([
    'about',
    'priority',
    'state',
    'company',
    'text',
    'Download',
    'file',
    'Upload and preview',
  ]);
  const topic = [...browsing.sandbox.world.topics.values()].find(
    ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
  );
  const file = join(browsing.pulling.dataDir, 'list.csv');
  writeFileSync(file, `topic_id,priority\n${topic?.id},${topic?.priority === 'low' ? 'high' : 'low'}\n`);
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload and preview' }).press('Enter');
  await page.locator('h2', { hasText: '1 change to confirm' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).press('Enter');
  await page.locator('#summary', { hasText: 'cancelled' }).waitFor();
  await page.context().close();
});
