import { UsageError } from '../../base/errors.js';
import { cellOf, columnTypeOf } from '../../sheet/database-cells.js';
import type { Cell } from '../../sheet/grid.js';
import type { SheetColumn } from '../../sheet/spec.js';
import { writeSheet } from '../../sheet/write.js';
import type { Snapshot } from '../../warehouse/read/query.js';
import { identifier, sqlFile } from '../../warehouse/sql.js';
import { type EntityType, fieldsOf } from '../fields.js';
import {
  baseAtColumn,
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
 * Writes the sheet that people edit: the title and the columns to edit at the left, where a laptop shows them, then what
 * helps to decide, and at the right the hidden base columns with the current values. Reads only the published file.
 * Raises UsageError when it cannot tell which rows or columns are wanted, and what `writeSheet` raises.
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
      frozenColumns: columns[1]?.key === sheetTable.first[0] ? 2 : 1,
      howTo: howTo(sheetTable),
    },
    { overwrite: options.overwrite ?? false },
  );
  const keys = columns.map(({ key }) => key);
  return { path: out, entityType, rows, leftOut: chosen - rows, columns: keys, oldest };
}

/** When the list was last read and verified, by the start of the reading. */
function lastRead(table: SheetTable['table']): string {
  return `SELECT arg_max(started_at, run_id) FILTER (verified) AS read_at FROM ops.scans WHERE endpoint = '${table}'`;
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
  const shown = new Map(
    [
      ...sheetTable.context.filter(({ key }) => has(key)).map(contextColumn),
      ...edited.map((one) => one.edited),
    ].map((column) => [column.key, column]),
  );
  const named = (keys: readonly string[]) => keys.flatMap((key) => shown.get(key) ?? []);
  return [
    idColumn(sheetTable),
    ...named(sheetTable.first),
    ...more,
    ...extra,
    ...named(sheetTable.rest),
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

function noRows(entityType: EntityType, chosen: number): UsageError {
  const plural = entityType === 'topic' ? 'topics' : 'companies';
  const why = chosen > 0 ? `none of the ${chosen} selected ones can be changed` : 'none was selected';
  return new UsageError(`There are no ${plural} for the sheet: ${why}.`, [], {
    hint: 'Check --where or --query, or run signalhouse sync first.',
  });
}

/** The sheet "How to use", for a person who sees it for the first time: a title and five steps. */
function howTo({ entityType, name }: SheetTable): string[] {
  const plural = entityType === 'topic' ? 'topics' : 'companies';
  const fields = fieldsOf[entityType].map((field) => field.name);
  const which =
    entityType === 'topic'
      ? `priority, lifecycle_state, archived (TRUE or FALSE), and archived_reason for what you archive`
      : `name, is_vip (TRUE or FALSE), ${fields.filter((field) => !['name', 'is_vip'].includes(field)).join(', ')}`;
  return [
    `How to change ${plural} with this workbook`,
    `1. Edit the yellow columns of the sheet "${name}": ${which}. An edited cell turns orange.`,
    '2. Do not edit grey columns, and do not empty yellow cells: a value can be replaced, but not cleared. You can sort, filter, delete rows and add columns. Rows that you do not edit change nothing.',
    '3. Save the file, as .xlsx or as CSV.',
    '4. Run: signalhouse changes import FILE. It shows what would change, and asks before it queues the changes. It sends nothing.',
    '5. Run: signalhouse push --result done.xlsx. It sends the changes and writes this sheet again, with the result of each row. If somebody else changed the same value in the meantime, you see both values, and nothing is overwritten.',
  ];
}
