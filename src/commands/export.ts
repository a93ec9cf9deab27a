import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { z } from 'zod';
import { iso, systemClock } from '../base/clock.js';
import { ExitCode, type Problem, UsageError } from '../base/errors.js';
import type { Json } from '../base/json.js';
import { bytes, count, counted } from '../base/units.js';
import { recordExport, refuseUnrecorded } from '../privacy/audit.js';
import type { PersonData } from '../privacy/person-data.js';
import {
  type CsvOptions,
  type Exported,
  type ExportFormat,
  exportAll,
  exportQuery,
  relationIn,
  relationsIn,
} from '../read/export.js';
import type { Snapshot } from '../read/query.js';
import { withSnapshot } from '../read/snapshot.js';
import { cellOf, columnTypeOf } from '../sheet/cells.js';
import type { Cell, SheetColumn } from '../sheet/grid.js';
import { refuseExisting, writeSheetFile } from '../sheet/write.js';
import { type TableSheet, type WrittenTable, writeWorkbook } from '../sheet/write-workbook.js';
import { readingLimitsOf } from '../store/memory.js';
import { countsTable, sections, table } from '../view/text.js';
import { command, text, toggle, wait } from './command.js';
import { notHeldText } from './forget.js';
import { cleanFiles } from './forget-files.js';
import { type Setup, setUp } from './setup.js';
import { type WorkerOptions, withWarehouse } from './worker.js';

type Format = ExportFormat | 'xlsx';
const formats = ['parquet', 'csv', 'xlsx', 'json', 'ndjson'] as const satisfies readonly Format[];
const byExtension: Readonly<Record<string, Format>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.xlsx': 'xlsx',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

const flags = {
  table: text.optional().describe('A table or view, e.g. backlog or raw.documents'),
  query: text.optional().describe('Export the result of a SELECT instead of a table'),
  all: toggle.describe(
    'Export every table and view: to a directory with a folder for each and a manifest.json, or to an .xlsx file with a sheet for each',
  ),
  format: z
    .enum(formats, `must be one of ${formats.join(', ')}`)
    .optional()
    .describe(`${formats.join(', ')} (default: by file extension)`),
  person: text
    .optional()
    .describe(
      'Everything that is held about one person (id or e-mail address), without data of others, as JSON',
    ),
  out: text.optional().describe('File to write; with --all, the directory'),
  bom: toggle.describe('CSV: start with a byte order mark, so that Excel reads it as UTF-8'),
  safeCells: toggle.describe(
    'CSV: put an apostrophe before text that a spreadsheet program would run as a formula',
  ),
  force: toggle.describe('Overwrite existing files'),
  wait: wait.describe('--person: wait while another process holds the warehouse'),
};
type Flags = z.output<z.ZodObject<typeof flags>>;

export const exportTables = command({
  usage: '[table]',
  examples: [
    ['signalhouse export backlog --out backlog.csv', 'A view as CSV'],
    ['signalhouse export backlog --out backlog.xlsx', 'For Excel, without formulas'],
    ['signalhouse export messages --out messages.parquet --force', 'A table'],
    ['signalhouse export --query "FROM topics" --out t.json', 'A query result as JSON'],
    ['signalhouse export --all --out warehouse', 'Everything, as Parquet'],
    ['signalhouse export --person 90210 --out request-17.json', 'What is held of one'],
  ],
  input: flags,
  async run(given, context): Promise<PersonReport | (Exported | ExportedSheet)[]> {
    const task = taskOf(given);
    const setup = await setUp(context);
    const { force, wait } = given;
    if ('person' in task) return exportPerson(setup, task.person, { out: task.out, force, wait });
    if ('workbook' in task) return exportWorkbook(setup, task.workbook, { out: task.out, force });
    if ('dir' in task) return exportEverything(setup, task.dir, force);
    return [await exportOne(setup, task.what, { ...task, force })];
  },
  show(done) {
    if (!Array.isArray(done)) return personText(done);
    const sheets = done.flatMap((one) => ('cutCells' in one ? one : []));
    return sheets.length > 0 ? workbookText(sheets) : doneText(done);
  },
});

/** A table or view, or the result of a query. */
type Named = { readonly table: string } | { readonly sql: string };

