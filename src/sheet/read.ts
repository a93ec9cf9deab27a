import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { StorageError, UsageError } from '../base/errors.js';
import { cellOfText } from './cells.js';
import {
  type Cell,
  type Grid,
  GridBuilder,
  headerHint,
  maxCellChars,
  maxFileBytes,
  type Separator,
  saveAsHint,
  sheetError,
} from './grid.js';
import { readWorkbook } from './read-workbook.js';
import { encryptedError } from './zip.js';

/** A file, or bytes with the name that messages use for them (`standard input`). */
export type SheetSource = { readonly path: string } | { readonly bytes: Uint8Array; readonly name: string };

export interface SheetOptions {
  /** The name of the sheet to read; by default it is chosen as `readWorkbook` says. */
  readonly sheet?: string | undefined;
}

/**
 * Reads a sheet that a person made: .xlsx, .ods, or text with commas, semicolons, tabs or bars between the cells. The content
 * decides which, not the name. Text that was protected against formula injection comes back as it was; text that looks
 * like a number stays text in a text file. Raises UsageError, with what to do, for a file that is not a spreadsheet, is
 * damaged, or exceeds the limits; memory stays bounded for any file.
 */
export async function readSheet(source: SheetSource, { sheet }: SheetOptions = {}): Promise<Grid> {
  const name = 'path' in source ? basename(source.path) : source.name;
  const bytes = 'path' in source ? await readBytes(source.path) : source.bytes;
  if (bytes.length > maxFileBytes) throw tooLarge(name);
  if (formatOf(bytes, name) === 'zip') return readWorkbook(bytes, name, sheet);
  if (sheet !== undefined)
    throw sheetError(name, 'is not a workbook: it has no sheets to choose from', 'Leave --sheet out.');
  return readDelimited(bytes, name);
}

/**
 * Makes a sheet of JSON objects: a column for each field, in the order in which they first occur, and rows numbered from
 * 1. The rules are those of a text file: a value is its text, null and a missing field are empty cells, and the same
 * limits apply. Raises UsageError above a limit and for a value that is an object, an array or text with a NUL.
 */
export function readRecords(records: readonly Readonly<Record<string, unknown>>[], name: string): Grid {
  if (records.length === 0) throw sheetError(name, 'is empty', 'Send at least one row.');
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const builder = new GridBuilder(name);
  builder.add(0, columns.map(recordText));
  for (const [at, record] of records.entries()) {
    const cells = columns.map((column) => recordCell(record[column], column, at + 1));
    builder.add(at + 1, cells);
  }
  return builder.grid();
}

function recordCell(value: unknown, column: string, row: number): Cell {
  if (value === undefined || value === null) return null;
  const problem = recordProblem(value);
  if (problem === undefined) return recordText(String(value));
  throw new UsageError('The rows cannot be read.', [{ setting: `row ${row}, ${column}`, problem }]);
}

function recordProblem(value: unknown): string | undefined {
  if (typeof value === 'object') return 'must be a string, a number, true, false or null';
  // JSON.parse has rounded it: as an id, it may be that of another company.
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return 'must be a string: a number with that many digits is rounded';
  return String(value).includes('\0') ? 'must not contain a NUL character' : undefined;
}

/** Lone surrogates, which no text file can contain, are replaced as in UTF-8. */
function recordText(text: string): string | null {
  return cellOfText(text.replace(/\p{Cs}/gu, '\uFFFD'));
}

