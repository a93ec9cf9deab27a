import { groupBy } from '../../base/group-by.js';
import { literals } from '../sql.js';
import type { Cell, Statements } from '../store/session.js';
import type { Batch, Document, DocumentKey } from './batch.js';
import { byRowId } from './by-row-id.js';
import type { Families } from './families.js';

/**
 * Writes a batch into temporary tables with DuckDB's Appender; everything after that is SQL. `seq` is the order of the
 * documents. Bodies stay in `batch_bodies` until the diff has decided which to store: the table that it reads,
 * `batch_documents`, is narrow. Raises when a body is not JSON.
 */
export async function stage(
  tx: Statements,
  families: Families,
  batch: Batch,
  answersBefore: number,
): Promise<Staged> {
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE batch_bodies
      (seq BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, body JSON, fetched_at TIMESTAMPTZ, answer_no BIGINT, parts_hash VARCHAR);
    CREATE OR REPLACE TEMP TABLE batch_removed (endpoint VARCHAR, id VARCHAR, parent_id VARCHAR);
    CREATE OR REPLACE TEMP TABLE batch_sets (set_no BIGINT, endpoint VARCHAR, parent_id VARCHAR, fetched_at TIMESTAMPTZ, answer_no BIGINT);
    CREATE OR REPLACE TEMP TABLE batch_members (set_no BIGINT, id VARCHAR);
    CREATE OR REPLACE TEMP TABLE outdated (seq BIGINT, endpoint VARCHAR, id VARCHAR, answer_no BIGINT);
  `);
  await tx.append(
    { catalog: 'temp', table: 'batch_bodies' },
    ['integer', 'text', 'text', 'text', 'text', 'time', 'integer', 'text'],
    byKind(batch.documents, answersBefore),
  );
  await tx.append(
    { catalog: 'temp', table: 'batch_removed' },
    ['text', 'text', 'text'],
    batch.removed.map((it) => [it.endpoint, it.id, it.parentId]),
  );
  await tx.append(
    { catalog: 'temp', table: 'batch_sets' },
    ['integer', 'text', 'text', 'time', 'integer'],
    batch.sets.map((it, number) => [
      ...[number, it.endpoint, it.parentId, it.fetchedAt, answersBefore + it.answerNo],
    ]),
  );
  await tx.append({ catalog: 'temp', table: 'batch_members' }, ['integer', 'text'], membersOf(batch));
  const setKinds = [...new Set(batch.sets.map(({ endpoint }) => endpoint))].sort();
  // A list of a company's employees may be incomplete: somebody whose own record names the company is one of them.
  if (setKinds.includes('company_employees'))
    await tx.run(`INSERT INTO batch_members
      SELECT set_no, people.id FROM batch_sets JOIN main.people ON people.company_id = batch_sets.parent_id
       WHERE endpoint = 'company_employees' AND people.deleted_at IS NULL`);
  // DuckDB makes the hash, not JavaScript: a quarter of the time, and on DuckDB's threads.
  // The Appender does not parse what it writes into a JSON column; json_valid afterwards costs a quarter of a cast.
  const [answer] = await tx.all<{ found: boolean }>(
    [
      `CREATE OR REPLACE TEMP TABLE batch_documents AS
         SELECT seq, endpoint, id, parent_id, md5(body) AS body_hash, parts_hash, fetched_at,
                answer_no, ${families.familySql} AS family, ${families.withinSql} AS within FROM batch_bodies
          WHERE json_valid(body) OR error('the body of ' || endpoint || ' ' || id || ' is not JSON')`,
      memberHitsSql(setKinds),
      ...storedMembers,
      'SELECT EXISTS (FROM stored_members) AS found',
    ].join(';\n'),
  );
  return {
    kinds: kindsOf(batch),
    setKinds,
    mayDrop: answer?.found === true || hasNonMembers(batch),
    mayReturn: isNewerThanASet(batch),
    repeated: repeatedIn(batch, families),
    removes: batch.removed.length > 0,
    lastSeenOfRemoved: lastSeenOfRemoved(batch, answersBefore),
  };
}

/** Facts about a staged batch that tell which statements are not needed: each takes milliseconds. */
export interface Staged {
  /** The kinds of its documents and of those it removes, and whether any document of a kind has no parent. */
  readonly kinds: ReadonlyMap<string, { hasNoParent: boolean }>;
  /** The kinds of its sets. */
  readonly setKinds: readonly string[];
  /** Whether there is any document, stored or in the batch, that a set of the batch could remove. */
  readonly mayDrop: boolean;
  /** Whether any document was fetched after any set: only then can the batch bring back what a set removes. */
  readonly mayReturn: boolean;
  /** The families (by their names) in which several documents of the batch describe the same entity. */
  readonly repeated: ReadonlySet<string>;
  /** Whether it removes documents by name. */
  readonly removes: boolean;
  /** The last answer of the batch with a document that it also removes; null when it removes none of its own. */
  readonly lastSeenOfRemoved: number | null;
}

/**
 * Fills `hits(rid)` with the stored documents under a parent for which the batch has a set. A step of its own, which reads
 * only the key columns of a million documents; `storedMembers` reads the rest of the few.
 */
export function memberHitsSql(setKinds: readonly string[]): string {
  const hits =
    setKinds.length === 0
      ? 'SELECT NULL::BIGINT AS rid LIMIT 0'
      : `SELECT rowid AS rid FROM raw.documents
          WHERE endpoint IN (${literals(setKinds)}) AND parent_id IN (SELECT parent_id FROM batch_sets)`;
  return `CREATE OR REPLACE TEMP TABLE hits AS ${hits}`;
}

/** Fills `stored_members(rid, endpoint, id, parent_id, answer_no)` with the documents of `hits`. */
export const storedMembers: readonly string[] = byRowId(`CREATE OR REPLACE TEMP TABLE stored_members AS
  SELECT rowid AS rid, endpoint, id, parent_id, answer_no FROM raw.documents
   WHERE rowid IN (SELECT rid FROM hits)`);

function lastSeenOfRemoved({ documents, removed }: Batch, answersBefore: number): number | null {
  const keys = new Set(removed.map(keyOf));
  const seen = keys.size === 0 ? [] : documents.filter((document) => keys.has(keyOf(document)));
  if (seen.length === 0) return null;
  return answersBefore + seen.reduce((last, { answerNo }) => Math.max(last, answerNo), 0);
}

const keyOf = ({ endpoint, id, parentId }: DocumentKey) => JSON.stringify([endpoint, id, parentId]);

function kindsOf({ documents, removed }: Batch): Staged['kinds'] {
  const kinds = new Map<string, { hasNoParent: boolean }>();
  for (const { endpoint, parentId } of [...documents, ...removed]) {
    const kind = kinds.get(endpoint);
    if (!kind) kinds.set(endpoint, { hasNoParent: parentId === null });
    else if (parentId === null) kind.hasNoParent = true;
  }
  return kinds;
}

/** Whether a document is under a parent whose set in this batch does not name it. */
function hasNonMembers({ documents, sets }: Batch): boolean {
  const parentOf = ({ endpoint, parentId }: Pick<DocumentKey, 'endpoint' | 'parentId'>) =>
    `${endpoint} ${parentId}`;
  const named = sets.map((set) => ({ parent: parentOf(set), ids: new Set(set.ids) }));
  const ofParent = groupBy(named, ({ parent }) => parent);
  return documents.some((document) =>
    ofParent.get(parentOf(document))?.some(({ ids }) => !ids.has(document.id)),
  );
}

function isNewerThanASet({ documents, sets }: Batch): boolean {
  let newest = Number.NEGATIVE_INFINITY;
  for (const { answerNo } of documents) newest = Math.max(newest, answerNo);
  return sets.some(({ answerNo }) => answerNo < newest);
}

function repeatedIn({ documents }: Batch, { familyName, withinOf }: Families): Set<string> {
  const entities = new Set<string>();
  const repeated = new Set<string>();
  for (const document of documents) {
    const family = familyName(document.endpoint);
    const entity = `${family} ${withinOf(document)} ${document.id}`;
    if (entities.has(entity)) repeated.add(family);
    else entities.add(entity);
  }
  return repeated;
}

/** In order of kind, so that they are stored in that order, and a scan for one kind skips whole vectors of the others. */
function* byKind(documents: readonly Document[], answersBefore: number): Generator<Cell[]> {
  for (const ofKind of groupBy(documents.entries(), ([, { endpoint }]) => endpoint).values()) {
    for (const [seq, it] of ofKind) {
      const answerNo = answersBefore + it.answerNo;
      yield [seq, it.endpoint, it.id, it.parentId, it.body, it.fetchedAt, answerNo, it.partsHash ?? null];
    }
  }
}

function* membersOf(batch: Batch): Generator<Cell[]> {
  for (const [number, set] of batch.sets.entries()) for (const id of set.ids) yield [number, id];
}
