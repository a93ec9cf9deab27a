import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { StorageError, UsageError } from '../base/errors.js';
import { withoutMark } from './formula-injection.js';
import {
  type Cell,
  type Grid,
  GridBuilder,
  headerHint,
  maxFileBytes,
  saveAsHint,
  sheetError,
} from './grid.js';
import { readDelimited } from './read-delimited.js';
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
  builder.add(
    0,
    columns.map((column) => textOrNull(column)),
  );
  for (const [index, record] of records.entries()) {
    const row = index + 1;
    builder.add(
      row,
      columns.map((column) => recordCell(record[column], column, row)),
    );
  }
  return builder.grid();
}

function recordCell(value: unknown, column: string, row: number): Cell {
  if (value === undefined || value === null) return null;
  const problem =
    typeof value === 'object'
      ? 'must be a string, a number, true, false or null'
      : String(value).includes('\0')
        ? 'must not contain a NUL character'
        : undefined;
  if (problem === undefined) return textOrNull(String(value));
  throw new UsageError('The rows cannot be read.', [{ setting: `row ${row}, ${column}`, problem }]);
}

/** Lone surrogates, which no text file can contain, are replaced as in UTF-8. */
function textOrNull(text: string): string | null {
  return text === '' ? null : withoutMark(text.replace(/\p{Cs}/gu, '\uFFFD'));
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
      // Anything but a plain file (a pipe) has no size: it is read up to the limit and no further.
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of file.createReadStream({ autoClose: false })) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxFileBytes) throw tooLarge(name);
      }
      return Buffer.concat(chunks);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(path, error);
  }
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
