import { realpathSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { UsageError } from '../base/errors.js';
import { Scope } from '../base/scope.js';
import { cellOf } from '../sheet/cells.js';
import type { Cell } from '../sheet/grid.js';
import { refuseExisting, writeSheetFile } from '../sheet/write.js';
import { type TableSheet, writeWorkbook } from '../sheet/write-workbook.js';
import { keptSnapshots } from '../warehouse/kept-snapshots.js';
import {
  type ChangedRow,
  type ComparedFile,
  type ComparedTable,
  FilePair,
} from '../warehouse/read/compare-files.js';
import { publishedIn } from '../warehouse/read/query.js';
import { filesOf } from '../warehouse/store/engine.js';
import { recordExport } from './audit.js';
import { readingLimitsOf, type Setup } from './setup.js';

/** `signalhouse diff`: what changed between two published files. Nothing but such files is opened, and read-only. */

export interface DiffReport {
  readonly old: ComparedFile;
  readonly new: ComparedFile;
  readonly notes: readonly string[];
  /** Tables that only one of the files has. */
  readonly onlyOld: readonly string[];
  readonly onlyNew: readonly string[];
  readonly tables: readonly (ComparedTable & { readonly examples: readonly ChangedRow[] })[];
  /** The workbook that was written; null without one. */
  readonly out: string | null;
}

interface DiffOptions {
  /** A path, or a day (`2026-11-20`): the newest kept snapshot up to then. */
  readonly old: string;
  /** The same; the published file of the data directory when absent. */
  readonly new: string | undefined;
  /** The tables to compare; those with data of the API when absent. */
  readonly tables: readonly string[] | undefined;
  /** The most rows of each kind that are listed of a table. */
  readonly limit: number;
  readonly out?: { readonly path: string; readonly force: boolean } | undefined;
  /** Told how to remove what was spilled, for a process that a signal ends. */
  readonly onOpen: (abandon: () => void) => void;
}

/** Compares. Raises UsageError for what cannot be compared, StorageError for a file that cannot be read. */
export async function diff(setup: Setup, options: DiffOptions): Promise<DiffReport> {
  const { config } = setup;
  const { limit, out } = options;
  if (out) checkOut(out);
  const paths = {
    old: fileOf(config.dataDir, 'old', options.old),
    new: options.new === undefined ? publishedIn(config.dataDir) : fileOf(config.dataDir, 'new', options.new),
  };
  if (realpathSync(paths.old) === realpathSync(paths.new))
    throw new UsageError(`${paths.old} would be compared with itself.`, [
      { setting: 'old', problem: 'must be another file than the new one' },
    ]);
  return Scope.run(async (scope) => {
    const pair = await FilePair.open(paths, readingLimitsOf(config), config.dataDir);
    scope.defer(() => pair.close());
    options.onOpen(() => pair.abandon());
    const tables: ComparedTable[] = [];
    for (const name of pair.tables(options.tables)) tables.push(await pair.compare(name));
    const file = out ? resolve(out.path) : null;
    if (out && file !== null) {
      const rows = await writeDifferences(out, pair, tables, limit);
      const differing = tables.filter(isDifferent).map(({ table }) => table);
      recordExport(setup, { tables: differing, format: 'xlsx', rows, file });
    }
    const listed: DiffReport['tables'][number][] = [];
    for (const one of tables) {
      const examples: ChangedRow[] = [];
      // A workbook has them instead.
      if (!out) for await (const row of pair.rows(one.table, limit)) examples.push(row);
      listed.push({ ...one, examples });
    }
    const [notes, onlyOld, onlyNew] = [pair.notes(), pair.only('old'), pair.only('new')];
    return { ...pair.files, notes, onlyOld, onlyNew, tables: listed, out: file };
  });
}

/** Whether anything of a table differs, or nobody can tell. */
export function isDifferent({ added, removed, changed }: ComparedTable): boolean {
  return added !== 0 || removed !== 0 || changed !== 0;
}

/** The published file that an argument names. */
function fileOf(dataDir: string, setting: 'old' | 'new', given: string): string {
  const found = statSync(given, { throwIfNoEntry: false });
  const wrong = (message: string, problem: string, hint?: string) =>
    new UsageError(message, [{ setting, problem }], hint === undefined ? {} : { hint });
  if (!found && /^\d{4}-\d{2}-\d{2}$/.test(given)) return keptUpTo(dataDir, setting, given);
  if (!found?.isFile())
    throw wrong(
      `${given} is not a file.`,
      'must be a published file, such as a copy of signals.duckdb, or a day such as 2026-11-20',
      keptText(dataDir),
    );
  const path = realpathSync(given);
  const { worker } = filesOf(dataDir);
  const live = statSync(worker, { throwIfNoEntry: false });
  if (path.endsWith('worker.duckdb') || (live?.ino === found.ino && live.dev === found.dev))
    throw wrong(
      `${given} is the live warehouse, which only the worker opens.`,
      'must be a published file, such as signals.duckdb',
    );
  return given;
}

/** The newest kept snapshot of a day or of an earlier one. */
function keptUpTo(dataDir: string, setting: string, day: string): string {
  const time = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 10) !== day)
    throw new UsageError(`${day} is not a day.`, [{ setting, problem: 'must be a day such as 2026-11-20' }]);
  const found = keptSnapshots(dataDir).find((one) => one.day <= day);
  if (found) return found.path;
  throw new UsageError(
    `No snapshot was kept up to ${day}.`,
    [{ setting, problem: 'must be the day of a kept snapshot, or a later one' }],
    { hint: keptText(dataDir) },
  );
}

