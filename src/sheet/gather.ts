import { address, columnLetters, type Range } from './address.js';
import type { Cell, Grid, GridRow, Separator } from './grid.js';
import { lastRowNumber, maxCellChars, maxCells, maxColumns, maxRows } from './limits.js';
import { refusal } from './refusal.js';

const smaller = 'Split the file, or delete what is not needed, and try again.';

/** Takes rows as they are read, holds them within the limits, and makes the grid of them. */
export class Gathered {
  readonly #rows: GridRow[] = [];
  readonly #notes: string[] = [];
  #cells = 0;

  constructor(readonly name: string) {}

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  /** Takes the next row; keeps the array. Raises UsageError above a limit. */
  add(number: number, cells: Cell[]): void {
    if (number > lastRowNumber) throw this.#tooMany('rows', lastRowNumber);
    let width = cells.length;
    while (width > 0 && blank(cells[width - 1])) width--;
    if (width === 0) return;
    cells.length = width;
    this.#cells += width;
    if (width > maxColumns) throw this.#tooMany('columns', maxColumns);
    if (this.#rows.length > maxRows) throw this.#tooMany('rows', maxRows);
    if (this.#cells > maxCells) throw this.#tooMany('cells', maxCells);
    for (const [column, cell] of cells.entries()) {
      if (typeof cell === 'string' && cell.length > maxCellChars) {
        const what = `holds ${cell.length.toLocaleString('en-US')} characters in cell ${address(column, number)}`;
        const hint = `A cell can hold ${maxCellChars.toLocaleString('en-US')}. Is a quote missing before it?`;
        throw refusal(this.name, what, hint);
      }
    }
    this.#rows.push({ number, cells });
  }

  /** The grid: its header is the first row that is not blank, and is no title over merged cells. */
  grid(merged: readonly Range[] = [], separator?: Separator): Grid {
    const start = this.#titles(merged);
    const header = this.#rows[start];
    if (!header) {
      throw refusal(this.name, 'holds no table', 'It needs a row of column names, and the rows under it.');
    }
    this.#refuseMerged(header.number, merged);
    const columns = header.cells.map((cell) => named(cell));
    const rows = this.#rows.slice(start + 1);
    const stray = rows.find(({ cells }) => cells.length > columns.length);
    for (const { cells } of rows) while (columns.length < cells.length) columns.push('');
    if (stray) {
      this.note(
        `Cells right of the header, first in row ${stray.number}, belong to no column and are not used.`,
      );
    }
    this.#refuseTwice(columns);
    return {
      columns,
      headerRow: header.number,
      rows,
      notes: this.#notes,
      ...(separator !== undefined && { separator }),
    };
  }

  /** How many rows in front are titles: one value alone, in cells merged over several columns. */
  #titles(merged: readonly Range[]): number {
    let count = 0;
    for (const { number, cells } of this.#rows) {
      const filled = cells.filter((cell) => !blank(cell)).length;
      const over = merged.find(
        ({ top, left, right }) => top === number && left === cells.length - 1 && right > left,
      );
      if (filled !== 1 || !over) break;
      this.note(`Row ${number} is a title over the cells ${over.text}, not the header; it is not used.`);
      count++;
    }
    return count;
  }

  #refuseMerged(headerRow: number, merged: readonly Range[]): void {
    const over = merged.filter(({ top, bottom }) => top <= headerRow && headerRow <= bottom);
    if (over.length > 0) {
      const cells = over.slice(0, 5).map(({ text }) => text);
      throw refusal(
        this.name,
        `has merged cells in its header row ${headerRow} (${cells.join(', ')})`,
        'Unmerge them: each column needs a name of its own, in one row.',
      );
    }
    const [first] = merged.filter(({ top }) => top > headerRow);
    if (first) {
      this.note(
        `Of merged cells (the first: ${first.text}) only the top left one has a value; the others are empty.`,
      );
    }
  }

  #refuseTwice(columns: readonly string[]): void {
    const seen = new Map<string, number>();
    for (const [column, name] of columns.entries()) {
      const key = name.toLowerCase();
      const before = seen.get(key);
      if (name !== '' && before !== undefined) {
        throw refusal(
          this.name,
          `has two columns named "${name}" (${columnLetters(before)} and ${columnLetters(column)})`,
          'Rename or delete one: which of them counts cannot be known.',
        );
      }
      seen.set(key, column);
    }
  }

  #tooMany(what: 'rows' | 'columns' | 'cells', limit: number): Error {
    return refusal(this.name, `holds more than ${limit.toLocaleString('en-US')} ${what}`, smaller);
  }
}

function blank(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '');
}

function named(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString();
  return cell === null
    ? ''
    : String(cell)
        .replace(/^\uFEFF/, '')
        .trim();
}
