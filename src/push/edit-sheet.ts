import { type Problem, UsageError } from '../base/errors.js';
import { cellOf, columnTypeOf } from '../sheet/cells.js';
import type { Cell, SheetColumn } from '../sheet/grid.js';
import { writeSheet } from '../sheet/write.js';
import type { Snapshot } from '../warehouse/read/query.js';
import { identifier, sqlFile } from '../warehouse/sql.js';
import { archivedReason, type EntityType, type Field, kinds } from './change.js';

/** What a sheet can be about. */
export type SheetType = Exclude<EntityType, 'person'>;

export interface EditSheetOptions {
  readonly out: string;
  readonly entityType: SheetType;
  /** A condition on the table topics (or companies), which may name columns of attributes/companies.csv. */
  readonly where?: string | undefined;
  /** Instead of a condition, a query with a column topic_id (or company_id), in the order of the rows. */
  readonly query?: string | undefined;
  /** Only these columns besides the id, each editable one with its base. All when undefined. */
  readonly columns?: readonly string[] | undefined;
  readonly overwrite?: boolean;
}

export interface EditSheet {
  readonly path: string;
  readonly entityType: SheetType;
  readonly rows: number;
  /** How many selected ids are not in the sheet: unknown, deleted or merged ones, which cannot be changed. */
  readonly leftOut: number;
  readonly columns: readonly string[];
  /** As of when its values are: when the list was last read (ISO 8601). */
  readonly oldest: string | null;
  /** Of a sheet of duplicates: how good such a list was for what was merged in the past, as a sentence. */
  readonly measured?: string | null;
}

const queries: Readonly<Record<SheetType, string>> = {
  topic: sqlFile('push/topic_sheet'),
  company: sqlFile('push/company_sheet'),
};

/**
 * Writes the sheet that people edit: the title and the columns to edit at the left, where a laptop shows them, then what
 * helps to decide, and at the right the hidden base columns with the current values. Reads only the published file.
 * Raises UsageError when it cannot tell which rows or columns are wanted, and what `writeSheet` raises.
 */
export async function writeEditSheet(snapshot: Snapshot, options: EditSheetOptions): Promise<EditSheet> {
  const { out, entityType } = options;
  const sheetTable = sheetTables[entityType];
  const selected = await selectRows(snapshot, sheetTable, options);
  const columns = await columnsOf(snapshot, sheetTable, selected.extra, options.columns);
  const from = `FROM chosen JOIN editable ON editable.id = chosen._id JOIN ${sheetTable.table} AS own ON own.id = editable.id LEFT JOIN ${sheetTable.attributes} AS known ON known.${sheetTable.id} = editable.id`;
  const parts = `WITH chosen AS (${selected.sql}), editable AS (${queries[entityType]})`;
  const [counts] = await snapshot.all<{ chosen: number; rows: number; oldest: string | null }>(
    `${parts} SELECT (SELECT count(*) FROM chosen) AS chosen, count(*) AS rows, coalesce(max(listed.read_at), min(own.synced_at)) AS oldest ${from} CROSS JOIN (${lastReadSql(sheetTable.table)}) AS listed`,
  );
  const { rows = 0, oldest = null, chosen = 0 } = counts ?? {};
  if (rows === 0) {
    const why = chosen > 0 ? `none of the ${chosen} selected ones can be changed` : 'none was selected';
    throw new UsageError(`There are no ${sheetTable.table} for the sheet: ${why}.`, [], {
      hint: 'Check --where or --query, or run signalhouse sync first.',
    });
  }
  const list = columns.map(({ sql }, at) => `${sql} AS c${at}`).join(', ');
  await writeSheet(
    out,
    {
      name: sheetTable.name,
      columns,
      rows: cellsOf(snapshot, `${parts} SELECT ${list} ${from} ORDER BY chosen._place`, columns),
      frozenColumns: columns[1]?.key === sheetTable.first[0] ? 2 : 1,
      howTo: howTo(sheetTable),
    },
    { overwrite: options.overwrite ?? false },
  );
  const keys = columns.map(({ key }) => key);
  return { path: out, entityType, rows, leftOut: chosen - rows, columns: keys, oldest };
}

