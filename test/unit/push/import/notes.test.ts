import { expect, it } from 'vitest';
import { fromSheet, type ImportSource } from '../../../../src/push/import/source.js';
import { textRow, workbook } from '../../sheet/support.js';
import { importingOfFile } from './support.js';

const importing = importingOfFile();

const prepare = (source: ImportSource | string) => importing.prepare(source);
const xlsx = (rows: string, after = '') => fromSheet({ bytes: workbook({ rows, after }), name: 'list.xlsx' });
const row = (number: number, hidden: boolean, ...texts: string[]) =>
  textRow(number, ...texts).replace('<row ', hidden ? '<row hidden="1" ' : '<row ');

it('changes in rows that nobody sees are named, and only those', async () => {
  const source = await xlsx(
    [
      row(1, false, 'topic_id', 'priority'),
      row(2, true, 't1', 'high'),
      row(3, true, 't2', 'default'),
      row(4, false, 't3', 'low'),
    ].join(''),
  );
  const { notes, changes } = await prepare(source);
  expect(changes).toHaveLength(2);
  expect(notes).toEqual(['Changes are also in rows that are hidden or filtered out: rows 2.']);
});

it('a cell within merged cells is a problem where a value of it would count, also with a value that nobody sees', async () => {
  const rows = [
    row(1, false, 'topic_id', 'priority', 'mine'),
    row(2, false, 't1', 'high', 'a'),
    row(3, false, 't2'),
    '<row r="4"><c r="B4" t="inlineStr"><is><t>low</t></is></c></row>',
    row(5, false, 'Later'),
    row(6, false, 't3', 'low'),
    row(7, false, 't4', 'high'),
    row(8, false, 't5', 'low'),
  ];
  const merged = ['B2:B3', 'A3:A4', 'C2:C6', 'A5:C5', 'B7:B8']
    .map((ref) => `<mergeCell ref="${ref}"/>`)
    .join('');
  const { problems, notes } = await prepare(await xlsx(rows.join(''), `<mergeCells>${merged}</mergeCells>`));
  expect(problems.map(({ row: number, column, problem }) => `${number} ${column} ${problem}`)).toEqual([
    '3 priority is part of the merged cells B2:B3, which have one value: unmerge them, and fill each cell',
    '4 topic_id is part of the merged cells A3:A4, which have one value: unmerge them, and fill each cell',
    '8 priority is part of the merged cells B7:B8, which have one value: unmerge them, and fill each cell',
  ]);
  expect(notes[0]).toContain('Merged cells (first: B2:B3)');
});