/** The bytes of a file, up to the limit for sheets. Raises UsageError or StorageError. */
export async function readBytes(path: string): Promise<Uint8Array> {
  const name = basename(path);
  try {
    const file = await open(path);
    try {
      const found = await file.stat();
      if (found.isDirectory()) throw sheetError(path, 'is a folder, not a file', 'Name a file in it.');
      if (found.size > maxFileBytes) throw tooLarge(name);
      // Anything but a plain file (a pipe) has no size.
      return await bytesOf(file.createReadStream({ autoClose: false }), name);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The bytes of a stream, which is read up to the limit for sheets and no further. Raises UsageError. */
export async function bytesOf(stream: AsyncIterable<Uint8Array>, name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxFileBytes) throw tooLarge(name);
  }
  return Buffer.concat(chunks);
}

function tooLarge(name: string): Error {
  const limit = maxFileBytes / 1024 / 1024;
  return sheetError(name, `is larger than ${limit} MB`, 'Split it, or delete columns that you do not need.');
}

function unreadable(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return sheetError(path, 'does not exist', 'Check the path.', error);
  if (code === 'EACCES' || code === 'EPERM') {
    return sheetError(
      path,
      'cannot be opened: permission denied',
      'Check its permissions, and whether another program has it open.',
      error,
    );
  }
  if (code === undefined) return error;
  return new StorageError(`${path} cannot be read: ${String(code)}`, { cause: error });
}

const oleSignature = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/**
 * What a file is by its first bytes, whatever its name. A zip may still turn out not to be a workbook. Raises UsageError
 * for a format that is not supported.
 */
function formatOf(bytes: Uint8Array, name: string): 'zip' | 'text' {
  if (bytes.length === 0) throw sheetError(name, 'is empty', headerHint);
  if (startsWith(bytes, [0x50, 0x4b, 3, 4]) || startsWith(bytes, [0x50, 0x4b, 5, 6])) return 'zip';
  if (startsWith(bytes, oleSignature)) {
    // Excel puts an encrypted workbook into the container of its old format, under this name in UTF-16.
    const container = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (container.includes(Buffer.from('EncryptedPackage', 'utf16le'))) {
      throw encryptedError(name);
    }
    throw sheetError(name, 'is in the old Excel format (.xls)', saveAsHint);
  }
  if (startsWith(bytes, [0x25, 0x50, 0x44, 0x46]))
    throw sheetError(name, 'is a PDF, not a spreadsheet', saveAsHint);
  return 'text';
}

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

/** In the order in which they win when the header has as many of one as of another. */
const separators: readonly Separator[] = ['\t', ';', ',', '|'];

/** Small enough that other work of the process continues while a large file is parsed. */
const sliceBytes = 64 * 1024;

/** Characters of one row. A longer row means that a quote was opened and never closed. */
const maxRowChars = 500 * maxCellChars;

/**
 * Reads text with separators: RFC 4180, with any line ends, stray quotes, and rows of any width. The separator is the
 * most frequent one outside quotes in the first row that has one, or the one in Excel's `sep=;` on the first line.
 */
async function readDelimited(bytes: Uint8Array, name: string): Promise<Grid> {
  const { text, note } = textOfBytes(bytes);
  refuseOtherFormats(text, name);
  const builder = new GridBuilder(name);
  if (note !== undefined) builder.note(note);
  const declared = /^\uFEFF?sep=([,;\t|])(\r\n|\n|\r|$)/i.exec(text);
  const body = declared ? text.slice(declared[0].length) : text.replace(/^\uFEFF/, '');
  const separator = (declared?.[1] as Separator | undefined) ?? separatorOf(body);

  let number = 0;
  const parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: maxRowChars,
    // Takes each row here and passes none on: a file of a million blank lines costs no memory.
    on_record: (record: string[]) => {
      number++;
      builder.add(number, record.map(cellOfText));
      return null;
    },
  });
  try {
    await pipeline(Readable.from(slices(Buffer.from(body))), parser, async (records) => {
      for await (const _ of records) throw new Error('on_record kept a row');
    });
  } catch (error) {
    throw error instanceof CsvError ? parseError(error, number + 1, name) : error;
  }
  return builder.grid([], separator);
}

/**
 * Decodes UTF-8 (with or without a byte order mark) and UTF-16 (with one). Anything that is not valid UTF-8 is read as
 * Windows-1252, which Excel writes as "CSV" in western countries and which fits any bytes; the note then says so.
 */
export function textOfBytes(bytes: Uint8Array): { readonly text: string; readonly note?: string } {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes) };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return {
      text: fromWindows1252(bytes),
      note: 'The file is not UTF-8 and was read as Windows-1252: check letters with accents before you continue.',
    };
  }
}

/** The characters of Windows-1252 from 0x80 to 0x9f, where Latin-1 has control characters; five are undefined. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Node's own decoder of this name gives Latin-1 in some releases (20.20 is one): dashes and the euro would be lost. */
function fromWindows1252(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return latin1.replace(/[\x80-\x9f]/g, (character) => windows1252.charAt(character.charCodeAt(0) - 0x80));
}

/** Raises UsageError when the text is another kind of file with the name of a spreadsheet. */
function refuseOtherFormats(text: string, name: string): void {
  if (/^\s*<(!doctype|html|table|head|body|\?xml|meta)\b/i.test(text.slice(0, 1024))) {
    throw sheetError(
      name,
      'is a web page or XML, not a spreadsheet (some programs save such files as .xls)',
      saveAsHint,
    );
  }
  // A picture, a program, or text in an encoding without a byte order mark. One control character alone proves nothing.
  const start = text.slice(0, 4096);
  const controls = start.match(/[^\P{Cc}\s]/gu)?.length ?? 0;
  if (start.includes('\0') || controls * 50 > start.length) {
    throw sheetError(
      name,
      'is not a spreadsheet: it contains bytes that are not text',
      'Save it as .xlsx, or as text ("CSV UTF-8").',
    );
  }
}

function separatorOf(text: string): Separator {
  const counts = new Map<string, number>();
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === '\n' || character === '\r') {
      if (counts.size > 0) break;
    } else if (separators.includes(character as Separator)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  const most = Math.max(0, ...counts.values());
  return (most > 0 && separators.find((one) => counts.get(one) === most)) || ',';
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

function parseError(error: CsvError, row: number, name: string): Error {
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    const hint = 'Is a quote (") missing before it, or are the line breaks between the rows missing?';
    return sheetError(name, `has a row that is too long (row ${row})`, hint, error);
  }
  return sheetError(
    name,
    `has a quote (") in row ${row} that is never closed`,
    'Close the quote, or write it twice ("") when it is part of the text.',
    error,
  );
}