async function columnsOf(
  snapshot: Snapshot,
  sheetTable: SheetTable,
  added: readonly QueryColumn[],
  wanted: readonly string[] | undefined,
): Promise<QueryColumn[]> {
  const fields = kinds[sheetTable.entityType].fields;
  const own = new Set([...sheetTable.context.map(({ key }) => key), ...fields.map(({ name }) => name)]);
  // A column that the sheet has anyway is not added again: it shows the warehouse's value.
  const extra = added.filter(({ key }) => !own.has(key.toLowerCase()));
  const present = new Set([...own, sheetTable.id, ...extra.map(({ key }) => key.toLowerCase())]);
  // What attributes/companies.csv says of the companies; of a topic, the sums.
  const known = await columnsIn(snapshot, sheetTable.attributes, 'known', { width: 14 });
  const attributes = known.filter(({ key }) => !present.has(key));
  for (const { key } of attributes) present.add(key);
  const asked = wanted?.map((name) => name.toLowerCase());
  const has = (name: string) => asked === undefined || asked.includes(name.toLowerCase());
  const edited = fields.filter(({ name }) => has(name)).map(editedColumns);
  const more = await moreColumns(snapshot, sheetTable.table, asked ?? [], present);
  if (edited.length === 0) {
    const names = fields.map(({ name }) => name).join(', ');
    const problem = `names no column that can be edited: add one of ${names}`;
    throw new UsageError('The sheet would have nothing to edit.', [{ setting: '--columns', problem }]);
  }
  const context = sheetTable.context.map((column): QueryColumn => {
    return { ...column, sql: `editable.${identifier(column.key)}` };
  });
  const shown = [...context.filter(({ key }) => has(key)), ...edited.map((one) => one.edited)];
  const named = (keys: readonly string[]) =>
    keys.flatMap((key) => shown.find((column) => column.key === key) ?? []);
  return [
    // It is narrow: programs need all of it, people only see which row is which.
    { key: sheetTable.id, type: 'text', width: 10, faint: true, sql: 'editable.id' },
    ...named(sheetTable.first),
    ...attributes.filter(({ key }) => has(key)),
    ...more,
    ...extra,
    ...named(sheetTable.rest),
    ...edited.map(({ base }) => base),
    // How old the base columns are.
    { key: 'base_updated_at', type: 'time', width: 20, hidden: true, sql: 'editable.base_updated_at' },
  ];
}

