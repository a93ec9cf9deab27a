import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf, SignalhouseError, StorageError, UsageError } from '../base/errors.js';
import { cutToCell, neutralized, withoutControls } from './cells.js';
import {
  type Cell,
  type Grid,
  type GridRow,
  marksOf,
  type Separator,
  type SheetColumn,
  type SheetSpec,
  type WriteOptions,
  type WrittenCell,
} from './grid.js';
import { type TableSheet, writeWorkbook } from './write-workbook.js';

/** A table of a workbook whose rows are those of a grid, each under its own number. */
export interface GridSheet extends Omit<TableSheet, 'rows' | 'headerRow' | 'titles'> {
  readonly grid: Grid;
  /** The cells of a row, in the order of the columns. */
  readonly cells: (row: GridRow) => readonly WrittenCell[];
}

/**
 * Writes a sheet for people to edit. The ending of `out` decides the format: `.xlsx` with lists, colours, filters and
 * instructions, or `.csv` for Excel. Raises UsageError for another ending or for a file
 * that already exists (without `overwrite`), and StorageError when it cannot be written. The file appears whole or not at all.
 */
export async function writeSheet(out: string, sheet: SheetSpec, options: WriteOptions = {}): Promise<void> {
  const ending = extname(out).toLowerCase();
  if (ending === '.xlsx') return writeSheetFile(out, options, (file) => writeWorkbook(file, [sheet]));
  if (ending !== '.csv') throw wrongEnding(out, '.xlsx or .csv');
  const rows = (async function* () {
    yield sheet.columns.map(({ key }) => key);
    for await (const row of sheet.rows) yield sheet.columns.map((_, at) => row[at] ?? null);
  })();
  return writeSheetFile(out, options, (file) => writeDelimited(file, rows, { separator: ',' }));
}

/**
 * Writes a grid back, as .xlsx, .csv or .tsv: every value with its type, and every row under its own number, blank rows and
 * titles included. A text file keeps the separator that was read. Formulas become their values; fonts and colours are
 * lost, and columns are as wide as their texts. Raises what `writeSheet` raises.
 */
export function writeGrid(out: string, grid: Grid, options: WriteOptions = {}): Promise<void> {
  const columns = measuredColumns(grid);
  const cells = (row: GridRow) => columns.map((_, at) => row.cells[at] ?? null);
  return writeGrids(out, [{ name: 'Sheet', grid, columns, cells }], options);
}

/** Writes grids like `writeGrid`, in another form each: as the sheets of one workbook, or the first one as text. */
export async function writeGrids(
  out: string,
  sheets: readonly GridSheet[],
  options: WriteOptions = {},
): Promise<void> {
  const ending = extname(out).toLowerCase();
  const [first] = sheets;
  if (ending === '.xlsx') {
    const tables = sheets.map(({ grid, cells, ...sheet }): TableSheet => {
      const { headerRow, titles } = grid;
      // The header of records is row 0.
      const at = { headerRow: Math.max(1, headerRow), ...(titles && { titles }) };
      return { ...sheet, ...at, rows: withBlankRows(grid.rows, headerRow + 1, cells) };
    });
    return writeSheetFile(out, options, (file) => writeWorkbook(file, tables));
  }
  if ((ending !== '.csv' && ending !== '.tsv') || !first) throw wrongEnding(out, '.xlsx, .csv or .tsv');
  const { grid, columns, cells } = first;
  const separator = ending === '.tsv' ? '\t' : (grid.separator ?? ',');
  const header = { number: grid.headerRow, cells: columns.map(({ key }) => key) };
  const isData = new Set(grid.rows);
  const rows = withBlankRows([...(grid.titles ?? []), header, ...grid.rows], 1, (row) =>
    isData.has(row) ? cells(row) : row.cells,
  );
  return writeSheetFile(out, options, (file) =>
    writeDelimited(file, rows, { separator, numbersAsText: true }),
  );
}

