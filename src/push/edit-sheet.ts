import { UsageError } from '../base/errors.js';
import type { Snapshot } from '../read/query.js';
import { cellOf, columnTypeOf } from '../sheet/cells.js';
import type { Cell, SheetColumn } from '../sheet/grid.js';
import { writeSheet } from '../sheet/write.js';
import { identifier, sqlFile } from '../store/sql.js';
import { archivedReason, type EntityType, type Field, fieldOf, kinds } from './fields.js';

/** What a sheet can be about. */
export type SheetType = Exclude<EntityType, 'person'>;

export interface EditSheetOptions {
  readonly out: string;
  readonly entityType: SheetType;
  /** A condition on the table topics (or companies), which may name columns of attributes/companies.csv. */
  readonly where?: string | undefined;
  readonly overwrite?: boolean;
}

export interface EditSheet {
  readonly path: string;
  readonly entityType: SheetType;
  readonly rows: number;
  readonly columns: readonly string[];
  /** As of when its values are: when the list was last read (ISO 8601). */
  readonly oldest: string | null;
}

/** A column of a sheet to edit, and the SQL expression that fills it. */
interface QueryColumn extends SheetColumn {
  readonly sql: string;
}

/** A column is a field that can be edited, by its name, or one that helps to decide. */
type Listed = string | SheetColumn;

interface SheetTable {
  readonly name: string;
  /** The rows that it has by default. */
  readonly rows: string;
  readonly order: string;
  /** The view with what attributes/companies.csv says about them. */
  readonly attributes: 'topic_attributes' | 'company_attributes';
  /** The columns beside the id, with what is decided most often. The first of them stays in view. */
  readonly first: readonly Listed[];
  /** The other columns, after the attributes. */
  readonly rest: readonly Listed[];
}

const queries: Readonly<Record<SheetType, string>> = {
  topic: sqlFile('push/topic_sheet'),
  company: sqlFile('push/company_sheet'),
};

const count = (key: string): SheetColumn => ({ key, type: 'count', width: 10 });

export const sheetTables: Readonly<Record<SheetType, SheetTable>> = {
  topic: {
    name: 'Topics',
    rows: 'id IN (SELECT topic_id FROM open_topics)',
    order: `list_position(['very_high', 'high', 'default', 'low', 'very_low'], priority), message_count DESC NULLS LAST, id`,
    attributes: 'topic_attributes',
    first: [
      { key: 'title', type: 'text', width: 36, wrap: true },
      'priority',
      'lifecycle_state',
      'archived',
      archivedReason,
    ],
    rest: [
      count('companies'),
      count('vip_companies'),
      { key: 'summary', type: 'text', width: 46, wrap: true },
      { key: 'issue_type', type: 'text', width: 18 },
      count('people'),
      count('conversations'),
      count('messages'),
    ],
  },
  company: {
    name: 'Companies',
    rows: 'true',
    order: 'is_vip DESC NULLS LAST, message_count DESC NULLS LAST, id',
    attributes: 'company_attributes',
    first: ['name', 'is_vip', { key: 'our_company', type: 'boolean', width: 14 }],
    rest: [
      count('people'),
      count('messages'),
      { key: 'last_seen_at', type: 'time', width: 20 },
      'primary_domain',
      'logo_url',
      ...['email', 'github', 'linkedin', 'phone', 'twitter'].map((name) => `connections_${name}`),
    ],
  },
};

/** The columns of a sheet that are not edited. */
export function contextColumns(entityType: SheetType): SheetColumn[] {
  const { first, rest } = sheetTables[entityType];
  return [...first, ...rest].flatMap((one) => (typeof one === 'string' ? [] : [one]));
}

/**
 * Writes the sheet that people edit: the title and the columns to edit at the left, where a laptop shows them, then what
 * helps to decide, and at the right the hidden base columns with the current values. Reads only the published file.
 * Raises UsageError when it cannot tell which rows are wanted, and what `writeSheet` raises.
 */
export async function writeEditSheet(snapshot: Snapshot, options: EditSheetOptions): Promise<EditSheet> {
  const { out, entityType, overwrite = false } = options;
  const { name, attributes } = sheetTables[entityType];
  const { list: table, column: id } = kinds[entityType];
  const columns = await columnsOf(snapshot, entityType);
  const chosen = await selectRows(snapshot, options);
  const parts = `WITH chosen AS (${chosen}), editable AS (${queries[entityType]})`;
  const from = `FROM chosen JOIN editable USING (id) JOIN ${table} AS own USING (id) LEFT JOIN ${attributes} AS known ON known.${id} = chosen.id`;
  const listed = `SELECT arg_max(started_at, run_id) FILTER (verified) AS read_at FROM ops.scans WHERE endpoint = '${table}'`;
  const [counts] = await snapshot.all<{ rows: number; oldest: string | null }>(
    `${parts} SELECT count(*) AS rows, coalesce(max(listed.read_at), min(own.synced_at)) AS oldest ${from} CROSS JOIN (${listed}) AS listed`,
  );
  const { rows = 0, oldest = null } = counts ?? {};
  if (rows === 0)
    throw new UsageError(`There are no ${table} for the sheet: none that can be changed was selected.`, [], {
      hint: 'Check --where, or run signalhouse sync first.',
    });
  const selected = columns.map(({ sql }, at) => `${sql} AS c${at}`).join(', ');
  await writeSheet(
    out,
    {
      name,
      columns,
      rows: cellsOf(snapshot, `${parts} SELECT ${selected} ${from} ORDER BY chosen.place`, columns),
      frozenColumns: 2,
      howTo: howTo(entityType),
    },
    { overwrite },
  );
  return { path: out, entityType, rows, columns: columns.map(({ key }) => key), oldest };
}