/** The columns of a table, view or query, filled from what `alias` stands for. */
async function columnsIn(
  snapshot: Snapshot,
  what: string,
  alias: 'known' | 'own' | 'chosen',
  look: Pick<SheetColumn, 'width' | 'wrap'>,
): Promise<QueryColumn[]> {
  const found = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${what}`);
  return found.map(({ column_name: key, column_type: type }) => ({
    key,
    type: columnTypeOf(type),
    ...look,
    sql: `${alias}.${identifier(key)}`,
  }));
}

/** The other columns of the table that `--columns` names. */
async function moreColumns(
  snapshot: Snapshot,
  table: SheetTable['table'],
  asked: readonly string[],
  present: ReadonlySet<string>,
): Promise<QueryColumn[]> {
  const left = asked.filter((name) => !present.has(name));
  if (left.length === 0) return [];
  const columns = await columnsIn(snapshot, table, 'own', { width: 18, wrap: true });
  const byName = new Map(columns.flatMap((column) => (column.key === 'id' ? [] : [[column.key, column]])));
  const unknown = left.filter((name) => !byName.has(name));
  if (unknown.length > 0) {
    const available = [...new Set([...present, ...byName.keys()])];
    const problem = `there is no column ${unknown.join(', ')}; the columns are ${available.join(', ')}`;
    const setting = '--columns';
    throw new UsageError('Cannot tell which columns the sheet should have.', [{ setting, problem }]);
  }
  return left.flatMap((name) => byName.get(name) ?? []);
}

/** When a list was last read and verified, by the start of the reading. */
export function lastReadSql(endpoint: SheetTable['table']): string {
  return `SELECT arg_max(started_at, run_id) FILTER (verified) AS read_at FROM ops.scans WHERE endpoint = '${endpoint}'`;
}

/** The rows of a query, as cells of these columns. */
export async function* cellsOf(
  snapshot: Snapshot,
  sql: string,
  columns: readonly SheetColumn[],
): AsyncGenerator<readonly Cell[]> {
  for await (const { rows } of snapshot.answers(sql))
    for await (const row of rows) yield columns.map(({ type }, at) => cellOf(row[at] ?? null, type));
}

/** The sheet "How to use", for a person who sees it for the first time: a title and five steps. */
export function howTo({ entityType, name, table: plural }: SheetTable): string[] {
  const fields = kinds[entityType].fields.map((field) => field.name);
  const which =
    entityType === 'topic'
      ? `priority, lifecycle_state, archived (TRUE or FALSE), and archived_reason for what you archive`
      : `name, is_vip (TRUE or FALSE), ${fields.filter((field) => !['name', 'is_vip'].includes(field)).join(', ')}`;
  return [
    `How to change ${plural} with this workbook`,
    `1. Edit the yellow columns of the sheet "${name}": ${which}. An edited cell turns orange.`,
    '2. Do not edit grey columns, and do not empty yellow cells: a value can be replaced, but not cleared. You can sort, filter, delete rows and add columns. Rows that you do not edit change nothing.',
    '3. Save the file, as .xlsx or as CSV.',
    '4. Send it. Where your Signalhouse has a web page, upload the file at /sheets: it shows what would change before anything is sent. Or put the file into the drop folder "inbox", best into a folder with your name there: it is sent with the next run. On the command line: signalhouse changes import FILE, then signalhouse push --result done.xlsx.',
    '5. You get this sheet back with the result of each row. If somebody else changed the same value in the meantime, you see both values, and nothing is overwritten.',
  ];
}

interface SelectedRows {
  /** A query with the columns `_id` and `_place`, and those below. */
  readonly sql: string;
  /** The columns of the user's query besides the id. */
  readonly extra: readonly QueryColumn[];
}

const urgentFirst = {
  topic: `list_position(['very_high', 'high', 'default', 'low', 'very_low'], priority), message_count DESC NULLS LAST, id`,
  company: 'is_vip DESC NULLS LAST, message_count DESC NULLS LAST, id',
} as const;

/**
 * Builds the query for the selected rows; by default, the topics of the backlog, or every company. Raises UsageError when the
 * user's SQL is wrong or lacks the id.
 */
async function selectRows(
  snapshot: Snapshot,
  sheetTable: SheetTable,
  { where, query }: Pick<EditSheetOptions, 'where' | 'query'>,
): Promise<SelectedRows> {
  const { entityType, attributes, id } = sheetTable;
  if (query !== undefined) return selectByQuery(snapshot, sheetTable, query);
  const everything = entityType === 'topic' ? 'id IN (SELECT topic_id FROM open_topics)' : 'true';
  const condition = where ?? everything;
  const table = `(SELECT own.*, known.* EXCLUDE (${id}) FROM ${sheetTable.table} AS own LEFT JOIN ${attributes} AS known ON known.${id} = own.id) AS ${sheetTable.table}`;
  // Looked at by itself first, so that DuckDB's message is about the SQL that the user wrote.
  await withSetting('--where', () => snapshot.oneSelect(`SELECT id FROM ${table} WHERE (${condition}\n)`));
  const place = `row_number() OVER (ORDER BY ${urgentFirst[entityType]})`;
  return { sql: `SELECT id AS _id, ${place} AS _place FROM ${table} WHERE (${condition}\n)`, extra: [] };
}

async function selectByQuery(
  snapshot: Snapshot,
  sheetTable: SheetTable,
  given: string,
): Promise<SelectedRows> {
  const [sql, columns] = await withSetting('--query', async () => {
    const select = await snapshot.oneSelect(given);
    const look = { width: 16, wrap: true };
    return [select, await columnsIn(snapshot, `(${select}\n)`, 'chosen', look)] as const;
  });
  const id = columns.find(({ key }) => key.toLowerCase() === sheetTable.id);
  const bases = kinds[sheetTable.entityType].fields.map(({ name }) => `base_${name}`);
  const reserved = new Set(['topic_id', 'company_id', 'id', ...bases, 'base_updated_at']);
  reserved.delete(sheetTable.id);
  const problems: Problem[] = columns.flatMap(({ key }) =>
    reserved.has(key.toLowerCase())
      ? [{ setting: '--query', problem: `has a column ${key}, a reserved name: rename it with AS` }]
      : [],
  );
  if (!id) {
    const names = columns.map(({ key }) => key).join(', ');
    const problem = `must return a column ${sheetTable.id}; its columns are ${names}`;
    problems.push({ setting: '--query', problem });
  }
  if (problems.length > 0 || !id) throw new UsageError('The query cannot be used for a sheet.', problems);
  const extra = columns.filter((column) => column !== id);
  const numbered = `SELECT asked.*, asked.${identifier(id.key)}::VARCHAR AS _id, row_number() OVER () AS _place FROM (${sql}\n) AS asked`;
  // An id that occurs twice would make two rows, which contradict each other as soon as one is edited.
  const first = 'QUALIFY row_number() OVER (PARTITION BY _id ORDER BY _place) = 1';
  return { sql: `SELECT * FROM (${numbered}) WHERE _id IS NOT NULL ${first}`, extra };
}

/** Names the setting in the UsageError that the user's SQL raises. */
async function withSetting<T>(setting: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { hint, message, cause } = error;
    throw new UsageError('Cannot select the rows of the sheet.', [{ setting, problem: message }], {
      hint,
      cause,
    });
  }
}

/** A column of a sheet to edit, and the SQL expression that fills it. */
interface QueryColumn extends SheetColumn {
  readonly sql: string;
}

export interface SheetTable {
  readonly entityType: SheetType;
  readonly table: 'topics' | 'companies';
  readonly id: 'topic_id' | 'company_id';
  /** The view with what people know of them besides. */
  readonly attributes: 'topic_attributes' | 'company_attributes';
  readonly name: string;
  /** Columns that are not edited: they help to decide. */
  readonly context: readonly SheetColumn[];
  /** The columns beside the id, with what is decided most often. The first of them stays in view. */
  readonly first: readonly string[];
  /** The other columns, after those that the user asked for. */
  readonly rest: readonly string[];
}

const count = (key: string): SheetColumn => ({ key, type: 'count', width: 10 });

export const sheetTables: Readonly<Record<SheetType, SheetTable>> = {
  topic: {
    entityType: 'topic',
    table: 'topics',
    id: 'topic_id',
    attributes: 'topic_attributes',
    name: 'Topics',
    context: [
      { key: 'title', type: 'text', width: 36, wrap: true },
      { key: 'summary', type: 'text', width: 46, wrap: true },
      { key: 'issue_type', type: 'text', width: 18 },
      ...['companies', 'vip_companies', 'people', 'conversations', 'messages'].map(count),
    ],
    first: ['title', 'priority', 'lifecycle_state', 'archived', 'archived_reason'],
    rest: ['companies', 'vip_companies', 'summary', 'issue_type', 'people', 'conversations', 'messages'],
  },
  company: {
    entityType: 'company',
    table: 'companies',
    id: 'company_id',
    attributes: 'company_attributes',
    name: 'Companies',
    context: [
      ...['people', 'messages'].map(count),
      { key: 'last_seen_at', type: 'time', width: 20 },
      { key: 'our_company', type: 'boolean', width: 14 },
    ],
    first: ['name', 'is_vip', 'our_company'],
    rest: [
      'people',
      'messages',
      'last_seen_at',
      'primary_domain',
      'logo_url',
      ...['email', 'github', 'linkedin', 'phone', 'twitter'].map((name) => `connections_${name}`),
    ],
  },
};

/** A column to edit, and its base column, which keeps the value from when the sheet was written and is hidden. */
export function editedColumns(field: Field): { readonly edited: QueryColumn; readonly base: QueryColumn } {
  const { name, kind, allowed } = field;
  const base = `base_${name}`;
  const sql = `editable.${identifier(name)}`;
  const chosen = allowed !== undefined || kind === 'boolean';
  const width = chosen ? 12 : name === archivedReason ? 18 : 26;
  const looks = { type: kind, width, wrap: !chosen, ...(allowed && { allowed }) };
  return {
    edited: { key: name, ...looks, edited: { base }, sql },
    base: { key: base, type: kind, width, hidden: true, sql },
  };
}
