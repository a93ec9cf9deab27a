import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDBConnection, ResultReturnType } from '@duckdb/node-api';
import { makeFolder, moveFile, syncFile, writeAtomicallySync } from '../base/atomic-file.js';
import { messageOf, StorageError, UsageError } from '../base/errors.js';
import { type Limits, refuseOfTheWorker, unfinished } from '../store/engine.js';
import { storageFault } from '../store/faults.js';
import { identifier, literal, relationLabel } from '../store/sql.js';
import { asUsageErrors, publishedIn, reading, type Snapshot } from './query.js';
import { plainError, queryError } from './statements.js';

/** `json` is one array, `ndjson` one object a line. */
export type ExportFormat = 'parquet' | 'csv' | 'json' | 'ndjson';

export interface Exported {
  /** The table or view; `query` for a query. */
  readonly name: string;
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
}

interface Options extends Limits {
  readonly dataDir: string;
  /** Replace existing files. */
  readonly force?: boolean;
}

/** How a CSV file is written for spreadsheet programs; without, it is for programs: the values as they are. */
export interface CsvOptions {
  /** Starts with a byte order mark, by which Excel recognizes UTF-8. */
  readonly bom?: boolean;
  /** An apostrophe in front of texts that a spreadsheet program would run as a formula. */
  readonly safeCells?: boolean;
}

const timestamps = "TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'";

/** Rows are collected before they are written: 20,000 documents of a few KB fit into any memory limit. */
const forms: Record<ExportFormat, string> = {
  parquet: 'FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480',
  csv: `FORMAT csv, HEADER true, ${timestamps}`,
  json: `FORMAT json, ARRAY true, ${timestamps}`,
  ndjson: `FORMAT json, ARRAY false, ${timestamps}`,
};

/**
 * Writes a table or view (`messages`, `raw.documents`) of the published snapshot, or the result of one query, to a file.
 * The file appears whole or not at all. Raises UsageError when it exists (without `force`), when there is no such table,
 * or when the query is not one SELECT.
 */
export async function exportQuery(
  what: { readonly table: string } | { readonly sql: string },
  options: Options & CsvOptions & { readonly format: ExportFormat; readonly out: string },
): Promise<Exported> {
  const out = resolve(options.out);
  refuseOfTheWorker(options.dataDir, out);
  refuseExisting([out], options.force);
  if (!existsSync(dirname(out))) throw new UsageError(`there is no folder ${dirname(out)}`);
  const temporary = temporaryFor(out);
  const published = publishedIn(options.dataDir);
  const done = await reading(published, options, [temporary], async (snapshot, connection) => {
    const name = 'table' in what ? what.table : 'query';
    const select =
      'table' in what
        ? `FROM ${(await relationIn(snapshot, what.table)).sql}`
        : `FROM (${await snapshot.oneSelect(what.sql)}\n)`;
    const { format, bom = false, safeCells = false } = options;
    return write(connection, { name, select, format, out, temporary, bom, safeCells });
  });
  moveFile(temporary, out);
  return done;
}

/** What was exported together: it is written last, so that the files belong together where it is. */
interface Manifest {
  /** The last run in the snapshot; null where the file has no runs. */
  readonly run: string | null;
  /** The last migration of its tables; null where the file does not say. */
  readonly schema_version: number | null;
  readonly tables: readonly {
    readonly name: string;
    readonly file: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
  }[];
}

const manifestName = 'manifest.json';

/**
 * Writes every table and view, without the users' own, to a folder: a folder of its name for each, with the schema in front for
 * `raw` and `ops` (`raw.documents`), with one Parquet file, and a manifest. No file is replaced before all are written; `stop`
 * ends it between two tables with its reason, and leaves the existing files.
 */
export async function exportAll(
  options: Options & { readonly dir: string; readonly stop?: AbortSignal | undefined },
): Promise<Exported[]> {
  const dir = resolve(options.dir);
  try {
    makeFolder(dir);
  } catch (error) {
    throw new StorageError(`${dir} cannot be created: ${messageOf(error)}`, { cause: error });
  }
  const published = publishedIn(options.dataDir);
  const relations = await reading(published, options, [], withoutUserViews);
  const plan = relations.map(({ label, sql }) => {
    const out = join(dir, label, 'data.parquet');
    return {
      name: label,
      select: `FROM ${sql}`,
      format: 'parquet' as const,
      out,
      temporary: temporaryFor(out),
    };
  });
  refuseExisting(
    plan.map(({ out }) => out),
    options.force,
  );
  const paths = plan.map(({ temporary }) => temporary);
  for (const { out } of plan) makeFolder(dirname(out));
  try {
    return await reading(published, options, paths, async (snapshot, connection) => {
      const done: Exported[] = [];
      for (const step of plan) {
        options.stop?.throwIfAborted();
        done.push(await write(connection, step));
      }
      const manifest = JSON.stringify(await manifestOf(snapshot, dir, plan, done), null, 2);
      rmSync(join(dir, manifestName), { force: true });
      for (const { temporary, out } of plan) moveFile(temporary, out);
      writeAtomicallySync(join(dir, manifestName), `${manifest}\n`);
      return done;
    });
  } catch (error) {
    for (const path of paths) rmSync(path, { force: true });
    throw error;
  }
}

