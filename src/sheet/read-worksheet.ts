import { cellAddress, parseAddress, parseRange, type Range } from './cell-address.js';
import { withoutMark } from './formula-injection.js';
import type { Cell, GridBuilder } from './grid.js';
import { maxColumns, sheetError } from './grid.js';
import { MalformedXml, readXml } from './workbook-package.js';

/** The parts of the workbook that the cells of a sheet refer to. */
interface Book {
  readonly strings: readonly string[];
  /** For each style, whether its numbers are dates. */
  readonly dateStyles: readonly boolean[];
  /** Whether days are counted from 1904 instead of 1900. */
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
 * Adds the rows of a sheet to `builder`, one by one, and returns its merged cells. Raises UsageError when a formula was
 * saved without its result: an empty cell would be wrong.
 */
export async function readWorksheet(
  chunks: AsyncIterable<Uint8Array>,
  builder: GridBuilder,
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

  const columnOf = (reference: string | undefined) => {
    const address = reference === undefined ? undefined : parseAddress(reference);
    column = address?.column ?? column + 1;
    return column;
  };
  const put = (raw: RawCell) => {
    if (raw.formula && raw.value === undefined) {
      if (uncalculated.length < 5) uncalculated.push(cellAddress(raw.column, row));
      uncalculatedCount++;
    }
    const value = cellOf(raw, book);
    if (value === null) return;
    // A cell far to the right would make the row that long; the builder reports the limit.
    const at = Math.min(raw.column, maxColumns);
    while (cells.length < at) cells.push(null);
    cells[at] = value;
  };

  await readXml(chunks, {
    open: (name, attribute) => {
      if (name === 'row') {
        const number = Number(attribute('r') ?? row + 1);
        // Rows out of order would be reported with wrong numbers.
        if (!(number > row)) throw new MalformedXml(`row ${number} follows row ${row}`);
        row = number;
        cells = [];
        column = -1;
      } else if (name === 'c') {
        const style = Number(attribute('s') ?? 0);
        const type = attribute('t') ?? 'n';
        cell = { column: columnOf(attribute('r')), type, style, formula: false, value: undefined };
      } else if (name === 'mergeCell') {
        const range = parseRange(attribute('ref') ?? '');
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
      if (name === 'row') builder.add(row, cells);
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
    throw sheetError(
      builder.name,
      `has formulas without results (${uncalculated.join(', ')}${more})`,
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
      if (text === undefined) throw new MalformedXml(`there is no shared string ${value}`);
      return text === '' ? null : withoutMark(text);
    }
    case 'inlineStr':
      return withoutMark(value);
    case 'str':
      return withoutMark(unescaped(value));
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

/** Days since the last day of 1899, or since the first of 1904; rounded, because 10:20:30 is not an exact fraction. */
function fromSerial(days: number, from1904: boolean): Date {
  const since1900 = from1904 ? days + 1462 : days;
  // Spreadsheets have a 29 February 1900, which never existed: the days before it count one less.
  const since1970 = since1900 - (since1900 < 60 && since1900 >= 1 ? 25_568 : 25_569);
  return new Date(Math.round(since1970 * 86_400_000));
}

type Chunks = AsyncIterable<Uint8Array>;

/** The shared strings: texts of cells, which a workbook keeps in a part of their own and refers to by index. */
export async function readSharedStrings(chunks: Chunks): Promise<string[]> {
  const strings: string[] = [];
  const rich = new RichText();
  await readXml(chunks, {
    open: (name) => rich.open(name),
    text: (text) => rich.text(text),
    close: (name) => {
      rich.close(name);
      if (name === 'si') strings.push(rich.take());
    },
  });
  return strings;
}

/** Collects the text of a `si` or `is` element: of all its runs, without the phonetic hints. */
class RichText {
  #text = '';
  #inText = false;
  #inPhonetic = false;

  open(name: string): void {
    if (name === 't') this.#inText = !this.#inPhonetic;
    if (name === 'rPh') this.#inPhonetic = true;
  }

  text(text: string): void {
    if (this.#inText) this.#text += text;
  }

  close(name: string): void {
    if (name === 't') this.#inText = false;
    if (name === 'rPh') this.#inPhonetic = false;
  }

  /** Returns the text so far and starts over. */
  take(): string {
    const text = unescaped(this.#text);
    this.#text = '';
    return text;
  }
}

/** Workbooks write characters that XML cannot contain as `_x000D_`. */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9a-f]{4})_/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** For each cell style, by index, whether it shows a number as a date or time. */
export async function readDateStyles(chunks: Chunks): Promise<boolean[]> {
  const custom = new Map<number, string>();
  const styles: boolean[] = [];
  let inCells = false;
  await readXml(chunks, {
    open: (name, attribute) => {
      if (name === 'cellXfs') inCells = true;
      const id = Number(attribute('numFmtId') ?? 0);
      if (name === 'numFmt') custom.set(id, attribute('formatCode') ?? '');
      if (name === 'xf' && inCells) {
        const code = custom.get(id);
        styles.push(code === undefined ? builtInDate(id) : isDateFormat(code));
      }
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false;
    },
  });
  return styles;
}

/** The formats that a workbook may use without defining them; 27 to 36 and 50 to 58 are the East Asian dates. */
function builtInDate(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/** Whether a format such as `dd/mm/yyyy` or `[h]:mm:ss.0` shows a date or time, and not `0.00 "days"`. */
function isDateFormat(code: string): boolean {
  const [positive = ''] = code
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/s\.0+/gi, 's')
    .split(';');
  return /[ymdhs]/i.test(positive) && !/[#?0]|general|standard/i.test(positive);
}
