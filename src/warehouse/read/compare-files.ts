import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { StorageError, UsageError } from '../../base/errors.js';
import { groupBy } from '../../base/group-by.js';
import type { Json } from '../../base/json.js';
import { keysOf, readModels } from '../load/models.js';
import { identifier, relationLabel, sqlFile, substitute } from '../sql.js';
import { openBoth, type ReadingLimits, type Snapshot } from './query.js';

/** What changed between two published files: rows by table and column. Everything is counted by DuckDB, which spills. */

/** One of the two files. */
export interface ComparedFile {
  readonly path: string;
  readonly bytes: number;
  /** When it was last written to. */
  readonly publishedAt: string;
  /** The number of the last migration of its tables; null where the file does not say. */
  readonly version: number | null;
  /** `none`: it has everything; null where it leaves something out and does not say what. */
  readonly profile: string | null;
}

export interface ComparedTable {
  /** As `sql` names it: `topics`, `ops.changes`. */
  readonly table: string;
  /** The columns that tell its rows apart; null where rows are compared as a whole. */
  readonly key: readonly string[] | null;
  readonly rows: { readonly old: number; readonly new: number };
  /** Null where no row of one file can be found in the other, because the key is masked in one of them. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly changed: number | null;
  /** The columns of changed rows, with the number of rows in which each has another value. */
  readonly columns: Readonly<Record<string, number>>;
  /** Columns that only one of the files has. */
  readonly onlyOld: readonly string[];
  readonly onlyNew: readonly string[];
  /** Columns that the files mask differently: their values say nothing about changes. */
  readonly notCompared: readonly string[];
}

/** A row that differs. */
export interface ChangedRow {
  readonly table: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly key: Readonly<Record<string, Json>>;
  /** Its title or name; null where it has none. */
  readonly label: string | null;
  /** What changed, by column. */
  readonly columns: Readonly<Record<string, { readonly old: Json; readonly new: Json }>>;
}

/** When and by which run a row was stored: no change of what it says. */
const bookkeeping: ReadonlySet<string> = new Set(['synced_at', 'run_id', 'fetched_at', 'answer_no']);

/** Columns that say what a row is, the best first. */
const labels = ['title', 'name', 'display_name', 'channel_name', 'label', 'source_title', 'field'];

interface Column {
  readonly name: string;
  readonly old: string;
  readonly new: string;
}

/** A table that both files have. */
interface Shared {
  readonly table: string;
  readonly schema: string;
  readonly name: string;
  readonly key: readonly string[] | null;
  readonly columns: readonly Column[];
  readonly onlyOld: readonly string[];
  readonly onlyNew: readonly string[];
  readonly notCompared: readonly string[];
}

/** What a file says about itself. */
interface Described extends ComparedFile {
  readonly organization: { readonly id: string; readonly name: string | null } | null;
  /** The method by column, `people.primary_email`; undefined where the file masks something and does not say what. */
  readonly masked: ReadonlyMap<string, string> | undefined;
}

type Side = 'old' | 'new';

/** The rows of each table by which the columns are found: a table by schema and name. */
interface CatalogRow {
  readonly file: Side;
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

/** Two published files, open read-only for a comparison. */
export class FilePair {
  readonly #shared: readonly Shared[];
  readonly #only: Readonly<Record<Side, readonly string[]>>;
  /** The compared tables whose differing rows can be listed. */
  readonly #listed = new Map<string, Shared & { readonly key: readonly string[] }>();

  private constructor(
    private readonly snapshot: Snapshot,
    private readonly described: Readonly<Record<Side, Described>>,
    catalog: readonly CatalogRow[],
  ) {
    const groups = groupBy(catalog, ({ schema, table }) => relationLabel(schema, table));
    const labelsOf = (side: Side) =>
      [...groups].flatMap(([label, rows]) => (rows.some(({ file }) => file === side) ? label : []));
    const [old, now] = [labelsOf('old'), labelsOf('new')];
    this.#only = {
      old: old.filter((label) => !now.includes(label)),
      new: now.filter((label) => !old.includes(label)),
    };
    this.#shared = old
      .filter((label) => now.includes(label))
      .map((label) => sharedOf(label, groups.get(label) ?? [], described));
  }

