import { posix } from 'node:path';
import { cellOfText, dateOfIso, dateOfSerial, isBuiltInDate, isDateFormat, withoutMark } from './cells.js';
import {
  type Cell,
  type Grid,
  GridBuilder,
  howToSheet,
  lastColumn,
  maxCells,
  maxColumns,
  noResult,
  parseAddress,
  parseRange,
  type Range,
  saveAsHint,
  sheetError,
  sheetNames,
  tooMany,
} from './grid.js';
import { isOpenDocument, openDocumentSheets, readTable } from './read-opendocument.js';
import { ForbiddenXml, MalformedXml, readXml } from './xml.js';
import { damagedError, Zip } from './zip.js';

/** Sheets that are read before any other, whatever their position. */
const preferred = ['topics', 'companies'];

/** Sheets that hold no data: our own instructions, and what Apple Numbers puts in front of what it exports. */
const withoutData = [howToSheet.toLowerCase(), 'export summary'];

/** More of anything that a workbook lists has no use, and would only take memory. */
const maxParts = 20_000;

/** A file of the package. */
interface Part {
  readonly type: string;
  readonly path: string;
}

interface SheetEntry {
  readonly name: string;
  readonly hidden: boolean;
}

interface WorksheetEntry extends SheetEntry {
  readonly path: string;
}

/**
 * Reads a sheet of an .xlsx or .ods workbook: the one of this name, otherwise "Topics" or "Companies", otherwise the first
 * visible one that is not known to hold no data. Raises UsageError when there is none of that name. A formula
 * gives the value that the spreadsheet program saved, or `noResult`; an error in a cell (`#REF!`) is given as text. Rows
 * and columns that are hidden or filtered out are read like any other.
 */
export async function readWorkbook(bytes: Uint8Array, name: string, sheet?: string): Promise<Grid> {
  const zip = await Zip.open(bytes, name);
  try {
    return await ((await isOpenDocument(zip)) ? readOpenDocument(zip, sheet) : readOfficeOpenXml(zip, sheet));
  } catch (error) {
    if (error instanceof ForbiddenXml) {
      throw sheetError(
        name,
        'contains a document type definition (DTD), which no workbook needs',
        'Do not open it if you do not know where it comes from. Otherwise save it again in a spreadsheet program.',
        error,
      );
    }
    throw error instanceof MalformedXml ? damagedError(name, error) : error;
  }
}

async function readOpenDocument(zip: Zip, sheet: string | undefined): Promise<Grid> {
  const { chosen, builder } = choose(zip, await openDocumentSheets(zip), sheet);
  const merged = await readTable(zip, chosen.index, builder);
  return { ...builder.grid(merged), ...(await lastEditorIn(zip, 'meta.xml', 'creator')) };
}

async function readOfficeOpenXml(zip: Zip, sheet: string | undefined): Promise<Grid> {
  const workbook = await workbookPath(zip);
  const parts = await relations(zip, workbook);
  const { sheets, from1904 } = await contents(zip, workbook, parts);
  const { chosen, builder } = choose(zip, sheets, sheet);
  // Both are optional: some writers put all texts into the cells, and use no format but the general one.
  const chunksOf = (type: string) => {
    const path = [...parts.values()].find((part) => part.type === type)?.path;
    return path !== undefined && zip.has(path) ? zip.chunks(path) : undefined;
  };
  const [strings, styles] = [chunksOf('sharedStrings'), chunksOf('styles')];
  const merged = await readWorksheet(zip.chunks(chosen.path), builder, {
    strings: strings ? await readSharedStrings(strings, zip.name) : [],
    dateStyles: styles ? await readDateStyles(styles) : [],
    from1904,
  });
  const properties = [...(await relations(zip, '')).values()].find(({ type }) => type === 'core-properties');
  const path = properties?.path ?? 'docProps/core.xml';
  return { ...builder.grid(merged), ...(await lastEditorIn(zip, path, 'lastModifiedBy')) };
}

/** The sheet to read, and a grid for it that names the others. */
function choose<Entry extends SheetEntry>(zip: Zip, sheets: readonly Entry[], wanted: string | undefined) {
  if (wanted !== undefined) return { chosen: named(zip, sheets, wanted), builder: new GridBuilder(zip.name) };
  const candidates = sheets.filter(({ name }) => !withoutData.includes(simple(name)));
  const chosen =
    preferred.map((wanted) => sheets.find(({ name }) => simple(name) === wanted)).find(Boolean) ??
    candidates.find(({ hidden }) => !hidden) ??
    candidates[0];
  if (!chosen) throw sheetError(zip.name, 'has no sheet with data', saveAsHint);
  const others = candidates.flatMap((one) => (one === chosen || one.hidden ? [] : [one.name]));
  const builder = new GridBuilder(zip.name, others.length > 0 ? { read: chosen.name, others } : undefined);
  if (others.length > 0) {
    builder.note(`Only the sheet "${chosen.name}" was read; the workbook has ${sheets.length} sheets.`);
  }
  return { chosen, builder };
}

/** The sheet of this name: exactly, otherwise in any case and without the spaces around it. */
function named<Entry extends SheetEntry>(zip: Zip, sheets: readonly Entry[], wanted: string): Entry {
  const found =
    sheets.find(({ name }) => name === wanted) ?? sheets.find(({ name }) => simple(name) === simple(wanted));
  if (found) return found;
  const names = sheetNames(sheets);
  throw sheetError(zip.name, `has no sheet "${wanted}": it has ${names}`, 'Pass one of these with --sheet.');
}

