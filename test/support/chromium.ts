import { existsSync } from 'node:fs';
import { join } from 'node:path';
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

/** Texts whose contrast against what is behind them is less than 4.5, as WCAG computes it. Hidden texts do not count. */
export const faint = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return channels(color)[3] === 0 ? behind(element.parentElement) : color;
  };
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
  const color = (element) => {
    const { color, fill } = getComputedStyle(element);
    return element.tagName === 'text' ? fill : color;
  };
  return [...document.body.querySelectorAll('*')].filter(own).flatMap((element) => {
    const [a, b] = [color(element), behind(element)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return contrast < 4.5 ? [element.outerHTML + ' ' + contrast.toFixed(2)] : [];
  });
})()` as unknown as () => string[];

/** What is wider than the screen. */
export const tooWide = `[...document.body.querySelectorAll('*')].filter((element) => {
  const { width, right } = element.getBoundingClientRect();
  return width > 1 && right > innerWidth + 1 && getComputedStyle(element).position !== 'absolute';
}).map((element) => element.outerHTML.slice(0, 200))` as unknown as () => string[];