type Task =
  | { readonly person: string; readonly out: string }
  | { readonly dir: string }
  | { readonly workbook: Named | 'everything'; readonly out: string }
  | {
      readonly what: Named;
      readonly out: string;
      readonly format: ExportFormat;
      readonly bom: boolean;
      readonly safeCells: boolean;
    };

/** What to write where. Throws UsageError with every problem. */
function taskOf(given: Flags): Task {
  const { table: name, query, all, person, format: asked, out, bom, safeCells } = given;
  const problems: Problem[] = [];
  const wrong = (setting: string, problem: string) => problems.push({ setting, problem });
  const chosen = [name !== undefined, query !== undefined, all, person !== undefined].filter(Boolean).length;
  if (chosen !== 1) wrong('arguments', 'give one of: a table, --query, --all, --person');
  if (out === undefined) wrong('--out', 'is required: the file (or directory) to write');
  const csvFlags = [...(bom ? ['--bom'] : []), ...(safeCells ? ['--safe-cells'] : [])];
  if (person !== undefined) {
    for (const flag of [...(asked === undefined ? [] : ['--format']), ...csvFlags])
      wrong(flag, 'is not for --person, which writes JSON');
    if (problems.length > 0 || out === undefined) throw new UsageError('The export cannot start.', problems);
    return { person, out };
  }
  const ofFile = byExtension[extname(out ?? '').toLowerCase()];
  const format = asked ?? (all && ofFile !== 'xlsx' ? 'parquet' : ofFile);
  if (all && format !== 'parquet' && format !== 'xlsx')
    wrong('--format', 'must be parquet or xlsx with --all');
  if (out !== undefined && format === undefined)
    wrong('--format', `is required: the extension of ${out} is not known`);
  const why = format === 'xlsx' ? ': an .xlsx file needs neither, its text is UTF-8 and never a formula' : '';
  if (format !== undefined && format !== 'csv') for (const flag of csvFlags) wrong(flag, `is for CSV${why}`);
  if (problems.length > 0 || out === undefined || format === undefined)
    throw new UsageError('The export cannot start.', problems);
  const what = query === undefined ? { table: name ?? '' } : { sql: query };
  if (format === 'xlsx') return { workbook: all ? 'everything' : what, out };
  return all ? { dir: out } : { what, out, format, bom, safeCells };
}

function personText({ outcome, who, ids, held, leftOut, out }: PersonReport): string {
  if (outcome === 'nothing_held') return `${notHeldText('person', [who])} Nothing was written.`;
  return sections([
    [`Written: ${out}`, ids.length > 1 ? `People who were merged: ${ids.join(', ')}` : null],
    ['Rows that forget would change', countsTable('documents or table', 'rows', held)],
    [
      'Left out, because it is about others',
      table(
        ['column'],
        leftOut.map((one) => [one]),
        100,
      ),
    ],
  ]);
}

function workbookText(sheets: readonly ExportedSheet[]): string {
  const [first] = sheets;
  const rows = sheets.reduce((sum, one) => sum + one.rows, 0);
  const cut = sheets.reduce((sum, { cutCells }) => sum + cutCells, 0);
  const lines = [
    `${first?.path}: ${counted(sheets.length, 'sheet')}, ${counted(rows, 'row')}, ${bytes(first?.bytes ?? 0)}`,
  ];
  if (cut > 0) {
    lines.push(
      `${counted(cut, 'cell')} cut: a cell of an .xlsx file holds 32,767 characters. Export to .csv or .parquet for the whole text.`,
    );
  }
  return lines.join('\n');
}

function doneText(done: readonly Exported[]): string {
  const [only] = done;
  if (done.length === 1 && only) return `${only.path}: ${count(only.rows)} rows, ${bytes(only.bytes)}`;
  return table(
    ['name', 'rows#', 'size#'],
    done.map((one) => [one.name, one.rows, bytes(one.bytes)]),
  );
}

/** `signalhouse export`: files for other programs, of the published snapshot. */

/** Writes a table, a view or a query result of the published snapshot to a file. */
export async function exportOne(
  setup: Setup,
  what: Named,
  to: CsvOptions & { readonly out: string; readonly format: ExportFormat; readonly force: boolean },
): Promise<Exported> {
  refuseUnrecorded(setup);
  const done = await exportQuery(what, { ...readingLimitsOf(setup.config), ...to });
  const tables =
    'table' in what
      ? [what.table]
      : await withSnapshot(setup, async (snapshot) => snapshot.tablesOf(what.sql));
  recordExport(setup, { tables, format: to.format, rows: done.rows, file: done.path });
  return done;
}