function keptText(dataDir: string): string {
  const days = keptSnapshots(dataDir).map(({ day }) => day);
  return days.length === 0
    ? 'No snapshots are kept here: publish.keep in the settings keeps those of the next days.'
    : `Snapshots are kept of ${days.toReversed().join(', ')}.`;
}

function checkOut({ path, force }: NonNullable<DiffOptions['out']>): void {
  if (extname(path).toLowerCase() !== '.xlsx')
    throw new UsageError('The workbook cannot be written.', [
      { setting: '--out', problem: 'must end in .xlsx; --json prints the same for programs' },
    ]);
  refuseExisting(resolve(path), { overwrite: force });
}

const count = { type: 'count', width: 12 } as const;
const text = { type: 'text', width: 24 } as const;

/** Writes a workbook: the tables, the changed columns, the rows, and the files. Returns how many rows it lists. */
async function writeDifferences(
  { path, force }: NonNullable<DiffOptions['out']>,
  pair: FilePair,
  tables: readonly ComparedTable[],
  limit: number,
): Promise<number> {
  const { old, new: now } = pair.files;
  const summary: TableSheet = {
    name: 'tables',
    exactText: true,
    columns: [
      { key: 'table', ...text },
      ...['old rows', 'new rows', 'added', 'removed', 'changed'].map((key) => ({ key, ...count })),
      { key: 'note', ...text, width: 60 },
    ],
    rows: (function* (): Generator<readonly Cell[]> {
      for (const one of tables)
        yield [one.table, one.rows.old, one.rows.new, one.added, one.removed, one.changed, noteOf(one)];
    })(),
  };
  const columns: TableSheet = {
    name: 'columns',
    exactText: true,
    columns: [
      { key: 'table', ...text },
      { key: 'column', ...text },
      { key: 'changed rows', ...count, width: 14 },
    ],
    rows: tables.flatMap(({ table, columns }) =>
      Object.entries(columns).map(([column, rows]): readonly Cell[] => [table, column, rows]),
    ),
  };
  const cell = (value: Parameters<typeof cellOf>[0]) => cellOf(value, 'text');
  const rows: TableSheet = {
    name: 'rows',
    exactText: true,
    columns: [
      ...['table', 'change', 'key', 'what'].map((key) => ({ key, ...text })),
      ...['column', 'old', 'new'].map((key) => ({ key, ...text, width: 32 })),
    ],
    rows: (async function* (): AsyncGenerator<readonly Cell[]> {
      for (const { table } of tables) {
        for await (const row of pair.rows(table, limit)) {
          const head = [table, row.change, keyText(row), row.label];
          const changes = Object.entries(row.columns);
          if (changes.length === 0) yield [...head, null, null, null];
          for (const [column, values] of changes) yield [...head, column, cell(values.old), cell(values.new)];
        }
      }
    })(),
  };
  const only = (side: 'old' | 'new') =>
    pair.only(side).map((table): readonly Cell[] => [`only in the ${side} file`, table]);
  const files: TableSheet = {
    name: 'files',
    exactText: true,
    columns: [
      { key: 'what', ...text },
      { key: 'value', ...text, width: 100 },
    ],
    rows: [
      ['old file', old.path],
      ['published', old.publishedAt],
      ['new file', now.path],
      ['published', now.publishedAt],
      ...only('old'),
      ...only('new'),
      ...pair.notes().map((note): readonly Cell[] => ['note', note]),
    ],
  };
  let written = 0;
  await writeSheetFile(resolve(path), { overwrite: force }, async (file) => {
    const done = await writeWorkbook(file, [summary, columns, rows, files]);
    written = done[2]?.rows ?? 0;
  });
  return written;
}

/** The key of a row for people: its values, with commas between them. */
export function keyText({ key }: Pick<ChangedRow, 'key'>): string {
  return Object.values(key)
    .map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value)))
    .join(', ');
}

/** What else there is to say of a table; empty where there is nothing. */
export function noteOf({ key, added, changed, onlyOld, onlyNew, notCompared }: ComparedTable): string {
  const parts = [
    added === null ? 'its key is masked differently: only its rows are counted' : '',
    key === null && added !== null && (added > 0 || changed === 0) ? 'compared by whole rows' : '',
    onlyOld.length === 0 ? '' : `only the old file has ${onlyOld.join(', ')}`,
    onlyNew.length === 0 ? '' : `only the new file has ${onlyNew.join(', ')}`,
    notCompared.length === 0 || added === null ? '' : `masked differently: ${notCompared.join(', ')}`,
  ];
  return parts.filter((part) => part !== '').join('; ');
}
