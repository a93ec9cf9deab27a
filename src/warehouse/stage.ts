import type { Batch } from './batch.js';
import type { Statements } from './session.js';

/**
 * A batch on its way in: everything lands in temporary tables first, by DuckDB's Appender, and from there on it is SQL
 * alone. `batch_documents` has the hashes, `seq` is the order in which they were given.
 */
export async function stage(tx: Statements, batch: Batch): Promise<void> {
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE batch_given
      (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, body VARCHAR, fetched_at TIMESTAMPTZ, seq BIGINT);
    CREATE OR REPLACE TEMP TABLE batch_removed (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR);
    CREATE OR REPLACE TEMP TABLE batch_sets (set_no BIGINT, endpoint VARCHAR, parent_id VARCHAR, fetched_at TIMESTAMPTZ);
    CREATE OR REPLACE TEMP TABLE batch_members (set_no BIGINT, id VARCHAR);
  `);
  await tx.append(
    { catalog: 'temp', table: 'batch_given' },
    ['text', 'text', 'text', 'text', 'time', 'integer'],
    batch.documents.map((it, seq) => [it.endpoint, it.id, it.parentId, it.body, it.fetchedAt, seq]),
  );
  await tx.append(
    { catalog: 'temp', table: 'batch_removed' },
    ['text', 'text', 'text'],
    batch.removed.map((it) => [it.endpoint, it.id, it.parentId]),
  );
  await tx.append(
    { catalog: 'temp', table: 'batch_sets' },
    ['integer', 'text', 'text', 'time'],
    batch.sets.map((it, number) => [number, it.endpoint, it.parentId, it.fetchedAt]),
  );
  await tx.append({ catalog: 'temp', table: 'batch_members' }, ['integer', 'text'], members(batch));
  // The hash is made here and not in JavaScript: a quarter of the time, and on DuckDB's threads.
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE batch_documents AS
      SELECT endpoint, id, parent_id, body::JSON AS body, md5(body) AS body_hash, fetched_at, seq FROM batch_given;
    DROP TABLE batch_given;
  `);
}

function* members(batch: Batch): Generator<[number, string]> {
  for (const [number, set] of batch.sets.entries()) for (const id of set.ids) yield [number, id];
}