async function manifestOf(
  snapshot: Snapshot,
  dir: string,
  plan: readonly Step[],
  done: readonly Exported[],
): Promise<Manifest> {
  const last = async (table: string, value: string) => {
    const [has] = await snapshot.rows(
      `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'ops' AND table_name = '${table}'`,
    );
    const [row] = has
      ? await snapshot.rows<{ last: string }>(`SELECT ${value} AS last FROM ops.${table}`)
      : [];
    return row?.last ?? null;
  };
  const schema = await last('migrations', 'max(version)');
  const tables: Manifest['tables'][number][] = [];
  for (const [at, { name, path, rows, bytes }] of done.entries()) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(plan[at]?.temporary ?? path), hash);
    tables.push({ name, file: relative(dir, path), rows, bytes, sha256: hash.digest('hex') });
  }
  const run = await last('runs', 'arg_max(run_id, started_at)');
  return { run, schema_version: schema === null ? null : Number(schema), tables };
}

interface Step extends CsvOptions {
  readonly name: string;
  readonly select: string;
  readonly format: ExportFormat;
  readonly out: string;
  readonly temporary: string;
}

async function write(connection: DuckDBConnection, step: Step): Promise<Exported> {
  const select = await withPlainTypes(connection, step);
  try {
    const rows = await copied(
      connection,
      `COPY (${select}\n) TO ${literal(step.temporary)} (${forms[step.format]})`,
    );
    if (step.bom) await prependMark(step.temporary);
    // DuckDB leaves that to the umask of the process.
    chmodSync(step.temporary, 0o600);
    syncFile(step.temporary);
    return { name: step.name, path: step.out, rows, bytes: statSync(step.temporary).size };
  } catch (error) {
    rmSync(step.temporary, { force: true });
    const plain = plainError(error);
    const fault = storageFault(plain, dirname(step.out));
    if (fault !== plain || error instanceof StorageError) throw fault;
    throw queryError(error);
  }
}

/** Runs one COPY; returns how many rows it wrote. DuckDB runs that of a PIVOT as several statements. */
async function copied(connection: DuckDBConnection, sql: string): Promise<number> {
  const statements = await connection.extractStatements(sql);
  let rows = 0;
  for (let index = 0; index < statements.count; index += 1) {
    const prepared = await statements.prepare(index);
    try {
      const result = await prepared.run();
      if (result.returnType === ResultReturnType.CHANGED_ROWS)
        rows = Number((await result.getRowsJS())[0]?.[0]);
    } finally {
      prepared.destroySync();
    }
  }
  return rows;
}

/** DuckDB cannot write a byte order mark. */
async function prependMark(path: string): Promise<void> {
  const marked = `${path}.bom`;
  try {
    await pipeline(
      async function* () {
        yield '\uFEFF';
        yield* createReadStream(path);
      },
      createWriteStream(marked, { mode: 0o600 }),
    );
    renameSync(marked, path);
  } catch (error) {
    rmSync(marked, { force: true });
    throw new StorageError(`${path} cannot be written: ${messageOf(error)}`, {
      hint: 'A file with a byte order mark needs its size on the disk twice while it is written.',
      cause: error,
    });
  }
}

/**
 * Text that a spreadsheet program would run: `neutralized` of sheet/formula-injection.ts in RE2, whose \\s is ASCII only.
 * The sheet reader takes the apostrophe away again.
 */
const blanks = String.raw`[\t\n\x0b\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`;
const formula = `^'*${blanks}*[=+\\-@\\t\\r\\n＝＋－＠]`;

/** The query of a step, with the types that its format does not have turned into text. */
async function withPlainTypes(
  connection: DuckDBConnection,
  { select, format, safeCells = false }: Step,
): Promise<string> {
  const expressionOf = expressions[format];
  if (!expressionOf) return select;
  const described = await asUsageErrors(() => connection.run(`DESCRIBE ${select}`));
  const columns = (await described.getRowsJS()) as [name: string, type: string][];
  const replaced = columns.flatMap(([name, type]) => {
    const expression = expressionOf(identifier(name), type, safeCells);
    return expression === undefined ? [] : [`${expression} AS ${identifier(name)}`];
  });
  return replaced.length === 0 ? select : `SELECT * REPLACE (${replaced.join(', ')}) FROM (${select}\n)`;
}

/** What to write in place of a column of this type; undefined for the column itself. */
type ExpressionOf = (column: string, type: string, safeCells: boolean) => string | undefined;

