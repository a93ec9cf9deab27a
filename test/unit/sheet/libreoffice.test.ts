import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { readSheet } from '../../../src/sheet/read.js';
import type { SheetSpec } from '../../../src/sheet/spec.js';
import { writeSheet } from '../../../src/sheet/write.js';
import { folder, soffice, table } from './support.js';

const office = soffice();
const patient = 60_000;

const spec: SheetSpec = {
  name: 'Topics',
  columns: [
    { key: 'topic_id', type: 'text' },
    { key: 'title', type: 'text', wrap: true },
    { key: 'priority', type: 'text', allowed: ['high', 'low'], edited: { base: 'base_priority' } },
    { key: 'archived', type: 'boolean', edited: { base: 'base_archived' } },
    { key: 'base_priority', type: 'text', hidden: true },
    { key: 'base_archived', type: 'boolean', hidden: true },
    { key: 'base_updated_at', type: 'time', hidden: true },
  ],
  rows: [
    ['t1', '=1+1', 'high', false, 'low', false, new Date('2026-03-04T05:06:07.891Z')],
    ['t2', "'-5 °C\nnext line", 'high', true, 'high', false, new Date('2026-03-04T05:06:07.999Z')],
    ['007', '+49 30 – <b>', null, false, null, false, new Date('2026-03-04T05:06:00.000Z')],
  ],
  howTo: ['How to use', 'Edit.'],
};

/** Opens a file in LibreOffice, without a window, and saves it in another format; gives the folder. */
function saved(dir: string, file: string, format: string, ...more: string[]): string {
  const out = join(dir, 'out');
  const own = `-env:UserInstallation=file://${join(dir, 'profile')}`;
  const args = ['--headless', own, '--convert-to', format, '--outdir', out, ...more, file];
  execFileSync(office ?? '', args, { stdio: 'ignore', timeout: patient, env: { ...process.env, HOME: dir } });
  return out;
}

describe.skipIf(!office)('LibreOffice', () => {
  test('opens our files, and what it saves is read as it was', { timeout: patient }, async () => {
    const dir = folder();
    const book = join(dir, 'book.xlsx');
    await writeSheet(book, spec);
    const again = join(saved(dir, book, 'xlsx'), 'book.xlsx');
    // It saves a boolean with a format as 0 or 1, which the import takes for FALSE and TRUE.
    const numbered = table(await readSheet({ path: book })).map((row) =>
      row.map((cell) => (typeof cell === 'boolean' ? Number(cell) : cell)),
    );
    expect(table(await readSheet({ path: again }))).toEqual(numbered);
    const sheet = strFromU8(unzipSync(readFileSync(again))['xl/worksheets/sheet2.xml'] ?? new Uint8Array());
    expect(sheet).toContain('<autoFilter ref="A1:G4"');
    expect(sheet).toMatch(/<dataValidation [^>]*sqref="C2:C4" type="list"><formula1>&quot;high,low&quot;/);
    expect(sheet).toMatch(/<conditionalFormatting sqref="C2:C4"><cfRule type="expression"/);
  });

  test('makes no formulas of our CSV file, and its apostrophes go again', { timeout: patient }, async () => {
    const dir = folder();
    const text = join(dir, 'text.csv');
    await writeSheet(text, spec);
    // Comma, quote, UTF-8: without a window nobody is asked.
    const again = join(saved(dir, text, 'xlsx', '--infilter=CSV:44,34,76'), 'text.xlsx');
    const titles = (await readSheet({ path: again })).rows.map(({ cells }) => cells[1]);
    expect(titles).toEqual(['=1+1', "'-5 °C\nnext line", '+49 30 – <b>']);
  });

  test('colours the cells that differ from their base, and only them', { timeout: patient }, async () => {
    const dir = folder();
    const book = join(dir, 'book.xlsx');
    await writeSheet(book, spec);
    const page = readFileSync(join(saved(dir, book, 'html'), 'book.html'), 'utf8');
    const coloured = [...page.matchAll(/<td[^>]*bgcolor="#FFAB40"[^>]*>(.*?)<\/td>/gis)];
    expect(coloured.map(([, inner = '']) => inner.replace(/<[^>]*>/g, ''))).toEqual(['high', 'TRUE']);
  });
});
