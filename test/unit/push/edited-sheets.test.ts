import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fromSheet } from '../../../src/push/import/source.js';
import { writeResults } from '../../../src/push/result.js';
import type { Cell } from '../../../src/sheet/grid.js';
import { readSheet } from '../../../src/sheet/read.js';
import { writeGrid } from '../../../src/sheet/write.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { importingOfFile } from './import/support.js';

const folder = join(import.meta.dirname, '../../corpus/sheets/edited');
const files = readdirSync(folder).filter((name) => name !== 'expected.json');

const importing = importingOfFile();

it('the corpus has a sheet of each program', () => {
  expect(files).toHaveLength(7);
});

it.each(
  files.flatMap((name) =>
    ['.xlsx', name.endsWith('.csv') ? '.csv' : null].flatMap((as) => (as ? [[name, as]] : [])),
  ),
)('%s is sent; its result as %s is read, edited and sent again', async (name, ending) => {
  const bytes = readFileSync(join(folder, name));
  const source = await fromSheet({ bytes, name });
  const sent = await importing.run(source);
  expect(sent.problems).toEqual([]);
  expect(sent.rows.map(({ row, outcome }) => `${row} ${outcome}`)).toEqual([
    '4 queued',
    '5 queued',
    '6 unchanged',
    '8 queued',
  ]);
  // A text file does not say what was hidden.
  const hidden = 'Changes are also in rows that are hidden or filtered out: rows 5.';
  expect(sent.notes.includes(hidden)).toBe(!name.endsWith('.csv'));

  importing.settle('t1', 'applied', {
    remoteBefore: { priority: 'default' },
    remoteAfter: { priority: 'high' },
  });
  importing.settle('t2', 'conflict', {
    remoteBefore: { priority: 'very_high' },
    error: 'priority is very_high',
  });
  importing.settle('t4', 'failed', { error: 'HTTP 500' });
  const out = join(emptyDir(), `result${ending}`);
  const grid = await readSheet({ bytes, name });
  await writeResults(out, importing.warehouse, [{ grid, rows: sent.rows }], importing.queue.all());
  const result = await readSheet({ path: out });
  expect(result).toMatchObject({
    headerRow: 3,
    titles: [{ number: 1, cells: ['Priorities for the third quarter'] }],
  });
  expect(result.columns).toEqual([
    'topic_id',
    'Title',
    'result',
    'reason',
    'mine',
    'priority',
    'archived',
    'base_priority',
    'base_archived',
  ]);
  expect(result.rows.map(({ number, cells }) => [number, ...cells.slice(0, 5)])).toEqual([
    [4, 't1', 'Topic 1', 'applied', null, 'ask Kim'],
    [5, 't2', 'Topic 2', 'conflict', 'priority is very_high', null],
    [6, 't3', 'Topic 3', 'unchanged', null, 'later'],
    [8, 't4', 'Topic 4', 'failed', 'HTTP 500', null],
  ]);

  await importing.warehouse.run(`UPDATE topics SET priority = 'high' WHERE id = 't1'`);
  const at = result.columns.indexOf('priority');
  const typed = (cells: readonly Cell[], id: string, value: Cell) =>
    cells[0] === id ? cells.map((cell, column) => (column === at ? value : cell)) : cells;
  const rows = result.rows.map((row) => ({
    ...row,
    cells: typed(typed(row.cells, 't1', 'low'), 't3', 'low'),
  }));
  const edited = join(emptyDir(), `edited${ending}`);
  await writeGrid(edited, { ...result, rows });
  const again = await importing.prepare(await fromSheet({ path: edited }));
  await importing.warehouse.run(`UPDATE topics SET priority = 'default' WHERE id = 't1'`);
  expect(again.problems).toEqual([]);
  expect(again.rows.map(({ row, outcome }) => `${row} ${outcome}`)).toEqual([
    '4 queued',
    '5 conflict',
    '6 queued',
    '8 queued',
  ]);
  // What was applied is the base of the next edit: it is no conflict with itself.
  expect(again.changes.map(({ entityId, wanted, base }) => [entityId, wanted, base])).toEqual([
    ['t1', { priority: 'low' }, { priority: 'high' }],
    ['t3', { priority: 'low' }, { priority: 'default' }],
    ['t4', { archived: true }, { archived: false, archived_reason: null }],
  ]);
});
