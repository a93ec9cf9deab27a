import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { writeAtomically } from '../base/atomic-file.js';
import { messageOf, SignalhouseError, StorageError, UsageError } from '../base/errors.js';
import { cutToCell, neutralized, withoutControls } from './cells.js';
import type { Cell, Grid, GridRow, Separator, SheetColumn, SheetSpec, WriteOptions } from './grid.js';
import { writeWorkbook } from './write-workbook.js';

/** A column that is added to the right of a person's own. */
export interface AddedColumn {
  readonly name: string;
  readonly cell: (row: GridRow) => Cell;
}

/**
 * Writes a sheet for people to edit. The ending of `out` decides the format: `.xlsx` with lists, colours, filters and
 * instructions, or `.csv` for Excel. Raises UsageError for another ending or for a file that already exists (without `overwrite`), and
 * StorageError when it cannot be written. The file appears whole or not at all.
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
 * Writes a grid back, as .xlsx, .csv or .tsv, with columns added at the right: every value with its type, and every row
 * under its own number, blank rows included. An added column replaces a column of the same name, from an earlier result.
 * A text file keeps the separator that was read. Formulas become their values; fonts and colours are lost, and columns
 * are as wide as their texts, those that `hidden` names excepted. Raises what `writeSheet` raises.
 */
export async function writeGrid(
  out: string,
  grid: Grid,
  added: readonly AddedColumn[],
  options: WriteOptions & { readonly hidden?: (column: string) => boolean } = {},
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
    // The header of records is row 0.
    const headerRow = Math.max(1, grid.headerRow);
    const sample = grid.rows.slice(0, measuredRows).map(cellsOf);
    const columns = header.map((key, at): SheetColumn => {
      const longest = sample.reduce((most, row) => Math.max(most, shownLength(row[at] ?? null)), 0);
      return {
        ...{ key, type: 'text', width: Math.min(longest + 2, widest), wrap: longest + 2 > widest },
        hidden: options.hidden?.(key) ?? false,
      };
    });
    const rows = withBlankRows(grid.rows, grid.headerRow + 1, cellsOf);
    const sheet = { name: 'Result', columns, rows, headerRow };
    return writeSheetFile(out, options, (file) => writeWorkbook(file, [sheet]));
  }
  if (ending !== '.csv' && ending !== '.tsv') throw wrongEnding(out, '.xlsx, .csv or .tsv');
  const separator = ending === '.tsv' ? '\t' : (grid.separator ?? ',');
  const withHeader = [{ number: grid.headerRow, cells: header }, ...grid.rows];
  const rows = withBlankRows(withHeader, 1, (row) =>
    row.number === grid.headerRow ? row.cells : cellsOf(row),
  );
  return writeSheetFile(out, options, (file) =>
    writeDelimited(file, rows, { separator, numbersAsText: true }),
  );
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
  cells: (row: GridRow) => readonly Cell[],
): Generator<readonly Cell[]> {
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
  rows: Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>,
  options: DelimitedOptions,
): Promise<void> {
  let chunk = '\uFEFF';
  for await (const row of rows) {
    chunk += `${row.map((cell) => delimitedCell(cell, options)).join(options.separator)}\r\n`;
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

function refuseExisting(path: string, { overwrite }: WriteOptions): void {
  if (!overwrite && existsSync(path))
    throw new UsageError(`${path} already exists`, [], { hint: 'Name another file, or pass --force.' });
}

function writeError(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof SignalhouseError || typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new StorageError(
    isFull ? `the disk is full: ${path} was not written` : `${path} cannot be written: ${messageOf(error)}`,
    {
      hint: isFull
        ? 'Free some space and run the command again.'
        : 'Check the permissions of its folder, and whether another program has the file open.',
      cause: error,
    },
  );
}
