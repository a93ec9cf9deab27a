// Makes docs/pictures/report.png: the top of the report that the built program makes of a sandbox, as a browser shows it.
// Needs Chromium (the package chromium, or CHROMIUM_PATH).
//   node scripts/docs-report-picture.mjs [report.png]
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { withSandboxData } from './docs-cookbook.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = argv[2] ?? join(root, 'docs/pictures/report.png');

/** As wide as the page of a repository shows it. */
const viewport = { width: 1024, height: 830 };

await withSandboxData(async (file) => {
  const out = join(dirname(file), 'report.html');
  execFileSync(execPath, [join(root, 'dist/main.js'), 'report', '--out', out, '--data-dir', dirname(file)]);
  const executablePath = env.CHROMIUM_PATH ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport, colorScheme: 'light' });
    await page.goto(pathToFileURL(out).href);
    await page.screenshot({ path: target });
  } finally {
    await browser.close();
  }
});
