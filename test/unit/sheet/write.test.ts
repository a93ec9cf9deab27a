import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { strFromU8, unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import {
  type Cell,
  type GridRow,
  maxCellChars,
  type SheetColumn,
  type SheetSpec,
} from '../../../src/sheet/grid.js';
import { readSheet } from '../../../src/sheet/read.js';
import { writeGrid, writeGrids, writeSheet, writeSheetFile } from '../../../src/sheet/write.js';
import { type TableSheet, type WrittenTable, writeWorkbook } from '../../../src/sheet/write-workbook.js';
import { folder, inline, readBytes, refused, table, textRow, workbook } from './support.js';

const long = Array.from({ length: 40 }, (_, at) => `a rather long choice ${at}`);
const columns: readonly SheetColumn[] = [
  { key: 'topic_id', type: 'text', width: 12 },
  { key: 'title', type: 'text', wrap: true },
  { key: 'priority', type: 'text', allowed: ['high', 'low & <slow>'], edited: { base: 'base_priority' } },
  { key: 'archived', type: 'boolean', edited: { base: 'base_archived' } },
  { key: 'reason', type: 'text', allowed: long },
  { key: 'companies', type: 'number' },
  { key: 'base_priority', type: 'text', hidden: true },
  { key: 'base_archived', type: 'boolean', hidden: true },
  { key: 'base_updated_at', type: 'time', hidden: true },
];
const rows: Cell[][] = [
  ['t1', '=SUM(A1)', 'high', false, null, 3, 'low', false, new Date('2026-03-04T05:06:07.891Z')],
  ['t2', "'-5 °C & <b>\r\n\t_x0041_ \uFFFD 𝄞", 'high', true, long[1] ?? '', 0.1, 'high', true],
];
const spec: SheetSpec = {
  name: 'Topics',
  columns,
  rows,
  frozenColumns: 2,
  howTo: ['How to use', 'Edit = save & push.'],
};
const keys = columns.map(({ key }) => key);

function parts(path: string): Record<string, string> {
  const files = unzipSync(readFileSync(path));
  return Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, strFromU8(bytes)]));
}

async function written(ending: string, sheet: SheetSpec = spec): Promise<string> {
  const out = join(folder(), `sheet${ending}`);
  await writeSheet(out, sheet);
  return out;
}

describe('a workbook that we write', () => {
  test('reads back as it was, with its types', async () => {
    const grid = await readSheet({ path: await written('.xlsx') });
    expect(table(grid)).toEqual([keys, ...rows]);
    expect(grid.notes).toEqual([]);
  });

  test('offers what is allowed, unless Excel would not take so long a list', async () => {
    const files = parts(await written('.xlsx'));
    const lists = [
      ...(files['xl/worksheets/sheet2.xml'] ?? '').matchAll(/sqref="(\S+)"><formula1>(.*?)<\/formula1>/g),
    ];
    expect(lists.map(([, cells, formula]) => [cells, formula])).toEqual([
      ['C2:C3', '"high,low &amp; &lt;slow&gt;"'],
      ['D2:D3', '"TRUE,FALSE"'],
    ]);
  });
});

describe('a CSV file that we write', () => {
  test('is what Excel takes: a mark, CRLF, and no formulas', async () => {
    const bytes = readFileSync(await written('.csv'), 'utf8');
    expect(bytes.split('\r\n').slice(0, 2)).toEqual([
      `\uFEFF${keys.join(',')}`,
      "t1,'=SUM(A1),high,FALSE,,3,low,FALSE,2026-03-04T05:06:07.891Z",
    ]);
    expect(bytes.endsWith('\r\n')).toBe(true);
  });
});

test.each(['.csv', '.xlsx'])('any text comes back from %s as it was', async (ending) => {
  const sign = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom(...`'=+-@,;"\t\r\n _x0041a`) }),
  );
  const shown = sign.filter((text) => text.trim() !== '' && !/[^\P{Cc}\t\n\r]|\p{Cs}|\p{Cn}/u.test(text));
  const dir = folder();
  await fc.assert(
    fc.asyncProperty(fc.array(shown, { minLength: 1, maxLength: 50 }), async (texts) => {
      const out = join(dir, `any${ending}`);
      const one = {
        name: 'Topics',
        columns: ['k', 'more'].map((key) => ({ key, type: 'text' as const })),
        rows: texts.map((text) => [text]),
      };
      await writeSheet(out, one, { overwrite: true });
      expect((await readSheet({ path: out })).rows.map(({ cells }) => cells[0])).toEqual(texts);
    }),
    { numRuns: 15 },
  );
});

test.each(['.csv', '.xlsx'])('%s: too long text is cut, and control characters go', async (ending) => {
  const text = `${'x'.repeat(maxCellChars - 2)}😀 and more`;
  const one: SheetSpec = {
    name: 'Topics',
    columns: [{ key: 'k', type: 'text' }],
    rows: [[text], ['a\u0001\0b\uD800']],
  };
  const grid = await readSheet({ path: await written(ending, one) });
  expect(grid.rows.map(({ cells }) => cells[0])).toEqual([`${'x'.repeat(maxCellChars - 2)}…`, 'ab']);
});

