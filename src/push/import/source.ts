import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Grid } from '../../sheet/grid.js';
import {
  bytesOf,
  readBytes,
  readRecords,
  readSheet,
  type SheetOptions,
  type SheetSource,
} from '../../sheet/read.js';

/** Rows to import, and where they come from. */
export interface ImportSource {
  readonly grid: Grid;
  /** The file's name, or `standard input`. */
  readonly name: string;
  /** SHA-256 of the content. */
  readonly hash: string;
  readonly bytes?: Uint8Array;
  readonly sheet?: string | undefined;
}

/** Reads a sheet. Raises what `readSheet` raises. */
export async function fromSheet(
  source: SheetSource | { readonly stream: AsyncIterable<Uint8Array>; readonly name: string },
  options: SheetOptions = {},
): Promise<ImportSource> {
  const bytes =
    'path' in source
      ? await readBytes(source.path)
      : 'stream' in source
        ? await bytesOf(source.stream, source.name)
        : source.bytes;
  const name = 'path' in source ? basename(source.path) : source.name;
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { grid: await readSheet({ bytes, name }, options), name, hash, bytes, ...options };
}

/** Reads JSON objects as rows, numbered from 1. Raises what `readRecords` raises. */
export function fromRecords(
  records: readonly Readonly<Record<string, unknown>>[],
  name: string,
): ImportSource {
  const grid = readRecords(records, name);
  const content = JSON.stringify([grid.columns, grid.rows]);
  return { grid, name, hash: createHash('sha256').update(content).digest('hex') };
}