const expressions: Partial<Record<ExportFormat, ExpressionOf>> = {
  csv: csvExpression,
  parquet: parquetExpression,
  json: jsonExpression,
  ndjson: jsonExpression,
};

/** CSV has no lists: they are written as JSON, which other programs can read. */
function csvExpression(column: string, type: string, safeCells: boolean): string | undefined {
  if (/[[\](]/.test(type) && !/^(DECIMAL|ENUM)/.test(type)) return `to_json(${column})::VARCHAR`;
  if (!safeCells || !/^(VARCHAR|ENUM)/.test(type)) return undefined;
  const text = `${column}::VARCHAR`;
  return `CASE WHEN regexp_matches(${text}, ${literal(formula)}) THEN '''' || ${text} ELSE ${text} END`;
}

/** JSON has no infinity and no NaN, as of a division by zero: they are text, as in the output of `sql --json`. */
function jsonExpression(column: string, type: string): string | undefined {
  if (type !== 'DOUBLE' && type !== 'FLOAT') return undefined;
  return `CASE WHEN isnan(${column}) THEN '"NaN"' WHEN isinf(${column}) THEN if(${column} > 0, '"Infinity"', '"-Infinity"')
    ELSE to_json(${column}) END::JSON`;
}

/**
 * JSON and INTERVAL are text, also within lists and structs: pyarrow 26 reads the JSON of Parquet as an extension type and
 * its INTERVAL as 12 bytes, on which polars 2.1 fails, and Parquet drops the microseconds. A HUGEINT, as of each sum of
 * integers, would be a DOUBLE, which rounds it; one that a BIGINT cannot hold ends the export. (pandas reads a DECIMAL as objects.)
 */
function parquetExpression(column: string, type: string): string | undefined {
  const plain = type.replace(quotedOrReplaced, (part, replaced?: string) =>
    replaced === undefined ? part : replaced.endsWith('HUGEINT') ? 'BIGINT' : 'VARCHAR',
  );
  return plain === type ? undefined : `${column}::${plain}`;
}

/** A quoted name or value, or one of these types. A name that is not quoted stands before a type, never before these signs. */
const quotedOrReplaced = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(JSON|INTERVAL|U?HUGEINT)(?=$|[,)[])/g;

/** A table or view of the published file. */
export interface Relation {
  /** The name that a user types: with the schema in front for `raw` and `ops`. */
  readonly label: string;
  /** Its name within SQL. */
  readonly sql: string;
}

/** Every table and view of a snapshot, `main` first. */
export async function relationsIn(snapshot: Snapshot): Promise<Relation[]> {
  const rows = await snapshot.rows<{ schema: string; name: string }>(`
    SELECT * FROM (
      SELECT schema_name AS schema, table_name AS name FROM duckdb_tables() WHERE NOT internal AND NOT temporary
      UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary)
    ORDER BY schema <> 'main', schema, name`);
  return rows.map(({ schema, name }) => ({
    label: relationLabel(schema, name),
    sql: `${identifier(schema)}.${identifier(name)}`,
  }));
}

/** The table or view that a user means. Raises UsageError, with what there is, when there is none. */
export async function relationIn(snapshot: Snapshot, wanted: string): Promise<Relation> {
  const relations = await relationsIn(snapshot);
  const found = relations.find(({ label }) => label === wanted.toLowerCase().replace(/^main\./, ''));
  if (found) return found;
  const leftOut = await snapshot.leftOut();
  const hint = `There are: ${relations.map(({ label }) => label).join(', ')}.`;
  throw new UsageError(`there is no table or view ${wanted}`, [], {
    hint: leftOut === undefined ? hint : `${leftOut} ${hint}`,
  });
}

/** Users' own views may fail or never end. */
async function withoutUserViews(snapshot: Snapshot): Promise<Relation[]> {
  const relations = await relationsIn(snapshot);
  if (!relations.some(({ label }) => label === 'ops.user_views')) return relations;
  const created = await snapshot.rows<{ name: string }>(
    'SELECT DISTINCT unnest(creates) AS name FROM ops.user_views',
  );
  const theirs = new Set(created.map(({ name }) => name));
  return relations.filter(({ label }) => !theirs.has(label));
}

function refuseExisting(paths: readonly string[], force = false): void {
  if (force) return;
  const existing = paths.filter((path) => existsSync(path));
  if (existing.length === 0) return;
  throw new UsageError(
    'the export would replace files that exist',
    existing.map((path) => ({ setting: path, problem: 'exists' })),
    { hint: 'Pass --force to replace them, or choose another place.' },
  );
}

/** In the same folder, because a rename across disks is a copy. */
function temporaryFor(out: string): string {
  return join(dirname(out), `${unfinished}${process.pid}-${basename(out)}`);
}
