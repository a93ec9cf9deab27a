import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { maxFileBytes } from '../../../src/sheet/grid.js';
import { readSheet } from '../../../src/sheet/read.js';
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

test('bytes above the limit are refused as well', async () => {
  const bytes = new Uint8Array(maxFileBytes + 1);
  expect(await refused(readSheet({ bytes, name: 'standard input' }))).toContain('standard input is larger');
});

test('a file that is not there, and a folder', async () => {
  const dir = folder();
  expect(await refused(readSheet({ path: join(dir, 'no.csv') }))).toContain('does not exist');
  expect(await refused(readSheet({ path: dir }))).toContain('is a folder');
});

test('messages name the file', async () => {
  const path = join(folder(), 'picture.xlsx');
  writeFileSync(path, Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]));
  expect(await refused(readSheet({ path }))).toMatch(/^picture\.xlsx is not a spreadsheet/);
});