describe('the file', () => {
  test('is not replaced without overwrite', async () => {
    const out = join(folder(), 'a.csv');
    writeFileSync(out, 'mine');
    expect(await refused(writeSheet(out, spec))).toMatch(/already exists.*--force/);
    expect(readFileSync(out, 'utf8')).toBe('mine');
    await writeSheet(out, spec, { overwrite: true });
    expect(readFileSync(out, 'utf8')).toContain('topic_id');
  });

  test('another ending is refused', async () => {
    expect(await refused(writeSheet(join(folder(), 'a.ods'), spec))).toContain('must end in .xlsx or .csv');
  });
});

describe('a workbook for programs', () => {
  async function workbookOf(...tables: TableSheet[]) {
    const out = join(folder(), 'tables.xlsx');
    let written: readonly WrittenTable[] = [];
    await writeSheetFile(out, {}, async (file) => {
      written = await writeWorkbook(file, tables);
    });
    return { files: parts(out), written };
  }
  const one = (rows: TableSheet['rows'], more: Partial<TableSheet> = {}): TableSheet => ({
    name: 'one',
    columns: [{ key: '=key', type: 'text' }],
    rows,
    exactText: true,
    ...more,
  });

  test('has text exactly as it is, never as a formula, and counts what was cut', async () => {
    const { files, written } = await workbookOf(
      one([["'=1"], ['=1+1'], ['x'.repeat(maxCellChars + 1)]]),
      one([], { name: "it's" }),
    );
    expect(written).toEqual([
      { rows: 3, cutCells: 1 },
      { rows: 0, cutCells: 0 },
    ]);
    const sheet = files['xl/worksheets/sheet1.xml'] ?? '';
    expect(sheet).not.toContain('<f>');
    expect([...sheet.matchAll(/<t>(.{1,10}?)</g)].map(([, text]) => text)).toEqual(['=key', "'=1", '=1+1']);
    expect(files['xl/workbook.xml']).toContain(`localSheetId="1">'it''s'!$1:$1<`);
  });

  test('refuses more columns than a sheet can have', async () => {
    const columns = Array.from({ length: 16_385 }, (_, at): SheetColumn => ({ key: `c${at}`, type: 'text' }));
    expect(await refused(workbookOf(one([], { columns })))).toContain('more than 16,384 columns');
  });

  test('has dates that a spreadsheet program counts, and others as text', async () => {
    const days = ['1899-12-31', '1900-02-28', '1900-03-01', '9999-12-31'].map((day) => [new Date(day)]);
    const { files } = await workbookOf(one(days, { columns: [{ key: 'day', type: 'date' }] }));
    const cells = [...(files['xl/worksheets/sheet1.xml'] ?? '').matchAll(/<(?:v|t)>([^<]*)</g)];
    expect(cells.map(([, text]) => text)).toEqual([
      'day',
      '1899-12-31T00:00:00.000Z',
      '1900-02-28T00:00:00.000Z',
      '61',
      '2958465',
    ]);
  });
});

describe('a grid written back', () => {
  test('csv: own cells, titles, numbers of rows and separator stay; marks are left out', async () => {
    const out = join(folder(), 'mine.result.csv');
    const grid = await readBytes("\uFEFF\r\nid; note ;change\r\n\r\nt1;'high;-5\r\nt2;=1+1;-5,3\r\n");
    const columns = [...grid.columns, 'result'].map((key) => ({ key, type: 'text' as const }));
    const titles = [{ number: 1, cells: ['My plan'] }];
    const cells = ({ cells: own }: GridRow) => [
      ...own,
      { value: '=evil', tone: 'done', note: 'no' } as const,
    ];
    await writeGrids(out, [{ name: 'Topics', grid: { ...grid, titles }, columns, cells }]);
    expect(readFileSync(out, 'utf8').split('\r\n')).toEqual([
      '\uFEFFMy plan',
      'id;note;change;result',
      '',
      "t1;'high;-5;'=evil",
      "t2;'=1+1;-5,3;'=evil",
      '',
    ]);
    expect((await readSheet({ path: out })).rows[1]).toEqual({
      number: 5,
      cells: ['t2', '=1+1', '-5,3', '=evil'],
    });
  });

  test('xlsx: with the types of the cells', async () => {
    const out = join(folder(), 'mine.xlsx');
    const rows = `${textRow(2, 'id', 'n', 'b', 'd', 't')}<row r="4">${inline('A4', 't1')}<c r="B4"><v>-1.5</v></c>
      <c r="C4" t="b"><v>0</v></c><c r="D4" s="1"><v>46000</v></c><c r="E4" s="1"><v>46000.43090277778</v></c></row>`;
    const grid = await readBytes(workbook({ rows, formats: ['yyyy-mm-dd hh:mm'] }));
    await writeGrid(out, grid);
    const again = await readSheet({ path: out });
    expect(again.headerRow).toBe(2);
    expect(again.rows).toEqual([{ number: 4, cells: grid.rows[0]?.cells }]);
    expect(again.rows[0]?.cells.slice(1, 5)).toEqual([
      -1.5,
      false,
      new Date('2025-12-09'),
      new Date('2025-12-09T10:20:30Z'),
    ]);
  });

  test('another ending is refused', async () => {
    expect(await refused(writeGrid(join(folder(), 'a.xls'), await readBytes('a\n1')))).toContain('.tsv');
  });
});