/** Writes every table and view of the published snapshot to a folder. */
export async function exportEverything(
  setup: Setup,
  dir: string,
  force: boolean,
  stop?: AbortSignal,
): Promise<Exported[]> {
  refuseUnrecorded(setup);
  const done = await exportAll({ ...readingLimitsOf(setup.config), dir, force, stop });
  const rows = done.reduce((sum, one) => sum + one.rows, 0);
  recordExport(setup, { tables: done.map(({ name }) => name), format: 'parquet', rows, file: resolve(dir) });
  return done;
}

/** A table in a workbook; `bytes` is the size of the whole file. */
interface ExportedSheet extends Exported {
  /** Cells whose text was longer than a cell can hold, and was cut. */
  readonly cutCells: number;
}

/**
 * Writes an .xlsx file with a sheet for each table. Text is text, never a formula; a number that a spreadsheet program
 * cannot hold exactly is text. The file appears whole or not at all. Raises UsageError when a table has more rows or
 * columns than a sheet can have, when the file exists (without `force`), and what `exportQuery` raises.
 */
async function exportWorkbook(
  setup: Setup,
  content: Named | 'everything',
  { out, force }: { readonly out: string; readonly force: boolean },
): Promise<ExportedSheet[]> {
  const path = resolve(out);
  refuseUnrecorded(setup);
  return withSnapshot(setup, async (snapshot) => {
    const selects = await selectsOf(snapshot, content);
    const tables: TableSheet[] = [];
    for (const { name, select } of selects) {
      const columns = await columnsOf(snapshot, select);
      const rows = rowsOf(snapshot, select, columns);
      tables.push({ name: sheetName(name, tables), columns, rows, exactText: true });
    }
    let written: readonly WrittenTable[] = [];
    await writeSheetFile(path, { overwrite: force }, async (file) => {
      written = await writeWorkbook(file, tables);
    });
    const { size: bytes } = await stat(path);
    const names = selects.map(({ name }) => name);
    const ofQuery = typeof content === 'object' && 'sql' in content ? content.sql : null;
    const count = written.reduce((sum, one) => sum + one.rows, 0);
    recordExport(setup, {
      tables: ofQuery === null ? names : snapshot.tablesOf(ofQuery),
      format: 'xlsx',
      rows: count,
      file: path,
    });
    return written.map((one, at) => ({ name: names[at] ?? '', path, ...one, bytes }));
  });
}

/** The name and query of each export. */
async function selectsOf(
  snapshot: Snapshot,
  content: Named | 'everything',
): Promise<{ readonly name: string; readonly select: string }[]> {
  if (content !== 'everything' && 'sql' in content)
    return [{ name: 'query', select: `FROM (${await snapshot.oneSelect(content.sql)}\n)` }];
  const wanted =
    content === 'everything' ? await relationsIn(snapshot) : [await relationIn(snapshot, content.table)];
  return wanted.map(({ label, sql }) => ({
    name: content === 'everything' ? label : content.table,
    select: `FROM ${sql}`,
  }));
}

/** Excel keeps this name for a sheet of its own, and calls a file with another one corrupt. */
const reserved = 'history';

/** A name that a sheet can have, and that no other has: Excel allows 31 characters, in any case. */
function sheetName(name: string, others: readonly TableSheet[]): string {
  const taken = new Set([reserved, ...others.map((one) => one.name.toLowerCase())]);
  const allowed = name.replace(/[[\]:*?/\\]/g, '_').slice(0, 31);
  let free = allowed;
  for (let at = 2; taken.has(free.toLowerCase()); at++) free = `${allowed.slice(0, 28)}_${at}`;
  return free;
}

const widths = { text: 28, number: 12, count: 12, boolean: 10, time: 20, date: 12 } as const;

