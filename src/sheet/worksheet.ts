import { address, placeOf, type Range, rangeOf } from './address.js';
import type { Gathered } from './gather.js';
import type { Cell } from './grid.js';
import { maxColumns } from './limits.js';
import { original } from './neutral.js';
import { refusal } from './refusal.js';
import { RichText, unescaped } from './workbook-parts.js';
import { Malformed, readXml } from './xml.js';

/** What the cells of a sheet lean on. */
export interface Book {
  readonly strings: readonly string[];
  /** By style: whether its numbers are dates. */
  readonly dateStyles: readonly boolean[];
  /** Days are counted from 1904 and not from 1900. */
  readonly from1904: boolean;
}

interface RawCell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
  formula: boolean;
  value: string | undefined;
}

/**
 * Hands the rows of a sheet to `gathered`, one by one; gives its merged cells. Raises UsageError when a formula was
 * saved without its result: an empty cell would be a wrong answer.
 */
export async function readWorksheet(
  pieces: AsyncIterable<Uint8Array>,
  gathered: Gathered,
  book: Book,
): Promise<Range[]> {
  const merged: Range[] = [];
  const uncalculated: string[] = [];
  const rich = new RichText();
  let uncalculatedCount = 0;
  let row = 0;
  let cells: Cell[] = [];
  let column = -1;
  let cell: RawCell | undefined;
  let inValue = false;

  const placed = (reference: string | undefined) => {
    const place = reference === undefined ? undefined : placeOf(reference);
    column = place?.column ?? column + 1;
    return column;
  };
  const put = (raw: RawCell) => {
    if (raw.formula && raw.value === undefined) {
      if (uncalculated.length < 5) uncalculated.push(address(raw.column, row));
      uncalculatedCount++;
    }
    const value = cellOf(raw, book);
    if (value === null) return;
    // A cell far to the right makes the row as long; the limit is told by the row that is handed over.
    const at = Math.min(raw.column, maxColumns);
    while (cells.length < at) cells.push(null);
    cells[at] = value;
  };

  await readXml(pieces, {
    open: (name, attribute) => {
      if (name === 'row') {
        const number = Number(attribute('r') ?? row + 1);
        // Rows in disorder would be told by wrong numbers.
        if (!(number > row)) throw new Malformed(`row ${number} follows row ${row}`);
        row = number;
        cells = [];
        column = -1;
      } else if (name === 'c') {
        const style = Number(attribute('s') ?? 0);
        const type = attribute('t') ?? 'n';
        cell = { column: placed(attribute('r')), type, style, formula: false, value: undefined };
      } else if (name === 'mergeCell') {
        const range = rangeOf(attribute('ref') ?? '');
        if (range && merged.length < 10_000) merged.push(range);
      } else if (cell) {
        if (name === 'f') cell.formula = true;
        if (name === 'v') {
          inValue = true;
          cell.value = '';
        }
        rich.open(name);
      }
    },
    text: (text) => {
      if (cell && inValue) cell.value += text;
      else rich.text(text);
    },
    close: (name) => {
      if (name === 'row') gathered.add(row, cells);
      else if (name === 'v') inValue = false;
      else if (name === 'is' && cell) cell.value = rich.take();
      else if (name === 'c' && cell) {
        put(cell);
        cell = undefined;
      } else rich.close(name);
    },
  });
  if (uncalculatedCount > 0) {
    const more =
      uncalculatedCount > uncalculated.length ? ` and ${uncalculatedCount - uncalculated.length} more` : '';
    throw refusal(
      gathered.name,
      `holds formulas without their results (${uncalculated.join(', ')}${more})`,
      'Open it in a spreadsheet program and save it again, or paste the cells as values.',
    );
  }
  return merged;
}

function cellOf({ type, style, value }: RawCell, book: Book): Cell {
  if (value === undefined || value === '') return null;
  switch (type) {
    case 's': {
      const text = book.strings[Number(value)];
      if (text === undefined) throw new Malformed(`there is no text ${value}`);
      return text === '' ? null : original(text);
    }
    case 'inlineStr':
      return original(value);
    case 'str':
      return original(unescaped(value));
    case 'b':
      return value.trim() === '1' || value.trim() === 'true';
    case 'e':
      return value;
    case 'd':
      return dateOr(new Date(value), value);
    default: {
      const number = Number(value);
      if (Number.isNaN(number)) return value;
      return book.dateStyles[style] ? dateOr(fromSerial(number, book.from1904), number) : number;
    }
  }
}

function dateOr(date: Date, otherwise: Cell): Cell {
  return Number.isNaN(date.getTime()) ? otherwise : date;
}

/** Days since the last day of 1899, or since the first of 1904; rounded, because 10:20:30 is no exact fraction. */
function fromSerial(days: number, from1904: boolean): Date {
  const since1900 = from1904 ? days + 1462 : days;
  // Spreadsheets keep a 29 February 1900 that never was: the days before it count one less.
  const since1970 = since1900 - (since1900 < 60 && since1900 >= 1 ? 25_568 : 25_569);
  return new Date(Math.round(since1970 * 86_400_000));
}
