// Makes docs/pictures of what the built program makes of a sandbox.
//   node scripts/docs-picture.mjs sheets [folder]: sheet.png and result.png, a sheet with some cells edited and its result, as a
//     laptop of 1366 pixels shows them. Needs LibreOffice (libreoffice-calc), pdftoppm (poppler-utils) and a font with the
//     widths of Calibri (fonts-crosextra-carlito)
//   node scripts/docs-picture.mjs report [folder]: report.png, the top of the report. Needs Chromium (or CHROMIUM_PATH)
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { chromium } from 'playwright-core';
import { withSandboxData } from './docs-cookbook.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const [, , what, target = join(root, 'docs/pictures')] = argv;

/** The window of a spreadsheet program on a laptop, without its toolbars. */
const view = { width: 1366, height: 620, dpi: 96 };

/** The sheet with the table; the first one is "How to use". */
const table = 'xl/worksheets/sheet2.xml';

/** What a product manager might edit: row, column, value. */
const edits = [
  [3, 'lifecycle_state', 'in_progress'],
  [5, 'priority', 'high'],
  [7, 'priority', 'very_high'],
  [8, 'archived', true],
  [8, 'archived_reason', 'Fixed in release 4.12'],
];

/** What somebody else sets before the push: the row of a topic, and its priority. */
const rival = { row: 7, priority: 'very_low' };

await withSandboxData(what === 'report' ? pictureReport : pictureSheets);

/** @param {string} file */
async function pictureReport(file) {
  const out = join(dirname(file), 'report.html');
  execFileSync(execPath, [join(root, 'dist/main.js'), 'report', '--out', out, '--data-dir', dirname(file)]);
  const executablePath = env.CHROMIUM_PATH ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    // As wide as the page of a repository shows it.
    const page = await browser.newPage({ viewport: { width: 1024, height: 830 }, colorScheme: 'light' });
    await page.goto(pathToFileURL(out).href);
    await page.screenshot({ path: join(target, 'report.png') });
  } finally {
    await browser.close();
  }
}

/**
 * @param {string} file
 * @param {Record<string, string | undefined>} client
 */
async function pictureSheets(file, client) {
  const dir = dirname(file);
  const sheet = join(dir, 'topics.xlsx');
  const done = join(dir, 'done.xlsx');
  /** @param {string[]} args */
  const run = (...args) =>
    // A conflict ends with 3, which is what the picture shows.
    spawnSync(execPath, [join(root, 'dist/main.js'), ...args], {
      env: client,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  run('changes', 'sheet', '--out', sheet);
  writeFileSync(sheet, withEdits(readFileSync(sheet)));
  picture(sheet, 'sheet.png');
  run('changes', 'import', sheet, '--yes', '--by', 'Kim');
  const xml = strFromU8(unzipSync(readFileSync(sheet))[table] ?? new Uint8Array());
  const [, id] = new RegExp(`<c r="A${rival.row}"[^>]*><is><t>([^<]*)<`).exec(xml) ?? [];
  await fetch(`${client.SIGNALHOUSE_BASE_URL}/topics/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${client.SIGNALHOUSE_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ priority: rival.priority }),
  });
  run('push', '--result', done);
  picture(done, 'result.png');
}

/**
 * Saves how the window of a spreadsheet program shows a workbook.
 * @param {string} book
 * @param {string} name
 */
function picture(book, name) {
  const dir = dirname(book);
  const printed = join(dir, 'printed.xlsx');
  writeFileSync(printed, asSeen(unzipSync(readFileSync(book))));
  const office = ['--headless', `-env:UserInstallation=file://${join(dir, 'office')}`];
  execFileSync('soffice', [...office, '--convert-to', 'pdf', '--outdir', dir, printed], { stdio: 'ignore' });
  const [width, height] = [String(view.width), String(view.height)];
  const clip = ['-x', '0', '-y', '0', '-W', width, '-H', height];
  // The first page is the sheet "How to use".
  const page = ['-f', '2', '-singlefile', '-r', String(view.dpi), '-png'];
  execFileSync('pdftoppm', [...page, ...clip, join(dir, 'printed.pdf'), join(dir, 'sheet')]);
  copyFileSync(join(dir, 'sheet.png'), join(target, name));
}

/**
 * The workbook with the edits.
 * @param {Uint8Array} bytes
 */
function withEdits(bytes) {
  const files = unzipSync(bytes);
  let xml = strFromU8(files[table] ?? new Uint8Array());
  for (const [row, column, value] of edits) {
    const [, letters] = new RegExp(`<c r="([A-Z]+)1"[^>]*><is><t>${column}<`).exec(xml) ?? [];
    const cell = new RegExp(`<c r="${letters}${row}" s="(\\d+)"(?:/>|[^>]*>.*?</c>)`);
    if (!cell.test(xml)) throw new Error(`there is no cell ${column} in row ${row}`);
    xml = xml.replace(cell, (_, style) =>
      value === true
        ? `<c r="${letters}${row}" s="${style}" t="b"><v>1</v></c>`
        : `<c r="${letters}${row}" s="${style}" t="inlineStr"><is><t>${value}</t></is></c>`,
    );
  }
  return zipSync({ ...files, [table]: strToU8(xml) });
}

/**
 * The workbook, set up to print the corner of the table that the window shows, in its real size.
 * @param {Record<string, Uint8Array>} files
 */
function asSeen(files) {
  let xml = strFromU8(files[table] ?? new Uint8Array());
  xml = xml
    .replace('<pageSetUpPr fitToPage="1"/>', '')
    .replace(
      /<pageMargins.*?(?=<legacyDrawing|<\/worksheet>)/,
      '<printOptions headings="1"/><pageMargins left="0" right="0" top="0" bottom="0" header="0" footer="0"/><pageSetup paperSize="8" scale="100" orientation="landscape"/>',
    );
  const names = strFromU8(files['xl/workbook.xml'] ?? new Uint8Array());
  const area = `<definedName name="_xlnm.Print_Area" localSheetId="1">'Topics'!$A$1:$${lastColumn(xml)}$40</definedName>`;
  return zipSync({
    ...files,
    [table]: strToU8(xml),
    'xl/workbook.xml': strToU8(names.replace('</definedNames>', `${area}</definedNames>`)),
  });
}

/**
 * The letter of the column at the right edge of the window.
 * @param {string} xml
 */
function lastColumn(xml) {
  const widths = [...xml.matchAll(/<col min="\d+" max="\d+" width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );
  let [column, pixels] = [0, 40];
  while (pixels < view.width) pixels += 7 * (widths[column++] ?? view.width) + 5;
  return String.fromCharCode(64 + column);
}
