import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { StorageError } from '../base/errors.js';
import { readDelimited } from './delimited.js';
import { formOf } from './form.js';
import type { Grid } from './grid.js';
import { maxFileBytes } from './limits.js';
import { refusal } from './refusal.js';
import { readWorkbook } from './workbook.js';

/** A file, or bytes under the name that messages shall call them (`standard input`). */
export type SheetSource = { readonly path: string } | { readonly bytes: Uint8Array; readonly name: string };

/**
 * Reads a sheet that a person made: .xlsx, or text with commas, semicolons, tabs or bars between the cells. What it is
 * is told by its content, not by its name. Text that was neutralised comes back as it was; text that looks like a
 * number stays text in a text file. Raises UsageError for what is no sheet, is damaged, or is larger than the limits,
 * with what to do; memory stays bounded for any file.
 */
export async function readSheet(source: SheetSource): Promise<Grid> {
  const name = 'path' in source ? basename(source.path) : source.name;
  const bytes = 'path' in source ? await readBytes(source.path) : source.bytes;
  if (bytes.length > maxFileBytes) throw tooLarge(name);
  return formOf(bytes, name) === 'zip' ? readWorkbook(bytes, name) : readDelimited(bytes, name);
}

/** The bytes of a file, up to what a sheet may have. Raises UsageError or StorageError. */
export async function readBytes(path: string): Promise<Uint8Array> {
  const name = basename(path);
  try {
    const file = await open(path);
    try {
      const found = await file.stat();
      if (found.isDirectory()) throw refusal(path, 'is a folder, not a sheet', 'Name a file in it.');
      if (found.size > maxFileBytes) throw tooLarge(name);
      // What is no plain file (a pipe) has no size: it is read up to the limit and not beyond.
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of file.createReadStream({ autoClose: false })) {
        pieces.push(piece);
        size += piece.length;
        if (size > maxFileBytes) throw tooLarge(name);
      }
      return Buffer.concat(pieces);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

function tooLarge(name: string): Error {
  const limit = maxFileBytes / 1024 / 1024;
  return refusal(name, `is larger than ${limit} MB`, 'Split it, or delete the columns that are not needed.');
}

function unreadable(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return refusal(path, 'does not exist', 'Look at its path.', error);
  if (code === 'EACCES' || code === 'EPERM') {
    return refusal(
      path,
      'may not be read',
      'Look at its permissions, and whether a program holds it open.',
      error,
    );
  }
  if (code === undefined) return error;
  return new StorageError(`${path} cannot be read: ${String(code)}`, { cause: error });
}
