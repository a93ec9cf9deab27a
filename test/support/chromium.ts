import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

const executablePath = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && existsSync(path));

/** Why a test that needs a browser is skipped. */
export const noChromium = 'no Chromium here: install the package chromium, or set CHROMIUM_PATH';

/**
 * Leaves a picture of the whole page in the folder SIGNALHOUSE_SCREENSHOTS, for somebody to look at. Without that variable
 * none is made: a busy machine's Chromium sometimes answers "Unable to capture screenshot".
 */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SIGNALHOUSE_SCREENSHOTS;
  if (folder) await page.screenshot({ fullPage: true, path: join(folder, `${name}.png`) });
}

/** A real Chromium; undefined when none is installed. */
export async function launchChromium(): Promise<Browser | undefined> {
  return executablePath === undefined
    ? undefined
    : chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

// What runs in the browser is text here: this side knows no document.

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/**
 * What axe finds wrong with a page: contrast, names, roles, structure. Its rules leave out what is hidden, such as the text
 * of a chart that has a label.
 */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => id + ': ' + help + ': ' + html.slice(0, 200))))`);
}

/** What is wider than the screen. */
export const tooWide = `[...document.body.querySelectorAll('*')].filter((element) => {
  const { width, right } = element.getBoundingClientRect();
  return width > 1 && right > innerWidth + 1 && getComputedStyle(element).position !== 'absolute';
}).map((element) => element.outerHTML.slice(0, 200))` as unknown as () => string[];
