import { groupBy } from '../../base/group-by.js';
import type { Cell, Statements } from '../store/session.js';
import type { Batch, Document, DocumentKey } from './batch.js';
import type { Families } from './families.js';
import { standingSql } from './standing.js';

/**
 * A batch on its way in: everything lands in temporary tables first, by DuckDB's Appender, and from there on it is SQL
 * alone. `seq` is the order in which documents were given. Their bodies stay in `batch_given` until it is known which
 * are worth storing: what decides that (`batch_documents`) is narrow. Raises when a body is not JSON.
 */
export async function stage(tx: Statements, families: Families, batch: Batch): Promise<Staged> {
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
  const setKinds = [...new Set(batch.sets.map(({ endpoint }) => endpoint))].sort();
  // The hash is made here and not in JavaScript: a quarter of the time, and on DuckDB's threads.
  // The Appender writes into a JSON column unread, and asking afterwards is four times cheaper than a cast.
  const [answer] = await tx.all<{ standing: boolean }>(`
    CREATE OR REPLACE TEMP TABLE batch_documents AS
      SELECT seq, endpoint, id, parent_id, md5(body) AS body_hash, fetched_at,
             ${families.familySql} AS family, ${families.withinSql} AS within FROM batch_given
       WHERE json_valid(body) OR error('the body of ' || endpoint || ' ' || id || ' is not JSON');
    ${standingSql(setKinds)};
    SELECT EXISTS (FROM standing) AS standing`);
  return {
    kinds: kindsOf(batch),
    setKinds,
    mayDrop: answer?.standing === true || hasOutsiders(batch),
    mayReturn: isYoungerThanASet(batch),
    repeated: repeatedIn(batch, families),
    removes: batch.removed.length > 0,
    lastWord: lastWordOf(batch),
  };
}

/** What is known of a staged batch: a statement that is not needed is not run, each takes milliseconds. */
export interface Staged {
  /** The kinds of its documents and of those it removes, and whether any of a kind has no parent. */
  readonly kinds: ReadonlyMap<string, { loose: boolean }>;
  /** The kinds of its sets. */
  readonly setKinds: readonly string[];
  /** Whether there is any document, stored or in the batch, that a set of the batch could take away. */
  readonly mayDrop: boolean;
  /** Whether any document was fetched after any set: only then can a set take away what the batch brings back. */
  readonly mayReturn: boolean;
  /** The families (by their first kinds) of which several documents of the batch are about the same thing. */
  readonly repeated: ReadonlySet<string>;
  /** Whether it removes documents by name. */
  readonly removes: boolean;
  /** When a document was last seen, if it removes any that it brings itself. */
  readonly lastWord: Date | null;
}

function lastWordOf({ documents, removed }: Batch): Date | null {
  const names = new Set(removed.map(nameOf));
  const seen = names.size === 0 ? [] : documents.filter((document) => names.has(nameOf(document)));
  return seen.reduce<Date | null>(
    (last, { fetchedAt }) => (last && last >= fetchedAt ? last : fetchedAt),
    null,
  );
}

const nameOf = ({ endpoint, id, parentId }: DocumentKey) => JSON.stringify([endpoint, id, parentId]);

function kindsOf({ documents, removed }: Batch): Staged['kinds'] {
  const kinds = new Map<string, { loose: boolean }>();
  for (const { endpoint, parentId } of [...documents, ...removed]) {
    const kind = kinds.get(endpoint);
    if (!kind) kinds.set(endpoint, { loose: parentId === null });
    else if (parentId === null) kind.loose = true;
  }
  return kinds;
}

/** Whether a document stands under a parent of which a set of the batch does not name it. */
function hasOutsiders({ documents, sets }: Batch): boolean {
  const parentOf = ({ endpoint, parentId }: Pick<DocumentKey, 'endpoint' | 'parentId'>) =>
    `${endpoint} ${parentId}`;
  const named = sets.map((set) => ({ parent: parentOf(set), ids: new Set(set.ids) }));
  const ofParent = groupBy(named, ({ parent }) => parent);
  return documents.some((document) =>
    ofParent.get(parentOf(document))?.some(({ ids }) => !ids.has(document.id)),
  );
}

function isYoungerThanASet({ documents, sets }: Batch): boolean {
  let youngest = Number.NEGATIVE_INFINITY;
  for (const { fetchedAt } of documents) youngest = Math.max(youngest, fetchedAt.getTime());
  return sets.some(({ fetchedAt }) => fetchedAt.getTime() < youngest);
}

function repeatedIn({ documents }: Batch, { familyName, withinOf }: Families): Set<string> {
  const things = new Set<string>();
  const repeated = new Set<string>();
  for (const document of documents) {
    const family = familyName(document.endpoint);
    const thing = `${family} ${withinOf(document)} ${document.id}`;
    if (things.has(thing)) repeated.add(family);
    else things.add(thing);
  }
  return repeated;
}

/** Kind by kind, so that they are stored like that, and a scan for one kind skips whole vectors of the others. */
function* byKind(documents: readonly Document[]): Generator<Cell[]> {
  for (const ofKind of groupBy(documents.entries(), ([, { endpoint }]) => endpoint).values()) {
    for (const [seq, it] of ofKind) yield [seq, it.endpoint, it.id, it.parentId, it.body, it.fetchedAt];
  }
}

function* membersOf(batch: Batch): Generator<Cell[]> {
  for (const [number, set] of batch.sets.entries()) for (const id of set.ids) yield [number, id];
}
