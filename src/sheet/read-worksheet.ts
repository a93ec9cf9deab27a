import { parseAddress, parseRange, type Range } from './cell-address.js';
import { dateOfIso, dateOfSerial, isBuiltInDate, isDateFormat } from './cell-dates.js';
import { withoutMark } from './formula-injection.js';
import { type Cell, type GridBuilder, maxCells, maxColumns, noResult, tooMany } from './grid.js';
import { MalformedXml, readXml } from './xml.js';

/** The last column that a spreadsheet program can show, and the styles that a workbook may have (Excel: 65,490). */
const lastColumn = 16_384;
const maxStyles = 100_000;

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

/** Adds the rows of a sheet to `builder`, one by one, and returns its merged cells. */
export async function readWorksheet(
  chunks: AsyncIterable<Uint8Array>,
  builder: GridBuilder,
  book: Book,
): Promise<Range[]> {
  const merged: Range[] = [];
  const rich = new RichText();
  let row = 0;
  let cells: Cell[] = [];
  let column = -1;
  let cell: RawCell | undefined;
  let inValue = false;

  const columnOf = (reference: string | undefined) => {
    const address = reference === undefined ? undefined : parseAddress(reference);
    column = address?.column ?? column + 1;
    if (column >= lastColumn) throw tooMany(builder.name, 'columns', maxColumns);
    return column;
  };
  const put = (raw: RawCell) => {
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
        if (!(Number.isInteger(number) && number > row))
          throw new MalformedXml(`row ${number} follows row ${row}`);
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
  return merged;
}

/** What Number would also read, such as 0x10, is not a number in a workbook. */
const decimal = /^\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?\s*$/i;

function cellOf({ type, style, formula, value }: RawCell, book: Book): Cell {
  if (value === undefined || value === '') {
    // A result that is an empty text has the type of a text; openpyxl writes `<v></v>` for every formula.
    return formula && (value === undefined || type !== 'str') ? noResult : null;
  }
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
      return dateOfIso(value);
    default: {
      const number = decimal.test(value) ? Number(value) : Number.NaN;
      if (!Number.isFinite(number)) return value;
      return book.dateStyles[style] ? dateOfSerial(number, book.from1904) : number;
    }
  }
}

type Chunks = AsyncIterable<Uint8Array>;

/** The shared strings: texts of cells, which a workbook keeps in a part of their own and refers to by index. */
export async function readSharedStrings(chunks: Chunks, workbook: string): Promise<string[]> {
  const strings: string[] = [];
  const rich = new RichText();
  await readXml(chunks, {
    open: (name) => rich.open(name),
    text: (text) => rich.text(text),
    close: (name) => {
      rich.close(name);
      if (name !== 'si') return;
      if (strings.length === maxCells) throw tooMany(workbook, 'cells', maxCells);
      strings.push(rich.take());
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
  // Conditional formats have number formats too, under ids of their own.
  let list: string | undefined;
  await readXml(chunks, {
    open: (name, attribute) => {
      if (name === 'cellXfs' || name === 'numFmts') list = name;
      const id = Number(attribute('numFmtId') ?? 0);
      if (name === 'numFmt' && list === 'numFmts') custom.set(id, attribute('formatCode') ?? '');
      if (name === 'xf' && list === 'cellXfs') {
        const code = custom.get(id);
        styles.push(code === undefined ? isBuiltInDate(id) : isDateFormat(code));
      }
      if (styles.length > maxStyles || custom.size > maxStyles) throw new MalformedXml('too many styles');
    },
    close: (name) => {
      if (name === list) list = undefined;
    },
  });
  return styles;
}