  /**
   * Opens both files. What is spilled goes into a folder in `spillIn`, or else into the system's folder for temporary files.
   * Raises UsageError for a file that signalhouse did not publish, for files of two organizations, and for a key that does
   * not fit; StorageError for a file that does not open.
   */
  static async open(
    paths: Readonly<Record<Side, string>>,
    limits: ReadingLimits,
    spillIn: string,
  ): Promise<FilePair> {
    const snapshot = await openBoth(paths, limits, spillIn);
    try {
      const catalog = await snapshot.rows<CatalogRow & Record<string, Json>>(sqlFile('diff/files'));
      const files = {
        old: await described(snapshot, 'old', paths.old, catalog),
        new: await described(snapshot, 'new', paths.new, catalog),
      };
      refuseOtherOrganization(files);
      return new FilePair(snapshot, files, catalog);
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  get files(): Readonly<Record<Side, ComparedFile>> {
    const { organization: _, masked: __, ...old } = this.described.old;
    const { organization: ___, masked: ____, ...now } = this.described.new;
    return { old, new: now };
  }

  /** Tables of the schema main that only one of the files has. */
  only(side: Side): readonly string[] {
    return this.#only[side].filter((label) => !label.includes('.'));
  }

  /** What a reader has to know to understand the differences. */
  notes(): string[] {
    const { old, new: now } = this.described;
    const notes: string[] = [];
    if (old.organization === null || now.organization === null)
      notes.push(
        'Whether both files belong to the same organization is not known: one of them does not say.',
      );
    if (old.profile !== now.profile)
      notes.push(
        `The files show different things: the old one has the profile ${old.profile ?? 'unknown'}, the new one ${now.profile ?? 'unknown'}. Columns that they mask differently are not compared.`,
      );
    if (old.masked === undefined || now.masked === undefined)
      notes.push('A file does not say what it masks: masked columns may count as changed.');
    if (old.version !== now.version && old.version !== null && now.version !== null)
      notes.push(
        `Two versions of signalhouse published the files (migration ${old.version}, and ${now.version}): only columns that both have are compared.`,
      );
    return notes;
  }

  /** The tables that both files have: those with data of the API, or those that are named. Raises UsageError for another name. */
  tables(named: readonly string[] = []): readonly string[] {
    const labels = this.#shared.map(({ table }) => table);
    if (named.length === 0) return labels.filter((label) => !label.includes('.'));
    const wanted = named.map((name) => name.toLowerCase().replace(/^main\./, ''));
    const problems = wanted.flatMap((name) => {
      if (labels.includes(name)) return [];
      const side = this.#only.old.includes(name) ? 'old' : this.#only.new.includes(name) ? 'new' : undefined;
      const where = side === undefined ? 'is a table of neither file' : `is a table of the ${side} file only`;
      return [{ setting: '--table', problem: `${name} ${where}. Both have ${labels.join(', ')}` }];
    });
    if (problems.length > 0) throw new UsageError('A table cannot be compared.', problems);
    return [...new Set(wanted)];
  }

  /** Compares one of `tables`. */
  async compare(table: string): Promise<ComparedTable> {
    const shared = this.#shared.find((one) => one.table === table);
    if (!shared) throw new Error(`${table} is not in both files`);
    try {
      return await this.#compared(shared);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new StorageError(`${table} cannot be compared: ${error.message}`, {
        hint: 'A file may be damaged: open each with signalhouse sql, or any DuckDB.',
        cause: error,
      });
    }
  }

