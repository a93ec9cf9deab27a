import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import { fromRecords, fromSheet } from '../../../src/push/import/source.js';
import { plainSheets, writeResults } from '../../../src/push/result.js';
import { readSheet } from '../../../src/sheet/read.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { csv, importingOfFile } from './import/support.js';

const importing = importingOfFile();

it('the file gets a result in each row, also in combined rows and rows settled before', async () => {
  const text =
    'topic_id,priority,lifecycle_state\nt1,low,\nt1,,completed\n\nt2,default,\nt3,high,\nnope,low,\nt4,low,\nt5,low,\n';
  const source = await csv(text);
  const report = await importing.run(source, true);
  importing.settle('t1', 'applied', { remoteAfter: { priority: 'low', lifecycle_state: 'completed' } });
  importing.settle('t3', 'conflict', {
    remoteBefore: { priority: 'very_low' },
    error: 'priority is very_low',
  });
  importing.settle('t4', 'failed', { error: 'HTTP 404' });
  const write = async (rows: typeof report.rows) => {
    const out = join(emptyDir(), 'result.csv');
    await writeResults(out, importing.warehouse, [{ grid: source.grid, rows }], importing.queue.all());
    const { columns, rows: written } = await readSheet({ path: out });
    expect(columns).toEqual(['topic_id', 'title', 'result', 'reason', 'priority', 'lifecycle_state']);
    return written.map(({ number, cells }) => [number, ...cells.slice(1, 4)]);
  };
  const results = await write(report.rows);
  expect(results).toEqual([
    [2, 'Topic 1', 'applied', null],
    [3, 'Topic 1', 'applied', null],
    [5, 'Topic 2', 'unchanged', null],
    [6, 'Topic 3', 'conflict', 'priority is very_low'],
    [7, null, 'invalid', expect.stringContaining('"nope" is not a known id')],
    [8, 'Topic 4', 'failed', 'HTTP 404'],
    [9, 'Topic 5', 'queued', null],
  ]);
  // The same file, compared with the queue later, gives the same results: nothing else has to be stored of an import.
  const again = (await importing.prepare(source, true)).rows;
  expect(await write(again)).toEqual(results);
});

/** A workbook as openpyxl would show it: what is in a part, by its path. */
const partsOf = (path: string) =>
  Object.fromEntries(
    Object.entries(unzipSync(readFileSync(path))).map(([at, bytes]) => [at, strFromU8(bytes)]),
  );

it('a workbook keeps its form; another edit of an applied cell is accepted, and a person has a column "reason"', async () => {
  const bytes = Buffer.from(
    [
      'Plan for May\n\ntopic_id,Reason,Title,mine,priority,base_priority',
      't1,why not,Topic 1,a,Low,default',
      't2,,Topic 2,b,high,default',
      't3,,Topic 3,c,default,default',
    ].join('\n'),
  );
  const source = await fromSheet({ bytes, name: 'list.csv' });
  const grid = await readSheet({ bytes, name: 'list.csv' });
  const { rows } = await importing.run(source);
  expect(importing.queue.all().map(({ requestedReason }) => requestedReason)).toEqual(['why not', null]);
  importing.settle('t1', 'applied', {
    remoteBefore: { priority: 'default' },
    remoteAfter: { priority: 'low' },
  });
  importing.settle('t2', 'conflict', {
    remoteBefore: { priority: 'very_high' },
    error: 'priority is very_high',
  });
  const out = join(emptyDir(), 'result.xlsx');
  await writeResults(out, importing.warehouse, [{ grid, rows }], importing.queue.all());
  const parts = partsOf(out);
  const result = await readSheet({ path: out });
  expect(result.columns).toEqual([
    'topic_id',
    'Reason',
    'Title',
    'push_result',
    'push_reason',
    'mine',
    'priority',
    'base_priority',
  ]);
  expect(parts['xl/workbook.xml']).toMatch(/name="How to use".*name="Topics"/);
  expect(parts['xl/worksheets/sheet2.xml']).toContain('"very_low,low,default,high,very_high"');
  const notes = [...(parts['xl/comments2.xml'] ?? '').matchAll(/ref="(\w+)".*?<t [^>]*>([^<]*)</g)].map(
    (one) => one.slice(1),
  );
  expect(notes).toEqual([
    ['G4', 'Before: default'],
    ['G5', 'Now: very_high\nWhen you saw it: default'],
  ]);
  const cells = (number: number) => result.rows.find((row) => row.number === number)?.cells.slice(3);
  expect([4, 5, 6].map(cells)).toEqual([
    ['applied', null, 'a', 'low', 'low'],
    ['conflict', 'priority is very_high', 'b', 'high', 'default'],
    ['unchanged', null, 'c', 'default', 'default'],
  ]);
  expect(result.titles).toEqual([{ number: 1, cells: ['Plan for May'] }]);
  await importing.warehouse.run(`UPDATE topics SET priority = 'low' WHERE id = 't1'`);
  const edited = {
    ...result,
    rows: result.rows.map((row) =>
      row.number === 4 ? { ...row, cells: [...row.cells.slice(0, 6), 'very_low', 'low'] } : row,
    ),
  };
  const again = await importing.prepare({ ...source, grid: edited, hash: 'another' });
  expect(again.problems).toEqual([]);
  expect(again.notes).toContain('Unused columns: mine.');
  expect(again.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'conflict', 'unchanged']);
  expect(again.changes).toMatchObject([{ wanted: { priority: 'very_low' }, base: { priority: 'low' } }]);
  await importing.warehouse.run(`UPDATE topics SET priority = 'default' WHERE id = 't1'`);
});

it('rows of JSON and a list without ids come back with titles, and no changes give an empty result', async () => {
  const records = fromRecords([{ topic_id: 't6', priority: 'low' }, { topic_id: 't7' }], 'HTTP');
  const { rows } = await importing.run(records);
  importing.settle('t6', 'applied', { remoteAfter: { priority: 'low' } });
  const byTitle = await csv('Title;Priority\nTopic 8;low\n');
  const titled = await importing.run(byTitle);
  const read = async (sheets: Parameters<typeof writeResults>[2], ending: string) => {
    const out = join(emptyDir(), `result${ending}`);
    await writeResults(out, importing.warehouse, sheets, importing.queue.all());
    return readSheet({ path: out });
  };
  for (const ending of ['.xlsx', '.csv']) {
    const result = await read([{ grid: records.grid, rows }], ending);
    expect([result.columns, ...result.rows.map(({ cells }) => cells)]).toEqual([
      ['topic_id', 'title', 'result', 'reason', 'priority'],
      ['t6', 'Topic 6', 'applied', null, 'low'],
      ['t7', 'Topic 7', 'unchanged'],
    ]);
    const named = await read([{ grid: byTitle.grid, rows: titled.rows }], ending);
    expect([named.columns, named.rows[0]?.cells]).toEqual([
      ['Title', 'result', 'reason', 'Priority'],
      ['Topic 8', 'queued', null, 'low'],
    ]);
    expect((await read(plainSheets([]), ending)).rows).toEqual([]);
  }
});
