import { cellOfText, dateOfDuration, dateOfIso } from './cells.js';
import {
  type Cell,
  cellAddress,
  type GridBuilder,
  maxColumns,
  noResult,
  type Range,
  saveAsHint,
  sheetError,
} from './grid.js';
import { MalformedXml, readXml } from './xml.js';
import { encryptedError, type Zip } from './zip.js';

const contentPath = 'content.xml';

/** The media type of spreadsheets, and of templates of spreadsheets. */
const spreadsheetType = 'application/vnd.oasis.opendocument.spreadsheet';

/** More of anything in a file has no use, and would only take memory. */
const maxListed = 20_000;

interface TableEntry {
  readonly name: string;
  readonly hidden: boolean;
  /** Its place among the tables of the file: names may be missing. */
  readonly index: number;
}

/**
 * Whether the zip is a spreadsheet of OpenDocument (.ods, .ots), as LibreOffice, Google Sheets and Excel write them.
 * Raises UsageError for another OpenDocument and for an encrypted one.
 */
export async function isOpenDocument(zip: Zip): Promise<boolean> {
  if (!zip.has('mimetype') && !zip.has(contentPath)) return false;
  if (await isEncrypted(zip)) throw encryptedError(zip.name);
  const type = await mediaType(zip);
  if (type !== undefined && !type.startsWith(spreadsheetType)) {
    throw sheetError(zip.name, `is not a spreadsheet: its zip says ${type}`, saveAsHint);
  }
  return true;
}

/** The file's own type; undefined when it names none, which is allowed. */
async function mediaType(zip: Zip): Promise<string | undefined> {
  let text = '';
  for await (const bytes of zip.chunks('mimetype')) {
    text += Buffer.from(bytes).toString('latin1');
    if (text.length > 200) break;
  }
  const type = text
    .slice(0, 200)
    .trim()
    .replace(/[^\w.+/-]/g, '?');
  return type === '' ? undefined : type;
}

/** An encrypted document keeps its list of files readable, which says how each of them is encrypted. */
async function isEncrypted(zip: Zip): Promise<boolean> {
  const list = 'META-INF/manifest.xml';
  let found = false;
  if (zip.has(list)) {
    await readXml(zip.chunks(list), {
      open: (name) => {
        found ||= name === 'encryption-data';
      },
    });
  }
  return found || zip.has('encrypted-package');
}

export async function openDocumentSheets(zip: Zip): Promise<TableEntry[]> {
  const sheets: TableEntry[] = [];
  const hiddenStyles = new Set<string>();
  let style = '';
  await readContent(zip, {
    open: (name, attribute) => {
      if (name === 'style') style = attribute('family') === 'table' ? (attribute('name') ?? '') : '';
      if (name === 'table-properties' && attribute('display') === 'false') {
        if (hiddenStyles.size < maxListed) hiddenStyles.add(style);
      }
    },
    table: (index, attribute) => {
      if (index > maxListed) throw new MalformedXml(`it has more than ${maxListed} sheets`);
      const hidden = hiddenStyles.has(attribute('style-name') ?? '');
      sheets.push({ name: attribute('name') ?? '', hidden, index });
    },
  });
  return sheets;
}

type Attribute = (name: string) => string | undefined;

interface ContentEvents {
  open?(name: string, attribute: Attribute): void;
  text?(text: string): void;
  close?(name: string): void;
  /** The start of a sheet; not of a table within a cell, a drawing, or the list of past changes. */
  table?(index: number, attribute: Attribute): void;
}

async function readContent(zip: Zip, { open, table, ...events }: ContentEvents): Promise<void> {
  if (!zip.has(contentPath)) throw new MalformedXml('it has no content');
  let depth = 0;
  let spreadsheetDepth = 0;
  let tables = 0;
  await readXml(zip.chunks(contentPath), {
    open: (name, attribute) => {
      depth++;
      if (name === 'spreadsheet') spreadsheetDepth = depth;
      if (name === 'table' && depth === spreadsheetDepth + 1) table?.(tables++, attribute);
      open?.(name, attribute);
    },
    text: (text) => events.text?.(text),
    close: (name) => {
      depth--;
      events.close?.(name);
    },
  });
}

/** A cell as it is read; `repeated` says for how many columns it stands. */
interface OpenCell {
  readonly attribute: Attribute;
  readonly repeated: number;
  readonly paragraphs: string[];
}

