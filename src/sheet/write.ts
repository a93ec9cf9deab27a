import { extname } from 'node:path';
import { UsageError } from '../base/errors.js';
import type { Cell } from './grid.js';
import { place } from './place.js';
import type { SheetSpec, WriteOptions } from './spec.js';
import { writeDelimited } from './write-delimited.js';
import { writeWorkbook } from './write-workbook.js';

/**
 * Writes a sheet for people to edit, as the ending of `out` says: `.xlsx` with lists, colours and filters, or `.csv`
 * for Excel. Raises UsageError for another ending or a file that is there already (without `overwrite`), StorageError
 * when it cannot be written; the file appears whole or not at all.
 */
export async function writeSheet(out: string, sheet: SheetSpec, options: WriteOptions = {}): Promise<void> {
  const ending = extname(out).toLowerCase();
  if (ending === '.xlsx') return place(out, options, (file) => writeWorkbook(file, sheet));
  if (ending === '.csv')
    return place(out, options, (file) => writeDelimited(file, lines(sheet), { separator: ',' }));
  throw wrongEnding(out, '.xlsx or .csv');
}

/** The file's ending says how it is written, and this one says nothing. */
export function wrongEnding(out: string, endings: string): UsageError {
  return new UsageError(`${out} must end with ${endings}`, [], {
    hint: 'The ending says in which format it is written.',
  });
}

async function* lines({ columns, rows }: SheetSpec): AsyncGenerator<readonly Cell[]> {
  yield columns.map(({ key }) => key);
  for await (const row of rows) yield columns.map((_, at) => row[at] ?? null);
}
