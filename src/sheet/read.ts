import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { StorageError } from '../base/errors.js';
import { type Grid, headerHint, maxFileBytes, saveAsHint, sheetError } from './grid.js';
import { readDelimited } from './read-delimited.js';
import { readWorkbook } from './read-workbook.js';

/** A file, or bytes with the name that messages use for them (`standard input`). */
export type SheetSource = { readonly path: string } | { readonly bytes: Uint8Array; readonly name: string };

/**
 * Reads a sheet that a person made: .xlsx, or text with commas, semicolons, tabs or bars between the cells. The content
 * decides which, not the name. Text that was protected against formula injection comes back as it was; text that looks
 * like a number stays text in a text file. Raises UsageError, with what to do, for a file that is not a spreadsheet, is
 * damaged, or exceeds the limits; memory stays bounded for any file.
 */
export async function readSheet(source: SheetSource): Promise<Grid> {
  const name = 'path' in source ? basename(source.path) : source.name;
  const bytes = 'path' in source ? await readBytes(source.path) : source.bytes;
  if (bytes.length > maxFileBytes) throw tooLarge(name);
  return formatOf(bytes, name) === 'zip' ? readWorkbook(bytes, name) : readDelimited(bytes, name);
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
      throw sheetError(
        name,
        'is password-protected',
        'Remove the password in Excel, save it, and try again.',
      );
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