/** The columns of a grid, each as wide as its texts. */
export function measuredColumns({ columns, rows }: Grid): SheetColumn[] {
  const sample = rows.slice(0, measuredRows);
  return columns.map((key, at): SheetColumn => {
    const longest = sample.reduce((most, { cells }) => Math.max(most, shownLength(cells[at] ?? null)), 0);
    return { key, type: 'text', width: Math.min(longest + 2, widest), wrap: longest + 2 > widest };
  });
}

/** A column for longer text is this wide, in characters, and the text wraps. */
const widest = 44;

/** Rows that decide how wide a column is. */
const measuredRows = 1000;

/** The characters of a cell, as a spreadsheet program shows it. */
function shownLength(cell: Cell): number {
  return cell instanceof Date ? '2026-01-01 00:00:00'.length : String(cell ?? '').length;
}

function wrongEnding(out: string, endings: string): UsageError {
  return new UsageError(`${out} must end in ${endings}`, [], { hint: 'The ending decides the format.' });
}

/** The rows, with an empty one for each number that is missing. */
function* withBlankRows(
  rows: readonly GridRow[],
  first: number,
  cells: (row: GridRow) => readonly WrittenCell[],
): Generator<readonly WrittenCell[]> {
  let next = first;
  for (const row of rows) {
    for (; next < row.number; next++) yield [];
    yield cells(row);
    next++;
  }
}

/** Large enough that a file takes few writes, small enough not to matter in memory. */
const chunkChars = 256 * 1024;

interface DelimitedOptions {
  readonly separator: Separator;
  /** Text that is a plain number is written as it is, even when it starts with a minus. */
  readonly numbersAsText?: boolean;
}

/** Writes rows so that Excel opens them without questions: UTF-8 with a byte order mark, CRLF, and no cell that is a formula. */
async function writeDelimited(
  file: FileHandle,
  rows: Iterable<readonly WrittenCell[]> | AsyncIterable<readonly WrittenCell[]>,
  options: DelimitedOptions,
): Promise<void> {
  let chunk = '\uFEFF';
  for await (const row of rows) {
    chunk += `${row.map((cell) => delimitedCell(marksOf(cell).value, options)).join(options.separator)}\r\n`;
    if (chunk.length < chunkChars) continue;
    await file.appendFile(chunk);
    chunk = '';
  }
  await file.appendFile(chunk);
}

function delimitedCell(cell: Cell, { separator, numbersAsText }: DelimitedOptions): string {
  if (cell === null) return '';
  if (cell instanceof Date) return cell.toISOString();
  if (typeof cell === 'boolean') return cell ? 'TRUE' : 'FALSE';
  if (typeof cell === 'number') return String(cell);
  const isHarmless = numbersAsText && /^-?\d+([.,]\d+)?$/.test(cell);
  const text = isHarmless ? cell : cutToCell(neutralized(withoutControls(cell)));
  const needsQuotes = text.includes(separator) || /["\r\n]|^\s|\s$/.test(text);
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Writes a sheet's file, which appears whole or not at all. Raises UsageError when `out` already exists (without
 * `overwrite`) or its folder does not, and StorageError when the disk is full or the folder cannot be written to.
 */
export async function writeSheetFile(
  out: string,
  options: WriteOptions,
  write: (file: FileHandle) => Promise<unknown>,
): Promise<void> {
  const path = resolve(out);
  if (!existsSync(dirname(path))) throw new UsageError(`the folder ${dirname(path)} does not exist`);
  refuseExisting(path, options);
  try {
    await writeAtomically(path, async (file) => {
      await write(file);
      // Collecting the rows may have taken a while.
      refuseExisting(path, options);
    });
  } catch (error) {
    throw writeError(path, error);
  }
}

/** Raises UsageError when the file is there already (without `overwrite`). */
export function refuseExisting(path: string, { overwrite }: WriteOptions): void {
  if (!overwrite && existsSync(path))
    throw new UsageError(`${path} already exists`, [], { hint: 'Name another file, or pass --force.' });
}

function writeError(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof SignalhouseError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error;
  return new StorageError(`${path} cannot be written: ${messageOf(error)}`, {
    hint: 'Check the permissions of its folder, and whether another program has the file open.',
    cause: error,
  });
}
