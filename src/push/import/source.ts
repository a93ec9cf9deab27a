import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import { statementsIn } from '../../base/sql-text.js';
import { type Cell, type Grid, maxRows } from '../../sheet/grid.js';
import {
  bytesOf,
  readBytes,
  readRecords,
  readSheet,
  type SheetOptions,
  type SheetSource,
} from '../../sheet/read.js';
import type { Snapshot } from '../../warehouse/read/query.js';

/** Rows to import, and where they come from. */
export interface ImportSource {
  readonly grid: Grid;
  /** The file's name, `standard input` or `SQL`. */
  readonly name: string;
  /** SHA-256 of the content; null for SQL, which may be imported again on purpose. */
  readonly hash: string | null;
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

/** Reads the rows of one SELECT on the published file, numbered from 1. Raises UsageError. */
export async function fromSql(snapshot: Snapshot, sql: string): Promise<ImportSource> {
  const rows: { number: number; cells: Cell[] }[] = [];
  const { length } = statementsIn(sql);
  if (length !== 1) throw sqlError(length === 0 ? 'has no statement' : 'has more than one statement');
  const cellOf = (value: Json) => {
    // Unlike that of a cell of a spreadsheet, such an integer is exact.
    if (Number.isSafeInteger(value)) return String(value);
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  };
  const answer = await snapshot.onlyAnswer(sql);
  for await (const row of answer.rows) {
    if (rows.length === maxRows) throw sqlError(`returns more than ${maxRows.toLocaleString('en-US')} rows`);
    rows.push({ number: rows.length + 1, cells: row.map(cellOf) });
  }
  const columns = answer.columns.map(({ name }) => name);
  return { grid: { columns, headerRow: 0, rows, notes: [] }, name: 'SQL', hash: null };
}

function sqlError(problem: string): UsageError {
  return new UsageError('The SQL cannot be imported.', [{ setting: '--sql', problem }], {
    hint: 'Pass one SELECT, e.g. --sql "SELECT id AS topic_id, \'high\' AS priority FROM topics WHERE …".',
  });
}
