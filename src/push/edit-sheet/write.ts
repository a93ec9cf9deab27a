import { UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import type { Cell } from '../../sheet/grid.js';
import type { SheetColumn } from '../../sheet/spec.js';
import { writeSheet } from '../../sheet/write.js';
import type { Snapshot } from '../../warehouse/read/query.js';
import { identifier, sqlFile } from '../../warehouse/sql.js';
import { type EntityType, fieldsOf } from '../fields.js';
import {
  baseAtColumn,
  columnTypeOf,
  contextColumn,
  editedColumns,
  idColumn,
  type QueryColumn,
  type SheetTable,
  sheetTables,
} from './columns.js';
import { type RowSelection, type SelectedRows, selectRows } from './rows.js';

export interface EditSheetOptions {
  readonly out: string;
  readonly entityType: EntityType;
  readonly selection: RowSelection;
  /** Only these columns besides the id, each editable one with its base. All when undefined. */
  readonly columns?: readonly string[] | undefined;
  readonly overwrite?: boolean;
}

export interface EditSheet {
  readonly path: string;
  readonly entityType: EntityType;
  readonly rows: number;
  /** How many selected ids are not in the sheet: unknown, deleted or merged ones, which cannot be changed. */
  readonly leftOut: number;
  readonly columns: readonly string[];
  /** As of when its values are: when the list was last read (ISO 8601). */
  readonly oldest: string | null;
}

const queries: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/topic_sheet'),
  company: sqlFile('push/company_sheet'),
};

/**
 * Writes the sheet that people edit: columns that help to decide, columns to edit, and at the right the base columns with
 * the current values. Reads only the published file. Raises UsageError when it cannot tell which rows or columns are
 * wanted, and what `writeSheet` raises.
 */
export async function writeEditSheet(snapshot: Snapshot, options: EditSheetOptions): Promise<EditSheet> {
  const { out, entityType } = options;
  const sheetTable = sheetTables[entityType];
  const selected = await selectRows(snapshot, sheetTable, options.selection);
  const columns = await columnsOf(snapshot, sheetTable, selected, options.columns);
  const from = `FROM chosen JOIN editable ON editable.id = chosen._id JOIN ${sheetTable.table} AS own ON own.id = editable.id`;
  const parts = `WITH chosen AS (${selected.sql}), editable AS (${queries[entityType]})`;
  const [counts] = await snapshot.all<{ chosen: number; rows: number; oldest: string | null }>(
    `${parts} SELECT (SELECT count(*) FROM chosen) AS chosen, count(*) AS rows, coalesce(max(listed.read_at), min(own.synced_at)) AS oldest ${from} CROSS JOIN (${lastRead(sheetTable.table)}) AS listed`,
  );
  const { rows = 0, oldest = null, chosen = 0 } = counts ?? {};
  if (rows === 0) throw noRows(entityType, chosen);
  const list = columns.map(({ sql }, at) => `${sql} AS c${at}`).join(', ');
  await writeSheet(
    out,
    {
      name: sheetTable.name,
      columns,
      rows: cellsOf(snapshot, `${parts} SELECT ${list} ${from} ORDER BY chosen._place`, columns),
      howTo: howTo(entityType),
    },
    { overwrite: options.overwrite ?? false },
  );
  const keys = columns.map(({ key }) => key);
  return { path: out, entityType, rows, leftOut: chosen - rows, columns: keys, oldest };
}

/** When the list was last read and verified, by the start of the reading. */
function lastRead(table: SheetTable['table']): string {
  return `SELECT max(started_at) FILTER (verified AND ended_at <= now()) AS read_at FROM ops.scans WHERE endpoint = '${table}'`;
}

async function columnsOf(
  snapshot: Snapshot,
  sheetTable: SheetTable,
  selected: SelectedRows,
  wanted: readonly string[] | undefined,
): Promise<QueryColumn[]> {
  const fields = fieldsOf[sheetTable.entityType];
  const own = new Set([...sheetTable.context.map(({ key }) => key), ...fields.map(({ name }) => name)]);
  // A column that the sheet has anyway is not added again: it shows the warehouse's value.
  const extra = selected.extra.filter(({ key }) => !own.has(key.toLowerCase()));
  const asked = wanted?.map((name) => name.toLowerCase());
  const has = (name: string) => asked === undefined || asked.includes(name.toLowerCase());
  const edited = fields.filter(({ name }) => has(name)).map(editedColumns);
  const more = asked
    ? await moreColumns(snapshot, sheetTable, asked, [...own, ...extra.map(({ key }) => key)])
    : [];
  if (edited.length === 0) {
    const names = fields.map(({ name }) => name).join(', ');
    const problem = `names no column that can be edited: add one of ${names}`;
    throw new UsageError('The sheet would have nothing to edit.', [{ setting: '--columns', problem }]);
  }
  return [
    idColumn(sheetTable),
    ...sheetTable.context.filter(({ key }) => has(key)).map(contextColumn),
    ...more,
    ...extra,
    ...edited.map((one) => one.edited),
    ...edited.map(({ base }) => base),
    baseAtColumn,
  ];
}