/** Adds the rows of the table at `wanted` to `builder`, one by one, and returns its merged cells. */
export async function readTable(zip: Zip, wanted: number, builder: GridBuilder): Promise<Range[]> {
  const merged: Range[] = [];
  const text = new ParagraphText();
  let isWanted = false;
  let row = 0;
  let repeatedRows = 1;
  let hidden = false;
  let cells: Cell[] = [];
  let column = 0;
  let cell: OpenCell | undefined;
  // Elements within the cell; only its own paragraphs are its text, not those of comments and drawings.
  let within = 0;

  const put = ({ attribute, repeated, paragraphs }: OpenCell) => {
    const value = cellOf(attribute, paragraphs);
    if (value !== null) {
      while (cells.length < Math.min(column, maxColumns)) cells.push(null);
      // One more than the limit is enough for the builder to report it.
      for (let count = 0; count < repeated && cells.length <= maxColumns; count++) cells.push(value);
    }
    column += repeated;
  };
  const span = (attribute: Attribute) => {
    const [wide, high] = [
      timesOf(attribute('number-columns-spanned')),
      timesOf(attribute('number-rows-spanned')),
    ];
    if ((wide === 1 && high === 1) || merged.length === maxListed) return;
    const corner = { left: column, top: row + 1, right: column + wide - 1, bottom: row + high };
    const addresses = [cellAddress(column, corner.top), cellAddress(corner.right, corner.bottom)];
    merged.push({ text: addresses.join(':'), ...corner });
  };

  await readContent(zip, {
    table: (index) => {
      isWanted = index === wanted;
    },
    open: (name, attribute) => {
      if (!isWanted) return;
      if (cell) {
        within++;
        text.open(name, within, attribute);
      } else if (name === 'table-row') {
        repeatedRows = timesOf(attribute('number-rows-repeated'));
        hidden = ['collapse', 'filter'].includes(attribute('visibility') ?? '');
        cells = [];
        column = 0;
      } else if (name === 'table-cell' || name === 'covered-table-cell') {
        if (name === 'table-cell') span(attribute);
        cell = {
          attribute: remembered(attribute),
          repeated: timesOf(attribute('number-columns-repeated')),
          paragraphs: text.start(),
        };
      }
    },
    text: (piece) => {
      if (cell) text.add(piece);
    },
    close: (name) => {
      if (cell && within > 0) {
        text.close(name, within);
        within--;
      } else if (cell) {
        put(cell);
        cell = undefined;
      } else if (isWanted && name === 'table-row') {
        row = addRow(builder, row, cells, repeatedRows, hidden);
      }
    },
  });
  return merged;
}

/** Adds a row as often as it is repeated, and returns the number of the last one. */
function addRow(
  builder: GridBuilder,
  before: number,
  cells: Cell[],
  repeated: number,
  hidden: boolean,
): number {
  const last = before + repeated;
  // A million blank rows at the end are one element, and cost nothing.
  if (cells.length === 0) return last;
  for (let row = before + 1; row <= last; row++) builder.add(row, [...cells], hidden);
  return last;
}

const cellAttributes = [
  'calcext:value-type',
  'office:value-type',
  'value-type',
  'value',
  'date-value',
  'time-value',
  'boolean-value',
  'string-value',
  'formula',
] as const;

/** The parser forgets attributes with the next element, so what the cell says is copied. */
function remembered(attribute: Attribute): Attribute {
  const values = new Map<string, string>();
  for (const name of cellAttributes) {
    const value = attribute(name);
    if (value !== undefined) values.set(name, value);
  }
  return (name) => values.get(name);
}

function cellOf(attribute: Attribute, paragraphs: readonly string[]): Cell {
  const shown = paragraphs.join('\n');
  // LibreOffice says of an error that it is a text, and says what it really is under a name of its own.
  if (attribute('calcext:value-type') === 'error' && shown !== '') return shown;
  switch (attribute('office:value-type') ?? attribute('value-type')) {
    case 'float':
    case 'percentage':
    case 'currency': {
      const number = Number(attribute('value') ?? Number.NaN);
      // LibreOffice saves a boolean that comes from an .xlsx file as a formula with the number 1 or 0.
      const formula = attribute('formula')?.split('=').at(-1);
      if (number === 1 && (shown === 'TRUE' || formula === 'TRUE()')) return true;
      if (number === 0 && (shown === 'FALSE' || formula === 'FALSE()')) return false;
      return Number.isFinite(number) ? number : cellOfText(shown);
    }
    case 'date':
      return dateOfIso(attribute('date-value') ?? shown);
    case 'time':
      return dateOfDuration(attribute('time-value') ?? shown);
    case 'boolean':
      return attribute('boolean-value') === 'true';
    case undefined:
      if (shown === '' && attribute('formula') !== undefined) return noResult;
      return cellOfText(shown);
    default:
      return cellOfText(attribute('string-value') ?? shown);
  }
}

/** How often something is repeated: a whole number from 1. */
function timesOf(text: string | undefined): number {
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Math.max(1, Number(text)) : 1;
}

/** Collects the paragraphs of a cell. White space is one space unless it is written as an element. */
class ParagraphText {
  #paragraphs: string[] = [];
  #text = '';
  #inParagraph = false;
  /** The depth of an element whose text is not part of the cell; 0 for none. */
  #skipped = 0;

  /** Begins a cell; the array is filled as its paragraphs end. */
  start(): string[] {
    this.#paragraphs = [];
    this.#inParagraph = false;
    this.#skipped = 0;
    return this.#paragraphs;
  }

  open(name: string, depth: number, attribute: Attribute): void {
    if (this.#skipped > 0) return;
    if (depth === 1 && (name === 'p' || name === 'h')) {
      this.#inParagraph = true;
      this.#text = '';
    } else if (depth === 1 || ['annotation', 'note', 'ruby-text', 'frame', 'custom-shape'].includes(name)) {
      this.#skipped = depth;
    } else if (name === 's') {
      this.#text += ' '.repeat(Math.min(timesOf(attribute('c')), 32_768));
    } else if (name === 'tab') this.#text += '\t';
    else if (name === 'line-break') this.#text += '\n';
  }

  add(piece: string): void {
    if (!this.#inParagraph || this.#skipped > 0) return;
    const text = piece.replace(/[ \t\r\n]+/g, ' ');
    const isDouble = text.startsWith(' ') && (this.#text === '' || this.#text.endsWith(' '));
    this.#text += isDouble ? text.slice(1) : text;
  }

  close(name: string, depth: number): void {
    if (this.#skipped === depth) this.#skipped = 0;
    else if (depth === 1 && this.#inParagraph && (name === 'p' || name === 'h')) {
      this.#paragraphs.push(this.#text);
      this.#inParagraph = false;
    }
  }
}
