import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSheet } from '../../../src/sheet/read.js';
import { writeGrid } from '../../../src/sheet/write-grid.js';
import { folder, inline, readBytes, refused, textRow, workbook } from './support.js';

const added = [
  { name: 'result', cell: ({ number }: { number: number }) => (number === 4 ? 'applied' : 'conflict') },
  { name: 'error', cell: () => null },
  { name: 'remote_value', cell: () => '=evil' },
];

describe('a grid written again', () => {
  test('csv: own cells, numbers of rows and separator stay; columns stand at the right', async () => {
    const out = join(folder(), 'mine.result.csv');
    const grid = await readBytes("\uFEFF\r\nid; note ;change\r\n\r\nt1;'high;-5\r\nt2;=1+1;-5,3\r\n");
    await writeGrid(out, grid, added);
    expect(readFileSync(out, 'utf8').split('\r\n')).toEqual([
      '\uFEFF',
      'id;note;change;result;error;remote_value',
      '',
      "t1;'high;-5;applied;;'=evil",
      "t2;'=1+1;-5,3;conflict;;'=evil",
      '',
    ]);
    expect((await readSheet({ path: out })).rows[1]).toEqual({
      number: 5,
      cells: ['t2', '=1+1', '-5,3', 'conflict', null, '=evil'],
    });
  });

  test('tsv', async () => {
    const out = join(folder(), 'mine.tsv');
    await writeGrid(out, await readBytes('a,b\n"x\ty",2\n'), added.slice(1));
    expect(readFileSync(out, 'utf8')).toBe('\uFEFFa\tb\terror\tremote_value\r\n"x\ty"\t2\t\t\'=evil\r\n');
  });

  test('xlsx: with the types of the cells', async () => {
    const out = join(folder(), 'mine.xlsx');
    const rows = `${textRow(2, 'id', 'n', 'b', 'd', 't')}<row r="4">${inline('A4', 't1')}<c r="B4"><v>-1.5</v></c>
      <c r="C4" t="b"><v>0</v></c><c r="D4" s="1"><v>46000</v></c><c r="E4" s="1"><v>46000.43090277778</v></c></row>`;
    const grid = await readBytes(workbook({ rows, formats: ['yyyy-mm-dd hh:mm'] }));
    await writeGrid(out, grid, added);
    const again = await readSheet({ path: out });
    expect(again.headerRow).toBe(2);
    expect(again.rows).toEqual([
      { number: 4, cells: [...(grid.rows[0]?.cells ?? []), 'applied', null, '=evil'] },
    ]);
    expect(again.rows[0]?.cells.slice(1, 5)).toEqual([
      -1.5,
      false,
      new Date('2025-12-09'),
      new Date('2025-12-09T10:20:30Z'),
    ]);
  });

  test('a column without a name keeps its place', async () => {
    const out = join(folder(), 'mine.xlsx');
    await writeGrid(out, await readBytes('a,,c\n1,2,3\n'), added.slice(1, 2));
    expect(await readSheet({ path: out })).toMatchObject({
      columns: ['a', '', 'c', 'error'],
      rows: [{ number: 2, cells: ['1', '2', '3'] }],
    });
  });

  test('columns of an earlier result are replaced', async () => {
    const out = join(folder(), 'mine.csv');
    writeFileSync(out, 'id,Result,x,error\nt1,conflict,1,gone\n');
    await writeGrid(out, await readSheet({ path: out }), added, { overwrite: true });
    expect(readFileSync(out, 'utf8').split('\r\n')[1]).toBe("t1,1,conflict,,'=evil");
  });

  test('another ending is refused', async () => {
    expect(await refused(writeGrid(join(folder(), 'a.xls'), await readBytes('a\n1'), []))).toContain('.tsv');
  });
});
