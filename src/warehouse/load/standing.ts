import { literal } from '../sql.js';

/**
 * Leaves in `standing(rid, endpoint, id, parent_id, fetched_at)` the stored documents that stand under a parent for
 * which the batch has a set. Two steps, as only the key columns of a million documents may be read.
 */
export function standingSql(setKinds: readonly string[]): string {
  const hits =
    setKinds.length === 0
      ? 'SELECT NULL::BIGINT AS rid LIMIT 0'
      : `SELECT rowid AS rid FROM raw.documents
          WHERE endpoint IN (${setKinds.map(literal).join(', ')}) AND parent_id IN (SELECT parent_id FROM batch_sets)`;
  return `
    CREATE OR REPLACE TEMP TABLE hits AS ${hits};
    CREATE OR REPLACE TEMP TABLE standing AS
      SELECT rowid AS rid, endpoint, id, parent_id, fetched_at FROM raw.documents WHERE rowid IN (SELECT rid FROM hits)`;
}