  async #compared(shared: Shared): Promise<ComparedTable> {
    const { table, key, onlyOld, onlyNew, notCompared } = shared;
    const rows = { old: await this.#count('old', shared), new: await this.#count('new', shared) };
    const base = { table, key, rows, columns: {}, onlyOld, onlyNew, notCompared };
    const unknown = { ...base, key: null, added: null, removed: null, changed: null };
    if (notCompared.some((name) => keysByTable().get(table)?.includes(name))) return unknown;
    if (key !== null) {
      const found = await this.#byKey({ ...shared, key });
      if (found !== null) return { ...base, ...found };
    }
    if (shared.columns.length === 0) return unknown;
    const values = this.#texts(shared);
    await this.#run(substitute(sqlFile('diff/by_row'), values));
    const [counts = { added: 0, removed: 0 }] = await this.snapshot.rows<{ added: number; removed: number }>(
      substitute(sqlFile('diff/by_row_counts'), values),
    );
    return { ...base, key: null, ...counts, changed: 0 };
  }

  /** Null where the key does not tell the rows apart. */
  async #byKey(
    shared: Shared & { readonly key: readonly string[] },
  ): Promise<Pick<ComparedTable, 'added' | 'removed' | 'changed' | 'columns'> | null> {
    const values = this.#texts(shared);
    await this.#run(substitute(sqlFile('diff/by_key'), values));
    const [counts] = await this.snapshot.rows<{
      added: number;
      removed: number;
      changed: number;
      is_key: boolean;
    }>(substitute(sqlFile('diff/by_key_counts'), values));
    if (!counts?.is_key) {
      await this.#run(`DROP TABLE ${values.differing}`);
      return null;
    }
    const { added, removed, changed } = counts;
    this.#listed.set(shared.table, shared);
    const others = contentOf(shared);
    if (changed === 0) return { added, removed, changed, columns: {} };
    const hashes = (side: Side) =>
      others.map((one, at) => `hash(${comparedValue(one, side)}) AS c${at}`).join(', ');
    const [found = {}] = await this.snapshot.rows<Record<string, number>>(
      substitute(sqlFile('diff/columns'), {
        ...values,
        old_hashes: hashes('old'),
        new_hashes: hashes('new'),
        changed: others
          .map((_, at) => `count(*) FILTER (old_rows.c${at} <> new_rows.c${at}) AS c${at}`)
          .join(', '),
      }),
    );
    const byColumn = others
      .map(({ name }, at) => [name, found[`c${at}`] ?? 0] as const)
      .filter(([, count]) => count > 0)
      .sort(([, one], [, other]) => other - one);
    return { added, removed, changed, columns: Object.fromEntries(byColumn) };
  }

  /** The rows of a compared table that differ, at most `limit` of each kind; none where it has no key. */
  async *rows(table: string, limit: number): AsyncGenerator<ChangedRow> {
    const shared = this.#listed.get(table);
    if (!shared || limit === 0) return;
    const { key } = shared;
    const values = this.#texts(shared);
    const keyOf = (row: readonly Json[]) =>
      Object.fromEntries(key.map((name, at) => [name, row[at] ?? null] as const));
    const labelIn = (row: readonly Json[]) => {
      const label = row[key.length] ?? null;
      return label === null ? null : String(label);
    };
    for (const [difference, side] of [
      ['added', 'new'],
      ['removed', 'old'],
    ] as const) {
      const sql = substitute(sqlFile('diff/one_sided_rows'), {
        ...values,
        file: fileTable(side, shared),
        label: labelText(shared, 'one_row'),
      });
      const answer = await this.snapshot.bound(sql, { difference, limit });
      for await (const row of answer.rows)
        yield { table, change: difference, key: keyOf(row), label: labelIn(row), columns: {} };
    }
    const others = contentOf(shared);
    if (others.length === 0) return;
    const sql = substitute(sqlFile('diff/changed_rows'), {
      ...values,
      label: labelText(shared, 'new_row'),
      differ: others.map((one, at) => `CASE WHEN ${isOther(one)} THEN ${at} END`).join(', '),
      values: others
        .map(({ name }) => ['old', 'new'].map((side) => `${side}_row.${identifier(name)}`).join(', '))
        .join(', '),
    });
    const answer = await this.snapshot.bound(sql, { limit });
    for await (const row of answer.rows) {
      const differ = row[key.length + 1];
      const at = (index: number) => key.length + 2 + 2 * index;
      const changes = (Array.isArray(differ) ? differ.map(Number) : []).map(
        (index) =>
          [
            others[index]?.name ?? '',
            { old: row[at(index)] ?? null, new: row[at(index) + 1] ?? null },
          ] as const,
      );
      yield {
        table,
        change: 'changed',
        key: keyOf(row),
        label: labelIn(row),
        columns: Object.fromEntries(changes),
      };
    }
  }

  close(): void {
    this.snapshot.close();
  }

  /** Removes what was spilled, without closing anything: for a process that a signal ends now. */
  abandon(): void {
    this.snapshot.abandon();
  }

  async #count(side: Side, shared: Shared): Promise<number> {
    const [row] = await this.snapshot.rows<{ rows: number }>(
      `SELECT count(*) AS rows FROM ${fileTable(side, shared)}`,
    );
    return row?.rows ?? 0;
  }

  async #run(sql: string): Promise<void> {
    for await (const _ of (await this.snapshot.bound(sql)).rows);
  }

  #texts(shared: Shared): Record<string, string> {
    const { key, table } = shared;
    const content = key === null ? shared.columns : contentOf({ ...shared, key });
    // A row whose columns are all in its key is equal wherever its key is.
    const list = (side: Side) => ['0', ...content.map((one) => comparedValue(one, side))].join(', ');
    return {
      differing: `temp.${identifier(`differing ${table}`)}`,
      old: fileTable('old', shared),
      new: fileTable('new', shared),
      key: (key ?? []).map(identifier).join(', '),
      null_key: (key ?? []).map((name) => `${identifier(name)} IS NULL`).join(' OR '),
      old_row: list('old'),
      new_row: list('new'),
    };
  }
}

