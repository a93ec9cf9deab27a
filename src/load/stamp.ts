import { type Keyed, listedKey } from '../contract/tables.js';
import type { Statements } from '../store/session.js';
import { identifier, literal } from '../store/sql.js';

/**
 * For those who copy the tables: a row that changes gets the run that changed it and the time, and of one that went its
 * key is in ops.removed_rows. Rows that stay as they are keep both, whatever was read again.
 */
export interface Stamp {
  readonly runId: string | null;
  readonly at: Date;
}

/** That of a change which is made now, in the run that began last, or else in that of the newest document. */
export async function stampOf(statements: Pick<Statements, 'all'>, at: Date): Promise<Stamp> {
  const [last] = await statements.all<{ run_id: string | null }>(
    'SELECT coalesce((SELECT max(run_id) FROM ops.runs), (SELECT max(run_id) FROM raw.documents)) AS run_id',
  );
  return { runId: last?.run_id ?? null, at };
}

/** Its run, as SQL text. */
export function runSql({ runId }: Stamp): string {
  return runId === null ? 'NULL::VARCHAR' : literal(runId);
}

/** Its time, as SQL text. */
export function atSql({ at }: Stamp): string {
  return `${literal(at.toISOString())}::TIMESTAMPTZ`;
}

/** The statement that lists rows of a table as removed, to run before they are deleted; `which` is a condition that they meet. */
export function removedSql(table: Keyed, which: string, stamp: Stamp): string {
  const key = listedKey(table).map((column) => `${identifier(column)}::VARCHAR`);
  return `INSERT INTO ops.removed_rows
    SELECT DISTINCT ${literal(table.name)}, [${key.join(', ')}], ${runSql(stamp)}, ${atSql(stamp)}
      FROM main.${identifier(table.name)} WHERE ${which}`;
}
