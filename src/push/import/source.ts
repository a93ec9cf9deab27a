import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeFolder, writeAtomicallySync } from '../../base/atomic-file.js';
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
import { fingerprint } from './cells.js';
import { type Header, parseHeader } from './header.js';
import type { ImportReport, ImportRow } from './preview.js';

/** Rows to import, and where they come from. */
export interface ImportSource {
  /** Of a file, only the cells of the columns that an import reads: the others are empty. */
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
  const grid = withUsedCells(await readSheet({ bytes, name }, options), name);
  return { grid, name, hash, bytes, ...options };
}

/**
 * The grid without the cells that an import does not read; of a summary, it only sees whether it was edited. 20,000 rows of `changes sheet` take 11 MB
 * then instead of 39, and an import that changes all of them 30 MB less.
 */
function withUsedCells(grid: Grid, name: string): Grid {
  const header = headerOf(grid, name);
  if (header === null) return grid;
  const { id, title, edited, baseAt, reason, pair } = header;
  const used = new Set([
    id.at,
    title?.at,
    baseAt,
    reason?.at,
    ...edited.flatMap(({ at, base }) => [at, base?.at]),
    ...(pair ? [...pair.ids, ...pair.titles, pair.keep].map((place) => place?.at) : []),
  ]);
  const readOnly = new Set(baseAt === null ? [] : header.readOnly.map(({ at }) => at));
  const short = (cell: Cell, at: number) =>
    typeof cell === 'string' && readOnly.has(at) ? fingerprint(cell) : null;
  const rows = grid.rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell, at) => (used.has(at) ? copied(cell) : short(cell, at))),
  }));
  return { ...grid, rows };
}

/** Null when the header makes no sense, which `prepareImport` reports. */
function headerOf({ columns, sheets }: Grid, name: string): Header | null {
  try {
    return parseHeader(columns, name, sheets);
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** A text that the reader cut out of a piece of the file keeps that piece in memory; a copy of the text does not. */
function copied(cell: Cell): Cell {
  return typeof cell === 'string' ? (JSON.parse(JSON.stringify(cell)) as string) : cell;
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

/** How long the copy of an imported file is kept. */
const maxAgeMs = 90 * 24 * 3_600_000;

/** An imported file as it was, and the outcome of each row: enough to write it back with results. */
export interface ImportCopy {
  readonly name: string;
  readonly grid: Grid;
  readonly rows: readonly ImportRow[];
}

/** What is saved as JSON: the grid only when there is no file beside it. */
type SavedImport = Omit<ImportCopy, 'grid'> & Partial<Pick<ImportCopy, 'grid'>> & SheetOptions;

/** Saves a copy of an imported file, so that a later push can write it back (`push --result`). Removes old copies. */
export function saveImportCopy(
  { dataDir }: { readonly dataDir: string },
  source: ImportSource,
  report: ImportReport,
): void {
  const { bytes, name, grid, sheet } = source;
  // SQL has neither a file nor a hash: its rows have no place to write results to.
  if (source.hash === null) return;
  const folder = importsFolder(dataDir);
  makeFolder(folder);
  const path = join(folder, report.importId);
  if (bytes) writeAtomicallySync(`${path}.file`, bytes);
  const saved: SavedImport = { name, sheet, rows: report.rows, ...(!bytes && { grid }) };
  writeAtomicallySync(`${path}.json`, JSON.stringify(saved));
  removeOldCopies(folder);
}

export function hasImportCopy({ dataDir }: { readonly dataDir: string }, importId: string): boolean {
  return existsSync(join(importsFolder(dataDir), `${importId}.json`));
}

/** The copy of an import; null when the import was not a file, or is too old. */
export async function readImportCopy(
  { dataDir }: { readonly dataDir: string },
  importId: string,
): Promise<ImportCopy | null> {
  const path = join(importsFolder(dataDir), importId);
  if (!hasImportCopy({ dataDir }, importId)) return null;
  const { name, sheet, rows, grid } = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as SavedImport;
  const read = () => readSheet({ bytes: readFileSync(`${path}.file`), name }, { sheet });
  return { name, rows, grid: grid ?? (await read()) };
}

export function importsFolder(dataDir: string): string {
  return join(dataDir, 'reports', 'imports');
}

function removeOldCopies(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > maxAgeMs) rmSync(path, { force: true });
  }
}