function fileTable(side: Side, { schema, name }: Shared): string {
  return [side, schema, name].map(identifier).join('.');
}

/** The columns that are compared, without those of the key. */
function contentOf({ columns, key }: Shared & { readonly key: readonly string[] }): readonly Column[] {
  return columns.filter(({ name }) => !key.includes(name));
}

/** A value to compare: as text where the two files have different types. */
function comparedValue(column: Column, side: Side): string {
  const value = `${side}_row.${identifier(column.name)}`;
  return column.old === column.new ? value : `${value}::VARCHAR`;
}

function isOther(column: Column): string {
  return `${comparedValue(column, 'old')} IS DISTINCT FROM ${comparedValue(column, 'new')}`;
}

function labelText({ columns, key }: Shared, row: string): string {
  const found = labels.find((label) => columns.some(({ name }) => name === label) && !key?.includes(label));
  return found === undefined ? 'NULL' : `${row}.${identifier(found)}::VARCHAR`;
}

let keys: ReadonlyMap<string, readonly string[]> | undefined;

/** The key of each table of the schema main, as its model says. */
function keysByTable(): ReadonlyMap<string, readonly string[]> {
  keys ??= keysOf(readModels());
  return keys;
}

function sharedOf(
  table: string,
  rows: readonly CatalogRow[],
  files: Readonly<Record<Side, Described>>,
): Shared {
  const [first] = rows;
  const ofSide = (side: Side) =>
    new Map(rows.flatMap((row) => (row.file === side ? [[row.name, row.type]] : [])));
  const [old, now] = [ofSide('old'), ofSide('new')];
  const both = [...now.keys()].filter((name) => old.has(name) && !bookkeeping.has(name));
  const notCompared = both.filter((name) => isMaskedOtherwise(`${table}.${name}`, files));
  const compared = both.filter((name) => !notCompared.includes(name));
  const key = keysByTable().get(table);
  return {
    table,
    schema: first?.schema ?? 'main',
    name: first?.table ?? table,
    key: key?.every((name) => compared.includes(name)) ? key : null,
    columns: compared.map((name) => ({ name, old: old.get(name) ?? '', new: now.get(name) ?? '' })),
    onlyOld: [...old.keys()].filter((name) => !now.has(name)),
    onlyNew: [...now.keys()].filter((name) => !old.has(name)),
    notCompared,
  };
}