function simple(name: string): string {
  return name.trim().toLowerCase();
}

/** Files by which other formats in a zip are recognized. */
const otherFormats: readonly (readonly [path: string, what: string])[] = [
  ['xl/workbook.bin', 'is a binary workbook (.xlsb)'],
  ['index/document.iwa', 'is an Apple Numbers document (.numbers)'],
  ['index.zip', 'is an Apple Numbers document (.numbers)'],
  ['word/document.xml', 'is a Word document (.docx), not a spreadsheet'],
  ['ppt/presentation.xml', 'is a presentation (.pptx), not a spreadsheet'],
];

async function workbookPath(zip: Zip): Promise<string> {
  const parts = [...(await relations(zip, '')).values()];
  const path = parts.find(({ type }) => type === 'officeDocument')?.path ?? 'xl/workbook.xml';
  const other = otherFormats.find(([file]) => zip.has(file))?.[1];
  if (other === undefined && zip.has(path)) return path;
  throw sheetError(zip.name, other ?? 'is a zip file, but not a workbook', saveAsHint);
}

/** The parts that a part of the package refers to, by id; paths start at the root of the zip. */
async function relations(zip: Zip, part: string): Promise<Map<string, Part>> {
  const folder = part === '' ? '' : posix.dirname(part);
  const path = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const found = new Map<string, Part>();
  if (!zip.has(path)) return found;
  await readXml(zip.chunks(path), {
    open: (name, attribute) => {
      const [id, target] = [attribute('Id'), attribute('Target')];
      if (name !== 'Relationship' || id === undefined || target === undefined) return;
      if (found.size === maxParts) throw new MalformedXml(`it has more than ${maxParts} relations`);
      const type = attribute('Type')?.split('/').at(-1) ?? '';
      const inZip = posix.join(target.startsWith('/') ? '' : folder, target).replace(/^\//, '');
      found.set(id, { type, path: zip.has(inZip) ? inZip : withoutPercents(inZip) });
    },
  });
  return found;
}

/** The path of a part whose name was written as in an address: `my%20sheet.xml`. */
function withoutPercents(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function contents(zip: Zip, workbook: string, parts: ReadonlyMap<string, Part>) {
  const sheets: WorksheetEntry[] = [];
  let from1904 = false;
  let root: string | undefined;
  await readXml(zip.chunks(workbook), {
    open: (name, attribute) => {
      root ??= name;
      if (root !== 'workbook') throw sheetError(zip.name, 'is a zip file, but not a workbook', saveAsHint);
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(attribute('date1904') ?? '');
      if (name !== 'sheet') return;
      const part = parts.get(attribute('id') ?? '');
      // Charts and macros are in the same list.
      if (part?.type !== 'worksheet' || !zip.has(part.path)) return;
      if (sheets.length === maxParts) throw new MalformedXml(`it has more than ${maxParts} sheets`);
      const hidden = (attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: attribute('name') ?? '', path: part.path, hidden });
    },
  });
  return { sheets, from1904 };
}

/** The styles that a workbook may have; Excel allows 65,490. */
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
async function readWorksheet(
  chunks: AsyncIterable<Uint8Array>,
  builder: GridBuilder,
  book: Book,
): Promise<Range[]> {
  const merged: Range[] = [];
  const rich = new RichText();
  let row = 0;
  let hidden = false;
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
        hidden = ['1', 'true'].includes(attribute('hidden') ?? '');
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
      if (name === 'row') builder.add(row, cells, hidden);
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
      return cellOfText(text);
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

/** The shared strings: texts of cells, which a workbook keeps in a part of their own and refers to by index. */
async function readSharedStrings(chunks: AsyncIterable<Uint8Array>, workbook: string): Promise<string[]> {
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
async function readDateStyles(chunks: AsyncIterable<Uint8Array>): Promise<boolean[]> {
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

/** What programs and fresh installations write in place of a name, without spaces. */
const notPeople: ReadonlySet<string> = new Set([
  'unknown',
  'user',
  'admin',
  'administrator',
  'root',
  'owner',
  'author',
  'guest',
  'anonymous',
  'system',
  'microsoftofficeuser',
  'windowsuser',
  'microsoftexcel',
  'libreoffice',
  'googlesheets',
  'benutzer',
  'openpyxl',
  'xlsxwriter',
  'apachepoi',
  'sheetjs',
  'exceljs',
  'excelize',
  'pandas',
  'python',
  'epplus',
]);

/** Names are shown in tables and messages. */
const longestName = 100;

/** The person who saved a workbook last, from its properties in the file `path`; nothing when they name no person. */
async function lastEditorIn(zip: Zip, path: string, element: string): Promise<Pick<Grid, 'lastEditor'>> {
  let text = '';
  let isInside = false;
  try {
    await readXml(zip.chunks(path), {
      open: (name) => {
        isInside = name === element;
      },
      text: (part) => {
        if (isInside && text.length < longestName) text += part;
      },
      close: () => {
        isInside = false;
      },
    });
  } catch {
    // A sheet whose properties are damaged is still a sheet.
    return {};
  }
  const name = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, longestName);
  const isNobody = name === '' || notPeople.has(name.toLowerCase().replaceAll(' ', ''));
  return isNobody ? {} : { lastEditor: name };
}
