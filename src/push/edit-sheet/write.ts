import { UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import type { Cell } from '../../sheet/grid.js';
import type { SheetColumn } from '../../sheet/spec.js';
import { writeSheet } from '../../sheet/write.js';
import type { Snapshot } from '../../warehouse/read/query.js';
import { sqlFile } from '../../warehouse/sql.js';
import { type EntityType, fieldsOf } from '../fields.js';
import { type Choice, type Chosen, choose } from './choose.js';
import {
  baseAtColumn,
  editedColumns,
  type Form,
  forms,
  idColumn,
  type ListColumn,
  quoted,
  shownColumn,
  typeOf,
} from './columns.js';
import { howTo } from './how-to.js';

export interface EditSheetOptions {
  readonly out: string;
  readonly entityType: EntityType;
  readonly chosen: Chosen;
  /** Only these columns beside the id; each that can be edited brings its base. All when undefined. */
  readonly columns?: readonly string[] | undefined;
  readonly overwrite?: boolean;
}

export interface EditSheet {
  readonly path: string;
  readonly entityType: EntityType;
  readonly rows: number;
  /** Chosen, but not in the sheet: unknown, deleted or merged ones, which nobody can change. */
  readonly leftOut: number;
  readonly columns: readonly string[];
  /** As of when the oldest of the rows is known (ISO 8601). */
  readonly oldest: string | null;
}

const queries: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/topic_sheet'),
  company: sqlFile('push/company_sheet'),
};

/**
 * Writes the sheet that people edit: what helps to decide, what can be edited, and at the right what is there now. It
 * reads the published file alone. Raises UsageError when the rows or columns are not clear, and as `writeSheet` does.
 */
export async function writeEditSheet(snapshot: Snapshot, options: EditSheetOptions): Promise<EditSheet> {
  const { out, entityType } = options;
  const form = forms[entityType];
  const choice = await choose(snapshot, form, options.chosen);
  const columns = await columnsOf(snapshot, form, choice, options.columns);
  const from = `FROM chosen JOIN laid ON laid.id = chosen._id JOIN ${form.table} AS own ON own.id = laid.id`;
  const parts = `WITH chosen AS (${choice.sql}), laid AS (${queries[entityType]})`;
  const [counts] = await snapshot.all<{ chosen: number; rows: number; oldest: string | null }>(
    `${parts} SELECT (SELECT count(*) FROM chosen) AS chosen, count(*) AS rows, min(laid.base_updated_at) AS oldest ${from}`,
  );
  const { rows = 0, oldest = null, chosen = 0 } = counts ?? {};
  if (rows === 0) throw nothing(entityType, chosen);
  const list = columns.map(({ sql }, at) => `${sql} AS c${at}`).join(', ');
  await writeSheet(
    out,
    {
      name: form.name,
      columns,
      rows: cellsOf(snapshot, `${parts} SELECT ${list} ${from} ORDER BY chosen._place`, columns),
      howTo: howTo(entityType),
    },
    { overwrite: options.overwrite ?? false },
  );
  const keys = columns.map(({ key }) => key);
  return { path: out, entityType, rows, leftOut: chosen - rows, columns: keys, oldest };
}

async function columnsOf(
  snapshot: Snapshot,
  form: Form,
  choice: Choice,
  wanted: readonly string[] | undefined,
): Promise<ListColumn[]> {
  const fields = fieldsOf[form.entityType];
  const own = new Set([...form.shown.map(({ key }) => key), ...fields.map(({ name }) => name)]);
  // What the sheet shows anyway stands there as the warehouse has it, and not a second time.
  const extra = choice.extra.filter(({ key }) => !own.has(key.toLowerCase()));
  const asked = wanted?.map((name) => name.toLowerCase());
  const has = (name: string) => asked === undefined || asked.includes(name.toLowerCase());
  const edited = fields.filter(({ name }) => has(name)).map(editedColumns);
  const more = asked
    ? await furtherColumns(snapshot, form, asked, [...own, ...extra.map(({ key }) => key)])
    : [];
  if (edited.length === 0) {
    const names = fields.map(({ name }) => name).join(', ');
    const problem = `names nothing that can be edited: there must be one of ${names}`;
    throw new UsageError('The sheet would be no use.', [{ setting: '--columns', problem }]);
  }
  return [
    idColumn(form),
    ...form.shown.filter(({ key }) => has(key)).map(shownColumn),
    ...more,
    ...extra,
    ...edited.map((one) => one.edited),
    ...edited.map(({ base }) => base),
    baseAtColumn,
  ];
}

/** Any other column of the table may be shown as well. */
async function furtherColumns(
  snapshot: Snapshot,
  { table, id }: Form,
  asked: readonly string[],
  known: readonly string[],
): Promise<ListColumn[]> {
  const names = new Set([...known.map((name) => name.toLowerCase()), id]);
  const left = asked.filter((name) => !names.has(name));
  if (left.length === 0) return [];
  const described = await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE ${table}`);
  const types = new Map(described.map(({ column_name: name, column_type: type }) => [name, type]));
  const unknown = left.filter((name) => !types.has(name) || name === 'id');
  if (unknown.length > 0) {
    const problem = `there is no column ${unknown.join(', ')}; there are ${[...known, ...types.keys()].filter((name, at, all) => name !== 'id' && all.indexOf(name) === at).join(', ')}`;
    throw new UsageError('The columns of the sheet are not clear.', [{ setting: '--columns', problem }]);
  }
  return left.map((key) => ({
    ...{ key, type: typeOf(types.get(key) ?? ''), width: 18, wrap: true },
    sql: `own.${quoted(key)}`,
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
  // DECIMAL comes as text; what a number would not hold exactly stays text.
  if (type === 'number' && typeof value === 'string' && String(Number(value)) === value) return Number(value);
  return value;
}

function nothing(entityType: EntityType, chosen: number): UsageError {
  const plural = entityType === 'topic' ? 'topics' : 'companies';
  const why = chosen > 0 ? `none of the ${chosen} that were chosen can be changed` : 'none was chosen';
  return new UsageError(`There are no ${plural} to write a sheet of: ${why}.`, [], {
    hint: 'Look at --where or --query, or run signalhouse sync first.',
  });
}
