import type { Batch, Document } from './batch.js';
import { familySql, withinSql } from './families.js';
import type { Cell, Statements } from './session.js';

/**
 * A batch on its way in: everything lands in temporary tables first, by DuckDB's Appender, and from there on it is SQL
 * alone. `seq` is the order in which documents were given. Their bodies stay in `batch_given` until it is known which
 * are worth storing: what decides that (`batch_documents`) is narrow. Raises when a body is not JSON.
 */
export async function stage(tx: Statements, batch: Batch): Promise<void> {
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE batch_given
      (seq BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, body JSON, fetched_at TIMESTAMPTZ);
    CREATE OR REPLACE TEMP TABLE batch_removed (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR);
    CREATE OR REPLACE TEMP TABLE batch_sets (set_no BIGINT, endpoint VARCHAR, parent_id VARCHAR, fetched_at TIMESTAMPTZ);
    CREATE OR REPLACE TEMP TABLE batch_members (set_no BIGINT, id VARCHAR);
  `);
  await tx.append(
    { catalog: 'temp', table: 'batch_given' },
    ['integer', 'text', 'text', 'text', 'text', 'time'],
    byKind(batch.documents),
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
  await tx.append({ catalog: 'temp', table: 'batch_members' }, ['integer', 'text'], membersOf(batch));
  // The hash is made here and not in JavaScript: a quarter of the time, and on DuckDB's threads.
  await tx.run(`CREATE OR REPLACE TEMP TABLE batch_documents AS
    SELECT seq, endpoint, id, parent_id, md5(body) AS body_hash, fetched_at, json_valid(body) AS valid,
           ${familySql} AS family, ${withinSql} AS within FROM batch_given`);
  // The Appender writes into a JSON column unread, and asking afterwards is four times cheaper than a cast.
  const [bad] = await tx.all<{ endpoint: string; id: string }>(
    'SELECT endpoint, id FROM batch_documents WHERE NOT valid LIMIT 1',
  );
  if (bad) throw new Error(`the body of ${bad.endpoint} ${bad.id} is not JSON`);
}

/** Kind by kind, so that they are stored like that, and a scan for one kind skips whole vectors of the others. */
function* byKind(documents: readonly Document[]): Generator<Cell[]> {
  const kinds = new Map<string, number[]>();
  for (const [seq, { endpoint }] of documents.entries()) {
    const seqs = kinds.get(endpoint);
    if (seqs) seqs.push(seq);
    else kinds.set(endpoint, [seq]);
  }
  for (const seqs of kinds.values()) {
    for (const seq of seqs) {
      const it = documents[seq];
      if (it) yield [seq, it.endpoint, it.id, it.parentId, it.body, it.fetchedAt];
    }
  }
}

function* membersOf(batch: Batch): Generator<Cell[]> {
  for (const [number, set] of batch.sets.entries()) for (const id of set.ids) yield [number, id];
}
