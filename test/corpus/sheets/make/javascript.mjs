// Writes the corpus with SheetJS, exceljs and write-excel-file. Run: cd make && npm install && node javascript.mjs

import * as fs from 'node:fs';
import { join } from 'node:path';
import * as sheetjs from '@e965/xlsx';
import exceljs from 'exceljs';
import writeExcelFile from 'write-excel-file/node';

sheetjs.set_fs(fs);
const root = join(import.meta.dirname, '..');
const expected = (name) => JSON.parse(fs.readFileSync(join(root, name, 'expected.json'), 'utf8'));
const file = (name, writer) => join(root, name, writer);

/** A cell of expected.json with a Date for a date, as its wall clock in UTC. */
const value = (cell) =>
  cell !== null && typeof cell === 'object'
    ? new Date(cell.date.includes('T') ? `${cell.date}Z` : cell.date)
    : cell;
const rowsOf = (name) =>
  expected(name).rows.map(([number, ...cells]) => ({ number, cells: cells.map(value) }));
const letters = 'ABCDEFGHIJ';
const formulas = (n) => [`B${n}*2`, `A${n}&"!"`, `B${n}>1`, '1/0', `DATE(2026,3,4)+B${n}`];

// SheetJS
function sheetjsSheet(name) {
  const sheet = { '!ref': 'A1:J9' };
  for (const [at, text] of expected(name).columns.entries()) sheet[`${letters[at]}1`] = { t: 's', v: text };
  for (const { number, cells } of rowsOf(name)) {
    for (const [at, cell] of cells.entries()) {
      const address = `${letters[at]}${number}`;
      if (cell instanceof Date) sheet[address] = { t: 'd', v: cell, z: 'yyyy-mm-dd hh:mm:ss' };
      else if (typeof cell === 'string' && cell.startsWith('#')) sheet[address] = { t: 'e', v: 7, w: cell };
      else if (cell !== null)
        sheet[address] = { t: { string: 's', number: 'n', boolean: 'b' }[typeof cell], v: cell };
    }
  }
  return sheet;
}
function sheetjsBook(sheet) {
  const book = sheetjs.utils.book_new();
  sheetjs.utils.book_append_sheet(book, sheet, 'Backlog');
  return book;
}
const topics = sheetjsBook(sheetjsSheet('topics'));
sheetjs.writeFile(topics, file('topics', 'sheetjs.xlsx'));
sheetjs.writeFile(topics, file('topics', 'sheetjs-shared-strings.xlsx'), {
  bookSST: true,
  compression: true,
});
sheetjs.writeFile(topics, file('topics', 'sheetjs.ods'), { bookType: 'ods' });
const calculated = sheetjsSheet('formulas');
for (const number of [2, 3])
  for (const [at, formula] of formulas(number).entries())
    calculated[`${letters[at + 2]}${number}`].f = formula;
sheetjs.writeFile(sheetjsBook(calculated), file('formulas', 'sheetjs.xlsx'));

// exceljs
async function excelJs(name, writer, change) {
  const book = new exceljs.Workbook();
  const sheet = book.addWorksheet('Backlog');
  sheet.getRow(1).values = expected(name).columns;
  for (const { number, cells } of rowsOf(name)) {
    for (const [at, cell] of cells.entries()) {
      const target = sheet.getCell(number, at + 1);
      const isError = typeof cell === 'string' && cell.startsWith('#');
      if (cell !== null) target.value = isError ? { error: cell } : cell;
      if (cell instanceof Date) target.numFmt = 'dd.mm.yyyy hh:mm:ss';
    }
  }
  change?.(sheet);
  await book.xlsx.writeFile(file(name, writer));
}
await excelJs('topics', 'exceljs.xlsx');
await excelJs('formulas', 'exceljs.xlsx', (sheet) => {
  for (const number of [2, 3])
    for (const [at, formula] of formulas(number).entries()) {
      const cell = sheet.getCell(number, at + 3);
      cell.value = { formula, result: cell.value };
    }
});
await excelJs('formulas-without-results', 'exceljs.xlsx', (sheet) => {
  for (const number of [2, 3])
    for (const [at, formula] of formulas(number).slice(0, 2).entries())
      sheet.getCell(number, at + 3).value = { formula };
});
{
  const book = new exceljs.Workbook();
  book.addWorksheet('How to use').getCell('A1').value = 'Edit the plan.';
  book.addWorksheet('Secret', { state: 'veryHidden' }).getCell('A1').value = 'topic_id';
  const sheet = book.addWorksheet('Plan', { views: [{ state: 'frozen', ySplit: 3, xSplit: 1 }] });
  const { columns } = expected('plan');
  const rows = rowsOf('plan');
  sheet.getCell('A1').value = {
    richText: [{ text: 'Priorities ' }, { font: { bold: true }, text: 'of autumn' }],
  };
  sheet.mergeCells('A1:D1');
  sheet.addTable({
    name: 'Plan',
    ref: 'A3',
    headerRow: true,
    columns: columns.map((name) => ({ name, filterButton: true })),
    rows: rows.map(({ cells }) => cells),
  });
  for (const { number } of rows) {
    sheet.getCell(number, 3).numFmt = 'ddd, d. mmm yyyy';
    sheet.getCell(number, 4).numFmt = '0%';
    sheet.getCell(number, 5).fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FFFFFF00' } };
  }
  sheet.mergeCells('B5:B6');
  sheet.getRow(5).hidden = true;
  book.addWorksheet('Archive').getCell('A1').value = 'topic_id';
  await book.xlsx.writeFile(file('plan', 'exceljs.xlsx'));
}

// write-excel-file
const byNumber = new Map(rowsOf('topics').map(({ number, cells }) => [number, cells]));
const types = { string: String, number: Number, boolean: Boolean, object: Date };
await writeExcelFile(
  [
    expected('topics').columns.map((text) => ({ value: text, fontWeight: 'bold' })),
    ...[2, 3, 4, 5, 6, 7].map((number) =>
      (byNumber.get(number) ?? []).map((cell) =>
        // The library looks texts up in a plain object, so that `constructor` would make a corrupt file.
        cell === null
          ? null
          : {
              value: cell === 'constructor' ? '_x0063_onstructor' : cell,
              type: types[typeof cell],
              ...(cell instanceof Date && { format: 'yyyy-mm-dd hh:mm:ss' }),
            },
      ),
    ),
  ],
  {},
).toFile(file('topics', 'write-excel-file.xlsx'));