async function columnsOf(snapshot: Snapshot, entityType: SheetType): Promise<QueryColumn[]> {
  const { first, rest, attributes } = sheetTables[entityType];
  const { fields, column: id } = kinds[entityType];
  const columnsFor = (listed: readonly Listed[]) =>
    listed.map((one): QueryColumn => {
      if (typeof one === 'string') return editedColumns(fieldOf(entityType, one)).edited;
      return { ...one, sql: `editable.${identifier(one.key)}` };
    });
  const [left, right] = [columnsFor(first), columnsFor(rest)];
  const taken = new Set([id, ...left.map(({ key }) => key), ...right.map(({ key }) => key)]);
  const known = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${attributes}`);
  const added = known.flatMap(({ column_name: key, column_type: type }): QueryColumn[] =>
    taken.has(key) ? [] : [{ key, type: columnTypeOf(type), width: 14, sql: `known.${identifier(key)}` }],
  );
  return [
    // It is narrow: programs need all of it, people only see which row is which.
    { key: id, type: 'text', width: 10, faint: true, sql: 'editable.id' },
    ...left,
    ...added,
    ...right,
    ...fields.map((field) => editedColumns(field).base),
    // How old the base columns are.
    { key: 'base_updated_at', type: 'time', width: 20, hidden: true, sql: 'editable.base_updated_at' },
  ];
}

/** The rows of a query, as cells of these columns. */
async function* cellsOf(
  snapshot: Snapshot,
  sql: string,
  columns: readonly SheetColumn[],
): AsyncGenerator<readonly Cell[]> {
  for await (const { rows } of snapshot.answers(sql))
    for await (const row of rows) yield columns.map(({ type }, at) => cellOf(row[at] ?? null, type));
}

/** The query for the selected rows: `id` and `place`. Raises UsageError when the user's condition is wrong. */
async function selectRows(
  snapshot: Snapshot,
  { entityType, where }: Pick<EditSheetOptions, 'entityType' | 'where'>,
): Promise<string> {
  const { rows, order, attributes } = sheetTables[entityType];
  const { list: table, column: id } = kinds[entityType];
  const joined = `(SELECT own.*, known.* EXCLUDE (${id}) FROM ${table} AS own LEFT JOIN ${attributes} AS known ON known.${id} = own.id) AS ${table}`;
  const from = `FROM ${joined} WHERE (${where ?? rows}\n)`;
  try {
    // Looked at by itself first, so that DuckDB's message is about the SQL that the user wrote.
    await snapshot.oneSelect(`SELECT id ${from}`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { hint, message: problem, cause } = error;
    const setting = '--where';
    throw new UsageError('Cannot select the rows of the sheet.', [{ setting, problem }], { hint, cause });
  }
  return `SELECT id, row_number() OVER (ORDER BY ${order}) AS place ${from}`;
}

/** The sheet "How to use", for a person who sees it for the first time: a title and five steps. */
export function howTo(entityType: SheetType): string[] {
  const { fields, list } = kinds[entityType];
  const named = fields.map(({ name, kind }) => (kind === 'boolean' ? `${name} (TRUE or FALSE)` : name));
  return [
    `How to change ${list} with this workbook`,
    `1. Edit the yellow columns of the sheet "${sheetTables[entityType].name}": ${named.join(', ')}. An edited cell turns orange.`,
    '2. Do not edit grey columns, and do not empty yellow cells: a value can be replaced, but not cleared. You can sort, filter, delete rows and add columns. Rows that you do not edit change nothing.',
    '3. Save the file, as .xlsx or as CSV.',
    '4. Send it. Where your Signalhouse has a web page, upload the file at /sheets: it shows what would change before anything is sent. Or put the file into the drop folder "inbox", best into a folder with your name there: it is sent with the next run. On the command line: signalhouse changes import FILE, then signalhouse push --result done.xlsx.',
    '5. You get this sheet back with the result of each row. If somebody else changed the same value in the meantime, you see both values, and nothing is overwritten.',
  ];
}

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