async function columnsOf(snapshot: Snapshot, select: string): Promise<SheetColumn[]> {
  const described = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${select}`);
  return described.map(({ column_name: key, column_type: duckdb }) => {
    const type = columnTypeOf(duckdb);
    return { key, type, width: widths[type] };
  });
}

async function* rowsOf(
  snapshot: Snapshot,
  select: string,
  columns: readonly SheetColumn[],
): AsyncGenerator<readonly Cell[]> {
  const cells = (row: readonly Json[]) => columns.map(({ type }, at) => cellOf(row[at] ?? null, type));
  for await (const { rows } of snapshot.answers(select)) for await (const row of rows) yield cells(row);
}

/** `signalhouse export --person`: everything that is stored about one person, for a request for access. */

export interface PersonReport {
  readonly outcome: 'written' | 'nothing_held';
  readonly who: string;
  readonly ids: readonly string[];
  /** Documents by kind and rows by other table, as `forget --dry-run` counts them. */
  readonly held: PersonData['held'];
  readonly leftOut: PersonData['leftOut'];
  /** The file; null where nothing is held. */
  readonly out: string | null;
  readonly exitCode: ExitCode;
}

/** The content of the file. */
export interface PersonFile extends PersonData {
  readonly who: string;
  readonly organization: string | null;
  readonly madeAt: string;
  /** The meaning of each table, by its name. */
  readonly comments: Readonly<Record<string, string>>;
  /** Files of the data directory that have something of the person. */
  readonly files: readonly string[];
  /** Exports that may have had the person in them: what each wrote, not for whom. */
  readonly exports: readonly { readonly at: string; readonly details: unknown }[];
}

/**
 * Writes a JSON file that this user alone can read. It reads the live file, as `forget` does, so that it shows what that would
 * remove now; the export is recorded in the audit. Throws UsageError where the file exists and `force` is not set.
 */
async function exportPerson(
  setup: Setup,
  who: string,
  { out, force, ...options }: WorkerOptions & { readonly out: string; readonly force: boolean },
): Promise<PersonReport> {
  const { config, log, clock = systemClock } = setup;
  const path = resolve(out);
  refuseExisting(path, { overwrite: force });
  refuseUnrecorded(setup);
  const report = { who, ids: [], held: {}, leftOut: [], out: null };
  return withWarehouse(setup, options, async (warehouse): Promise<PersonReport> => {
    const found = await warehouse.collectPerson(who);
    if (found === null) return { ...report, outcome: 'nothing_held', exitCode: ExitCode.failed };
    const { found: places, ...data } = found;
    const comments = await warehouse.all<{ name: string; comment: string }>(
      `SELECT if(schema_name = 'main', table_name, schema_name || '.' || table_name) AS name, comment FROM duckdb_tables()
        WHERE database_name = current_database() AND comment IS NOT NULL`,
    );
    const tables = new Set([...Object.keys(data.tables), ...Object.keys(data.held)]);
    const base = new Set(comments.map(({ name }) => name));
    const earlier = await warehouse.all<{ at: Date; details: string }>(
      'SELECT "at", details::VARCHAR AS details FROM ops.audit WHERE action = \'export\' ORDER BY "at"',
    );
    const file: PersonFile = {
      who,
      organization: (await warehouse.organization())?.name ?? null,
      madeAt: iso(clock.now()),
      ...data,
      comments: Object.fromEntries(
        comments.flatMap(({ name, comment }) => (tables.has(name) ? [[name, comment]] : [])),
      ),
      files: await cleanFiles(config, places, log, { dryRun: true }),
      exports: earlier.flatMap(({ at, details }) => {
        const one = JSON.parse(details) as { tables?: readonly string[] } | null;
        // A view or a query may show any table.
        const isAbout = (one?.tables ?? []).some((name) => tables.has(name) || !base.has(name));
        return isAbout ? [{ at: at.toISOString(), details: one }] : [];
      }),
    };
    await writeSheetFile(path, { overwrite: force }, (target) =>
      target.writeFile(`${JSON.stringify(file, null, 2)}\n`),
    );
    const rows = Object.values(data.tables).reduce((sum, { length }) => sum + length, 0);
    recordExport(setup, { tables: [...tables].sort(), format: 'person', rows, file: path });
    return {
      outcome: 'written',
      who,
      ids: data.ids,
      held: data.held,
      leftOut: data.leftOut,
      out: path,
      exitCode: ExitCode.done,
    };
  });
}