/** Whether equal values of a column look different in the two files. Hashes, also by row, have another salt in each profile. */
function isMaskedOtherwise(column: string, { old, new: now }: Readonly<Record<Side, Described>>): boolean {
  const [method = '', other = ''] = [old.masked?.get(column), now.masked?.get(column)];
  return method !== other || (['hash', 'by row'].includes(method) && old.profile !== now.profile);
}

async function described(
  snapshot: Snapshot,
  side: Side,
  path: string,
  catalog: readonly CatalogRow[],
): Promise<Described> {
  const tables = new Set(
    catalog.filter(({ file }) => file === side).map((row) => relationLabel(row.schema, row.table)),
  );
  if (![...keysByTable().keys()].some((table) => tables.has(table)))
    throw new UsageError(`${path} is not a file that signalhouse published: it has none of its tables.`, [
      { setting: side, problem: 'must be a published file, such as signals.duckdb or a copy of it' },
    ]);
  const { size: bytes, mtime } = statSync(path);
  const [organization = null] = tables.has('organizations')
    ? await snapshot.rows<{ id: string; name: string | null }>(
        `SELECT id, to_json(o) ->> 'name' AS name FROM ${side}.organizations AS o WHERE id IS NOT NULL LIMIT 1`,
      )
    : [];
  const [last] = tables.has('ops.migrations')
    ? await snapshot.rows<{ version: number | null }>(
        `SELECT max(version)::INT AS version FROM ${side}.ops.migrations`,
      )
    : [];
  return {
    ...{ path, bytes, publishedAt: mtime.toISOString(), version: last?.version ?? null, organization },
    ...(await masksOf(snapshot, side, tables)),
  };
}

/** What a file leaves out and masks: one with the raw documents has everything, and another one lists itself. */
async function masksOf(
  snapshot: Snapshot,
  side: Side,
  tables: ReadonlySet<string>,
): Promise<Pick<Described, 'profile' | 'masked'>> {
  if (tables.has('raw.documents')) return { profile: 'none', masked: new Map() };
  const views = await snapshot.rows(
    `SELECT 1 FROM duckdb_views() WHERE database_name = $side AND schema_name = 'ops' AND view_name = 'published_files'`,
    { side },
  );
  const [listed] =
    views.length === 0
      ? []
      : await snapshot.rows<{ profile: string; masked: string[] }>(
          `SELECT profile, masked FROM ${side}.ops.published_files LIMIT 1`,
        );
  if (!listed) return { profile: null, masked: undefined };
  const masked = listed.masked.map((one) => one.split(': ') as [string, string]);
  return { profile: listed.profile === 'none' ? 'of its own' : listed.profile, masked: new Map(masked) };
}

function refuseOtherOrganization({ old, new: now }: Readonly<Record<Side, Described>>): void {
  if (!old.organization || !now.organization || old.organization.id === now.organization.id) return;
  const nameOf = ({ id, name }: NonNullable<Described['organization']>) =>
    name === null ? id : `${name} (${id})`;
  throw new UsageError(
    `${basename(old.path)} belongs to the organization ${nameOf(old.organization)}, and ${basename(now.path)} to ${nameOf(now.organization)}.`,
    [{ setting: 'old', problem: 'must be a file of the same organization' }],
  );
}
