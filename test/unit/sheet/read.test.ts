import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxCellChars } from '../../../src/sheet/grid.js';
import { readRecords, readSheet } from '../../../src/sheet/read.js';
import { propertyRuns } from '../../support/runs.js';
import { folder, refused, table, textRow, workbook } from './support.js';

test('the content says what a file is, not its name', async () => {
  const dir = folder();
  writeFileSync(join(dir, 'a.csv'), workbook({ rows: textRow(1, 'topic_id') + textRow(2, 't1') }));
  writeFileSync(join(dir, 'a.xlsx'), 'topic_id\nt2\n');
  expect(table(await readSheet({ path: join(dir, 'a.csv') }))).toEqual([['topic_id'], ['t1']]);
  expect(table(await readSheet({ path: join(dir, 'a.xlsx') }))).toEqual([['topic_id'], ['t2']]);
});

test('a file of 200 MB is refused before it is read', async () => {
  const path = join(folder(), 'huge.csv');
  writeFileSync(path, 'a\n');
  truncateSync(path, 200 * 1024 * 1024);
  expect(await refused(readSheet({ path }))).toContain('huge.csv is larger than 50 MB');
});

test('a file that is not there, and a folder', async () => {
  const dir = folder();
  expect(await refused(readSheet({ path: join(dir, 'no.csv') }))).toContain('does not exist');
  expect(await refused(readSheet({ path: dir }))).toContain('is a folder');
});

describe('records', () => {
  const texts = fc.string({
    unit: fc.constantFrom('a', 'B', '1', ' ', '"', ',', ';', '\n', '\r', "'", '=', 'ä', '\uD800', '😀'),
  });
  const numbers = fc.double({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 });
  const values = fc.oneof(texts, fc.integer(), numbers, fc.boolean(), fc.constantFrom(null, undefined));
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

  test('are read as the same values in a text file, with the same errors', async () => {
    const lists = fc.array(fc.dictionary(texts, values, { maxKeys: 4 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(lists, async (records) => {
        const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
        const lines = records.map((record) => columns.map((name) => record[name] ?? '').map(String));
        const text = [columns, ...lines].map((cells) => cells.map(quoted).join(',')).join('\r\n');
        const file = await readSheet({ bytes: Buffer.from(text), name: 'HTTP' }).catch(String);
        const expected =
          typeof file === 'string'
            ? file
            : {
                columns: file.columns,
                notes: file.notes,
                headerRow: file.headerRow - 1,
                rows: file.rows.map((row) => ({ ...row, number: row.number - 1 })),
                ...(file.titles && {
                  titles: file.titles.map((row) => ({ ...row, number: row.number - 1 })),
                }),
              };
        let found: unknown;
        try {
          found = readRecords(records, 'HTTP');
        } catch (error) {
          found = String(error);
        }
        // The notes of a text file name its own rows.
        expect(withoutRowNumbers(found)).toEqual(withoutRowNumbers(expected));
      }),
      { numRuns: propertyRuns(100, 2000) },
    );
  });

  test.each([
    ['no rows', [], 'HTTP is empty'],
    ['rows without fields', [{}, {}], 'HTTP contains no table'],
    // The limits are those of any sheet.
    ['a value that is too long', [{ a: 'x'.repeat(maxCellChars + 1) }], 'cell A1'],
  ])('%s', async (_, records, message) => {
    expect(await refused((async () => readRecords(records, 'HTTP'))())).toContain(message);
  });
});

function withoutRowNumbers(found: unknown): unknown {
  const { notes, ...rest } = Object(found) as { notes?: string[] };
  return notes ? { ...rest, notes: notes.map((note) => note.replace(/row \d+/i, 'row')) } : found;
}
