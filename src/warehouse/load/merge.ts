import { bytesOf } from '../store/memory.js';
import type { Session, Statements } from '../store/session.js';
import { type Counts, type Merged, plusCounts } from './batch.js';
import { diff, storeDocuments } from './diff.js';
import type { Families } from './families.js';
import type { Columns, Models } from './models.js';
import { mergeOpsTables } from './ops-tables.js';
import { project } from './project.js';

/**
 * Merges everything that was appended (`append`) into the tables, in one transaction: documents, the typed rows that follow
 * from them, their versions, and the state that records the fetches. The tables end up the same however answers were
 * divided into batches. Returns what changed; null where nothing had been appended.
 */
export async function merge(session: Session, models: Models, columns: Columns): Promise<Merged | null> {
  const [last] = await session.all<{ run_id: string | null }>(
    'SELECT max(run_id) AS run_id FROM appended.batches',
  );
  const runId = last?.run_id;
  if (runId == null) return null;
  return session.transaction(async (tx) => {
    const rows: Record<string, Counts> = {};
    const staged = await stage(tx, models.families);
    const found = staged === null ? [] : await diff(tx, models.families, runId, staged);
    await project(tx, models, columns, found, documentsAtOnce(session), (table, counts) => {
      const sum = plusCounts(rows[table], counts);
      if (sum.new + sum.changed + sum.removed > 0) rows[table] = sum;
    });
    const documents = await storeDocuments(tx, found);
    const news = await mergeOpsTables(tx, runId);
    const [counted] = await tx.all<{ n: number }>('SELECT count(*)::INTEGER AS n FROM outdated');
    await tx.run([...appended.map((it) => `DELETE FROM appended.${it}`), ...dropTemporary].join(';\n'));
    return { documents, rows, outdated: counted?.n ?? 0, ...news };
  });
}

const appended = ['batches', 'documents', 'removed', 'sets', 'members', 'coverage', 'rejections', 'drift'];

/** What was appended, without what it says: enough to decide what has to be written. */
export interface Staged {
  /** The kinds of the documents, and whether any document of a kind has no parent. */
  readonly kinds: readonly { readonly kind: string; readonly hasNoParent: boolean }[];
  /** The kinds of the sets. */
  readonly setKinds: readonly string[];
}

/**
 * Makes `incoming` of the documents that were appended, with a hash in the place of the body; `seq` is the order in which
 * they came. Makes `sets` of the last set of each kind and parent, with `set_members`, and `outdated`, which is empty. Returns
 * null where there is no document to store and none to remove.
 */
async function stage(tx: Statements, { familySql, withinSql }: Families): Promise<Staged | null> {
  const [found] = await tx.all<{ kinds: Staged['kinds']; setKinds: string[]; n: number }>(`
    CREATE OR REPLACE TEMP TABLE outdated (seq BIGINT, endpoint VARCHAR, id VARCHAR, answer_no BIGINT);
    CREATE OR REPLACE TEMP TABLE incoming AS
      SELECT rowid AS seq, endpoint, id, parent_id, md5(body) AS body_hash, parts_hash, fetched_at, answer_no,
             ${familySql} AS family, ${withinSql} AS within, json_valid(body) AS is_json
        FROM appended.documents;
    -- What DuckDB cannot read is set aside: otherwise nothing could ever be merged again.
    INSERT INTO appended.rejections
      SELECT i.endpoint, i.parent_id, i.id, '', 'is not JSON', to_json(left(d.body, 65_536)), i.fetched_at
        FROM incoming i JOIN appended.documents d ON d.rowid = i.seq WHERE NOT is_json;
    DELETE FROM incoming WHERE NOT is_json;
    CREATE OR REPLACE TEMP TABLE sets AS
      SELECT endpoint, parent_id, arg_max(set_no, answer_no) AS set_no, max(answer_no) AS answer_no,
             max(fetched_at) AS fetched_at FROM appended.sets GROUP BY ALL;
    -- A list of a company's employees may be incomplete: somebody whose own record names the company is one of them.
    CREATE OR REPLACE TEMP TABLE set_members AS
      FROM appended.members SEMI JOIN sets USING (set_no)
      UNION ALL SELECT set_no, people.id FROM sets JOIN main.people ON people.company_id = sets.parent_id
       WHERE endpoint = 'company_employees' AND people.deleted_at IS NULL;
    SELECT coalesce((SELECT list({'kind': endpoint, 'hasNoParent': no_parent}) FROM (
             SELECT endpoint, bool_or(parent_id IS NULL) AS no_parent
               FROM (SELECT endpoint, parent_id FROM incoming UNION ALL SELECT endpoint, parent_id FROM appended.removed)
              GROUP BY endpoint)), []) AS kinds,
           coalesce((SELECT list(DISTINCT endpoint) FROM sets), []) AS "setKinds"`);
  if (!found || found.kinds.length + found.setKinds.length === 0) return null;
  return { kinds: found.kinds, setKinds: found.setKinds };
}

/**
 * How many documents one statement may read to recompute rows. At the least limit, 128 MB, 2,000: with 9,600 documents of
 * topics' people the statement needs 80 MB, besides what the merge itself holds.
 */
function documentsAtOnce({ memoryLimit }: Session): number {
  return Math.max(2_000, Math.floor((bytesOf(memoryLimit) ?? 0) / 64_000));
}

/** Otherwise bodies, and 256 KB for each column, would stay in memory until the next merge. */
const dropTemporary = [
  ...['incoming', 'outdated', 'sets', 'set_members', 'stored', 'writes', 'write_bodies', 'deletes'],
  ...['orphaned_parents', 'scope_documents', 'kept_documents', 'model_input', 'own_rows', 'projected'],
  ...['compared', 'coverage_now', 'rejections_now', 'drift_now'],
].map((table) => `DROP TABLE IF EXISTS temp.${table}`);