/** The other columns of the table that `--columns` names. */
async function moreColumns(
  snapshot: Snapshot,
  { table, id }: SheetTable,
  asked: readonly string[],
  present: readonly string[],
): Promise<QueryColumn[]> {
  const names = new Set([...present.map((name) => name.toLowerCase()), id]);
  const left = asked.filter((name) => !names.has(name));
  if (left.length === 0) return [];
  const described = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${table}`);
  const types = new Map(described.map(({ column_name: name, column_type: type }) => [name, type]));
  const unknown = left.filter((name) => !types.has(name) || name === 'id');
  if (unknown.length > 0) {
    const available = [...new Set([...present, ...types.keys()])].filter((name) => name !== 'id');
    const problem = `there is no column ${unknown.join(', ')}; the columns are ${available.join(', ')}`;
    throw new UsageError('Cannot tell which columns the sheet should have.', [
      { setting: '--columns', problem },
    ]);
  }
  return left.map((key) => ({
    ...{ key, type: columnTypeOf(types.get(key) ?? ''), width: 18, wrap: true },
    sql: `own.${identifier(key)}`,
  }));
}

async function* cellsOf(
  snapshot: Snapshot,
  sql: string,
  columns: readonly SheetColumn[],
): AsyncGenerator<readonly Cell[]> {
  for await (const { rows } of snapshot.answers(sql))
    for await (const row of rows) yield columns.map(({ type }, at) => cellOf(row[at] ?? null, type));
}

function cellOf(value: Json, type: SheetColumn['type']): Cell {
  if (value === null) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  if (type === 'time') {
    const at = new Date(String(value));
    return Number.isNaN(at.getTime()) ? String(value) : at;
  }
  // DECIMAL comes as text; a value that a number cannot hold exactly stays text.
  if (type === 'number' && typeof value === 'string' && String(Number(value)) === value) return Number(value);
  return value;
}

function noRows(entityType: EntityType, chosen: number): UsageError {
  const plural = entityType === 'topic' ? 'topics' : 'companies';
  const why = chosen > 0 ? `none of the ${chosen} selected ones can be changed` : 'none was selected';
  return new UsageError(`There are no ${plural} for the sheet: ${why}.`, [], {
    hint: 'Check --where or --query, or run signalhouse sync first.',
  });
}

/** The paragraphs of the sheet "How to use", for a person who sees it for the first time. */
function howTo(entityType: EntityType): string[] {
  const [noun, plural] = entityType === 'topic' ? ['topic', 'topics'] : ['company', 'companies'];
  const fields = fieldsOf[entityType].map(({ name }) => name).join(', ');
  const choices =
    entityType === 'topic'
      ? 'priority and lifecycle_state have a list of choices. archived is TRUE or FALSE. archived_reason is only used when archived is TRUE.'
      : 'is_vip is TRUE or FALSE. logo_url starts with https:// or http://. The other columns are text.';
  return [
    `How to change ${plural} with this workbook`,
    `1. Edit the cells of these columns: ${fields}. Edited cells are coloured.`,
    choices,
    '2. Save the workbook, as .xlsx or as CSV.',
    '3. Run signalhouse changes import FILE. It shows what would change, asks, and adds the changes to the queue. It sends nothing.',
    '4. Run signalhouse push to send them. With --result FILE, push also writes your sheet back with the result of each row.',
    `Do not edit the grey columns at the right (base_ …). They hold the values from when the sheet was written. A change is a cell that differs from its base. If somebody else has changed the same ${noun} since then, you see both values, and nothing is overwritten.`,
    `You can sort, filter, hide and delete rows, and add columns. Rows that you do not edit change nothing. Keep the column ${entityType}_id.`,
    'Do not empty cells: the API has no documented way to clear a value. Times are in UTC.',
  ];
}
