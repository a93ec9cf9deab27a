import { type Problem, UsageError } from '../../base/errors.js';
import { columnTypeOf } from '../../sheet/database-cells.js';
import type { Snapshot } from '../../warehouse/read/query.js';
import { identifier } from '../../warehouse/sql.js';
import { type QueryColumn, reservedNames, type SheetTable } from './columns.js';

/** Which rows a sheet has. */
export type RowSelection =
  | { readonly by: 'default' }
  /** A condition on the table topics (or companies). */
  | { readonly by: 'where'; readonly sql: string }
  /** A query with a column topic_id (or company_id), in the order of the rows. */
  | { readonly by: 'query'; readonly sql: string };

export interface SelectedRows {
  /** A query with the columns `_id` and `_place`, and those below. */
  readonly sql: string;
  /** The columns of the user's query besides the id. */
  readonly extra: readonly QueryColumn[];
}

const urgentFirst = {
  topic: `list_position(['very_high', 'high', 'default', 'low', 'very_low'], priority), message_count DESC NULLS LAST, id`,
  company: 'is_vip DESC NULLS LAST, message_count DESC NULLS LAST, id',
} as const;

/** Builds the query for the selected rows. Raises UsageError when the user's SQL is wrong or lacks the id. */
export async function selectRows(
  snapshot: Snapshot,
  sheetTable: SheetTable,
  selection: RowSelection,
): Promise<SelectedRows> {
  const { entityType, table } = sheetTable;
  if (selection.by === 'query') return selectByQuery(snapshot, sheetTable, selection.sql);
  const backlog = 'id IN (SELECT topic_id FROM backlog)';
  const condition = selection.by === 'where' ? selection.sql : entityType === 'topic' ? backlog : 'true';
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
    return [
      select,
      await snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE (${select}\n)`),
    ] as const;
  });
  const id = columns.find(({ column_name: name }) => name.toLowerCase() === sheetTable.id);
  const reserved = reservedNames(sheetTable);
  const problems: Problem[] = columns.flatMap(({ column_name: name }) =>
    reserved.has(name.toLowerCase())
      ? [{ setting: '--query', problem: `has a column ${name}, a reserved name: rename it with AS` }]
      : [],
  );
  if (!id) {
    const names = columns.map(({ column_name: name }) => name).join(', ');
    problems.push({
      setting: '--query',
      problem: `must return a column ${sheetTable.id}; its columns are ${names}`,
    });
  }
  if (problems.length > 0 || !id) throw new UsageError('The query cannot be used for a sheet.', problems);
  const extra = columns.flatMap(({ column_name: key, column_type: type }): QueryColumn[] =>
    key === id.column_name
      ? []
      : [{ key, type: columnTypeOf(type), width: 16, wrap: true, sql: `chosen.${identifier(key)}` }],
  );
  const numbered = `SELECT asked.*, asked.${identifier(id.column_name)}::VARCHAR AS _id, row_number() OVER () AS _place FROM (${sql}\n) AS asked`;
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
