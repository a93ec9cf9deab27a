import { UsageError } from '../base/errors.js';
import { firstOf } from '../base/units.js';

/**
 * The cell of a formula that was saved without its result, as many libraries do. It is a text, like the errors of
 * formulas, so that a result file keeps it; an empty cell would mean something else.
 */
export const noResult = '(formula without a stored value)';

/** One value of a sheet. A date has no zone in a spreadsheet: its wall clock is given as if it were UTC. */
export type Cell = string | number | boolean | Date | null;

export interface GridRow {
  /** As the spreadsheet program shows it: blank rows count, the first row is 1. */
  readonly number: number;
  /** In the order of the columns; empty cells at the end are left out. */
  readonly cells: readonly Cell[];
  /** Not visible in the spreadsheet program: it is hidden, or a filter leaves it out. */
  readonly hidden?: true;
}

/** A sheet as it was read. Text is exactly what is in the cell, neither trimmed nor interpreted. */
export interface Grid {
  /** The header as written, trimmed; '' for a column without one. No name occurs twice, whatever its case. */
  readonly columns: readonly string[];
  readonly headerRow: number;
  /** Every row that is not blank, in order. */
  readonly rows: readonly GridRow[];
  /** The rows above the header that are titles of the table. */
  readonly titles?: readonly GridRow[];
  /** Merged cells below the header, those of a single row excepted: only the top left one has a value. */
  readonly merged?: readonly Range[];
  /** What the user should know about how the file was read, as sentences. */
  readonly notes: readonly string[];
  /** What separates the cells, in a text file. */
  readonly separator?: Separator;
  /** The person who saved the workbook last, if it names one. */
  readonly lastEditor?: string;
  /** The sheet of a workbook that was read, and the visible ones that were not. */
  readonly sheets?: SheetChoice;
}

/** The sheet that was read, where a workbook has others. */
export interface SheetChoice {
  readonly read: string;
  readonly others: readonly string[];
}

/** A sentence that names the other sheets of a workbook; '' when there are none. */
export function otherSheetsText(sheets: SheetChoice | undefined): string {
  if (!sheets) return '';
  return ` Of the workbook, the sheet "${sheets.read}" was read; --sheet chooses another: ${sheetNames(sheets.others.map((name) => ({ name, hidden: false })))}.`;
}

const maxNames = 20;

export function sheetNames(sheets: readonly { readonly name: string; readonly hidden: boolean }[]): string {
  const names = sheets.map(({ name, hidden }) => `"${name}"${hidden ? ' (hidden)' : ''}`);
  return firstOf(names, maxNames);
}

export type Separator = ',' | ';' | '\t' | '|';

// The limits of a sheet. They keep memory bounded, whatever program wrote the file.

/** Bytes of the file itself. 200,000 topics with titles and summaries are smaller. */
export const maxFileBytes = 50 * 1024 * 1024;

/** Bytes of an unpacked workbook (a zip), counted while it is unpacked: the size that the zip declares is not trusted. */
export const maxInflatedBytes = 250 * 1024 * 1024;

/** Rows that are not blank, without the header. */
export const maxRows = 200_000;

/** Columns up to the last one that is not blank. */
export const maxColumns = 500;

/** Cells up to the last one that is not blank in each row, over all rows. */
export const maxCells = 5_000_000;

/** Characters of one cell, Excel's own limit. Longer text is refused when read, and cut when written. */
export const maxCellChars = 32_767;

/** The last row that a spreadsheet program can show; blank rows count. */
export const lastRowNumber = 1_048_576;

/** How many columns a spreadsheet program can show: up to XFD. */
export const lastColumn = 16_384;

/** The error for a file that cannot be used: `<name> <what>`, and what to do about it. */
export function sheetError(name: string, what: string, hint: string, cause?: unknown): UsageError {
  return new UsageError(`${name} ${what}`, [], { hint, cause });
}

/** What a file without a table needs. */
export const headerHint = 'Add a row of column names, and rows under it.';

/** How a file of another format becomes a sheet that can be read. */
export const saveAsHint = 'Open it in a spreadsheet program and save it as .xlsx or .csv.';

const smallerFile = 'Split the file, or delete what you do not need, and try again.';

/** Collects rows as they are read, enforces the limits, and builds the grid. */
export class GridBuilder {
  #rows: (GridRow & { readonly cells: Cell[] })[] = [];
  readonly #notes: string[] = [];
  #cells = 0;

