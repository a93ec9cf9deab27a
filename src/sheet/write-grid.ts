import { extname } from 'node:path';
import type { Cell, Grid, GridRow } from './grid.js';
import { place } from './place.js';
import type { SheetColumn, WriteOptions } from './spec.js';
import { wrongEnding } from './write.js';
import { writeDelimited } from './write-delimited.js';
import { writeWorkbook } from './write-workbook.js';

/** A column that is added at the right of what a person wrote. */
export interface AddedColumn {
  readonly name: string;
  readonly cell: (row: GridRow) => Cell;
}

/**
 * Writes a grid again, as .xlsx, .csv or .tsv, with columns added at the right: every value with its type, and every
 * row under the number that it had, blank rows included. A column of the same name as an added one, from an earlier
 * result, is replaced by it. A text file keeps the separator that was read. Formulas are written as their values, and
 * fonts and colours are not kept. Raises as `writeSheet` does.
 */
export async function writeGrid(
  out: string,
  grid: Grid,
  added: readonly AddedColumn[],
  options: WriteOptions = {},
): Promise<void> {
  const ending = extname(out).toLowerCase();
  const names = new Set(added.map(({ name }) => name.toLowerCase()));
  const kept = grid.columns.flatMap((name, at) => (names.has(name.toLowerCase()) ? [] : [at]));
  const header = [...kept.map((at) => grid.columns[at] ?? ''), ...added.map(({ name }) => name)];
  const cellsOf = (row: GridRow) => [
    ...kept.map((at) => row.cells[at] ?? null),
    ...added.map((one) => one.cell(row)),
  ];

  if (ending === '.xlsx') {
    const columns: SheetColumn[] = header.map((key, at) => ({
      key,
      type: 'text',
      width: at < kept.length ? 18 : 24,
    }));
    const rows = blanksKept(grid.rows, grid.headerRow + 1, cellsOf);
    const sheet = { name: 'Result', columns, rows, headerRow: grid.headerRow };
    return place(out, options, (file) => writeWorkbook(file, sheet));
  }
  if (ending !== '.csv' && ending !== '.tsv') throw wrongEnding(out, '.xlsx, .csv or .tsv');
  const separator = ending === '.tsv' ? '\t' : (grid.separator ?? ',');
  const titled = [{ number: grid.headerRow, cells: header }, ...grid.rows];
  const rows = blanksKept(titled, 1, (row) => (row.number === grid.headerRow ? row.cells : cellsOf(row)));
  return place(out, options, (file) => writeDelimited(file, rows, { separator, numbersAsText: true }));
}

/** The rows, with an empty one for each number that is missing. */
function* blanksKept(
  rows: readonly GridRow[],
  first: number,
  cells: (row: GridRow) => readonly Cell[],
): Generator<readonly Cell[]> {
  let next = first;
  for (const row of rows) {
    for (; next < row.number; next++) yield [];
    yield cells(row);
    next++;
  }
}