  constructor(
    readonly name: string,
    readonly sheets?: SheetChoice,
  ) {}

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  /** Adds the next row and keeps its array. Raises UsageError above a limit. */
  add(number: number, cells: Cell[], hidden = false): void {
    if (number > lastRowNumber) throw tooMany(this.name, 'rows', lastRowNumber);
    let width = cells.length;
    while (width > 0 && blank(cells[width - 1])) width--;
    if (width === 0) return;
    cells.length = width;
    this.#cells += width;
    if (width > maxColumns) throw tooMany(this.name, 'columns', maxColumns);
    if (this.#rows.length > maxRows) throw tooMany(this.name, 'rows', maxRows);
    if (this.#cells > maxCells) throw tooMany(this.name, 'cells', maxCells);
    for (const [column, cell] of cells.entries()) {
      if (typeof cell === 'string' && cell.length > maxCellChars) {
        const what = `has ${cell.length.toLocaleString('en-US')} characters in cell ${cellAddress(column, number)}`;
        const hint = `A cell can have ${maxCellChars.toLocaleString('en-US')}. Is a quote (") missing before it?`;
        throw sheetError(this.name, what, hint);
      }
    }
    this.#rows.push({ number, cells, ...(hidden && { hidden }) });
  }

  /** The grid. Its header is the first row that is neither blank nor a title. */
  grid(merged: readonly Range[] = [], separator?: Separator): Grid {
    this.#emptyCovered(merged);
    const start = this.#titles(merged);
    const header = this.#rows[start];
    if (!header) {
      throw sheetError(this.name, 'contains no table', `${headerHint}${otherSheetsText(this.sheets)}`);
    }
    const below = this.#mergedBelow(header.number, merged);
    const columns = header.cells.map((cell) => named(cell));
    const rows = this.#rows.slice(start + 1);
    const stray = rows.find(({ cells }) => cells.length > columns.length);
    for (const { cells } of rows) while (columns.length < cells.length) columns.push('');
    if (stray) {
      this.note(
        `Cells to the right of the header (first in row ${stray.number}) belong to no column and were ignored.`,
      );
    }
    this.#refuseTwice(columns);
    return {
      columns,
      headerRow: header.number,
      rows,
      ...(below.length > 0 && { merged: below }),
      ...(start > 0 && { titles: this.#rows.slice(0, start) }),
      notes: this.#notes,
      ...(separator !== undefined && { separator }),
      ...(this.sheets && { sheets: this.sheets }),
    };
  }

  /** Empties the cells under merged ones, which are not visible: LibreOffice keeps what they had before. */
  #emptyCovered(merged: readonly Range[]): void {
    if (merged.length === 0) return;
    for (const { number, cells } of this.#rows)
      for (const { left, top, right, bottom } of merged)
        if (top <= number && number <= bottom) cells.fill(null, number === top ? left + 1 : left, right + 1);
    this.#rows = this.#rows.filter(({ cells }) => !cells.every(blank));
  }

  /** How many rows at the top are titles: a single value each, above a row with more than one. */
  #titles(merged: readonly Range[]): number {
    const count = this.#rows
      .slice(0, maxTitles + 1)
      .findIndex(({ cells }) => cells.filter((cell) => !blank(cell)).length > 1);
    for (const { number, cells } of this.#rows.slice(0, Math.max(0, count))) {
      const left = cells.length - 1;
      const over = merged.find((one) => one.top === number && one.left === left && one.right > left);
      const where = over ? ` (merged cells ${over.text})` : '';
      this.note(`Row ${number} is a title${where}, not the header, and was ignored.`);
    }
    return Math.max(0, count);
  }

  /** The merged cells of several rows below the header. Raises UsageError for merged cells in the header. */
  #mergedBelow(headerRow: number, merged: readonly Range[]): Range[] {
    const over = merged.filter(({ top, bottom }) => top <= headerRow && headerRow <= bottom);
    if (over.length > 0) {
      const cells = over.slice(0, 5).map(({ text }) => text);
      throw sheetError(
        this.name,
        `has merged cells in its header row ${headerRow} (${cells.join(', ')})`,
        'Unmerge them: each column needs its own name, in a single row.',
      );
    }
    const below = merged.filter(({ top }) => top > headerRow);
    const [first] = below;
    if (first) {
      this.note(
        `Merged cells (first: ${first.text}) have a value only in their top left cell; the others were read as empty.`,
      );
    }
    return below.filter(({ top, bottom }) => bottom > top);
  }

  #refuseTwice(columns: readonly string[]): void {
    const seen = new Map<string, number>();
    for (const [column, name] of columns.entries()) {
      const key = name.toLowerCase();
      const before = seen.get(key);
      if (name !== '' && before !== undefined) {
        throw sheetError(
          this.name,
          `has two columns named "${name}" (${columnLetters(before)} and ${columnLetters(column)})`,
          'Rename or delete one of them.',
        );
      }
      seen.set(key, column);
    }
  }
}

/** More rows with a single value than this are no titles. */
const maxTitles = 5;

export function tooMany(name: string, what: 'rows' | 'columns' | 'cells', limit: number): Error {
  return sheetError(name, `has more than ${limit.toLocaleString('en-US')} ${what}`, smallerFile);
}

function blank(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '');
}

function named(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString();
  // The user is told where a name is missing when the column is needed.
  if (cell === noResult) return '';
  return cell === null
    ? ''
    : String(cell)
        .replace(/^\uFEFF/, '')
        .trim();
}

/** The sheet of a workbook with the instructions for the other one; never read as data. */
export const howToSheet = 'How to use';

export interface SheetColumn {
  /** The header, and the name under which other columns refer to it. */
  readonly key: string;
  /** In characters; default 14, and never less than the header and its filter button need. */
  readonly width?: number;
  readonly wrap?: boolean;
  /** How a workbook shows its cells; in a CSV file a time is ISO 8601 in UTC, and a boolean TRUE or FALSE. */
  readonly type: 'text' | 'number' | 'count' | 'boolean' | 'time' | 'date';
  /** The only allowed values; a workbook offers them as a list and refuses others. */
  readonly allowed?: readonly string[];
  /** For a column to edit: a workbook marks the cells that differ from those of column `base`, where there is one. */
  readonly edited?: { readonly base?: string | undefined };
  /** Small and pale: for programs, not for people. */
  readonly faint?: boolean;
  /** Not shown in a workbook until a person unhides it. */
  readonly hidden?: boolean;
}

/** The result of a cell's change, as a colour. */
export type Tone = 'done' | 'open' | 'conflict' | 'wrong';

/** A cell with a colour, and with a note that a spreadsheet program shows beside it. A text file has only its value. */
export interface MarkedCell {
  readonly value: Cell;
  readonly tone?: Tone | undefined;
  readonly note?: string | undefined;
}

export type WrittenCell = Cell | MarkedCell;

/** The value of a cell to write, and its marks. */
export function marksOf(cell: WrittenCell): MarkedCell {
  return typeof cell === 'object' && cell !== null && !(cell instanceof Date) ? cell : { value: cell };
}

export interface SheetSpec {
  /** The name of the sheet within a workbook; at most 31 characters. */
  readonly name: string;
  /** When one of them is to be edited, a workbook colours those, and all others are grey. */
  readonly columns: readonly SheetColumn[];
  /** Cells in the order of the columns; missing ones at the end are empty. */
  readonly rows: Iterable<readonly WrittenCell[]> | AsyncIterable<readonly WrittenCell[]>;
  /** How many columns at the left stay in view when a workbook is scrolled. */
  readonly frozenColumns?: number;
  /** Paragraphs of a sheet "How to use" in front of the table; the first is its title. A CSV file has none. */
  readonly howTo?: readonly string[];
}

export interface WriteOptions {
  readonly overwrite?: boolean;
}

/** The letters of a column: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

/** `B7` for column 1 in row 7. */
export function cellAddress(column: number, row: number): string {
  return `${columnLetters(column)}${row}`;
}

/** The column (from 0) and row (from 1) of `B7` or `$B$7`; undefined when the text is not an address. */
export function parseAddress(text: string): { column: number; row: number } | undefined {
  const parts = /^\$?([A-Z]{1,7})\$?([0-9]{1,9})$/i.exec(text);
  const [letters, digits] = [parts?.[1], parts?.[2]];
  if (letters === undefined || digits === undefined) return undefined;
  let column = 0;
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column: column - 1, row: Number(digits) };
}

/** A rectangle of cells, corners included; columns from 0, rows from 1. */
export interface Range {
  readonly text: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The rectangle of `B2:D2`; undefined when the text is not a range. */
export function parseRange(text: string): Range | undefined {
  const [from = '', to = from] = text.split(':');
  const [a, b] = [parseAddress(from), parseAddress(to)];
  return a && b && { text, left: a.column, top: a.row, right: b.column, bottom: b.row };
}
