import { groupBy, portions } from '../base/group-by.js';
import type { Warehouse } from '../load/warehouse.js';
import { sqlFile } from '../store/sql.js';
import { entityKey, type Reference } from './change.js';
import type { EntityType, Value, Values } from './fields.js';

/** The live warehouse or the published file. */
export type Store = Pick<Warehouse, 'all'>;

/** A topic, company or person as the warehouse has it. */
export interface StoredEntity {
  readonly id: string;
  /** The title of a topic or the name of a company; null when it is unknown. */
  readonly title: string | null;
  /** Its values in the fields that can be changed; a field that was never fetched is left out. */
  readonly values: Values;
  readonly syncedAt: string | null;
  /** Why it cannot be changed, as a sentence without a subject; null when it can. */
  readonly blockedReason: string | null;
}

interface Row extends Pick<StoredEntity, 'id' | 'title' | 'syncedAt'> {
  readonly values: string;
  readonly is_deleted: boolean;
  readonly deleted_reason: string | null;
  readonly merged_into_id: string | null;
  readonly survivor_title: string | null;
  readonly detail_unavailable_reason: string | null;
}

const queries: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/topics'),
  company: sqlFile('push/companies'),
  person: sqlFile('push/people'),
};

/** What the warehouse has of those that were looked up. */
export type StoredOf = (reference: Reference) => StoredEntity | undefined;

/** Looks entities of any type up. Without a store nothing is known. */
export async function storedEntitiesOf(
  store: Store | null,
  references: readonly Reference[],
): Promise<StoredOf> {
  const found = new Map<string, StoredEntity>();
  for (const [entityType, sameType] of store ? groupBy(references, (one) => one.entityType) : []) {
    const ids = [...new Set(sameType.map(({ entityId }) => entityId))];
    for (const row of store ? await rowsAbout<Row>(store, queries[entityType], ids) : [])
      found.set(entityKey({ entityType, entityId: row.id }), storedEntity(entityType, row));
  }
  return (reference) => found.get(entityKey(reference));
}

function storedEntity(entityType: EntityType, row: Row): StoredEntity {
  const stored = JSON.parse(row.values) as Record<string, { is_fetched: boolean; value: Value }>;
  const fetched = Object.entries(stored).filter(([, { is_fetched: isFetched }]) => isFetched);
  const values = Object.fromEntries(fetched.map(([name, { value }]) => [name, value]));
  const { id, title, syncedAt } = row;
  return { id, title, values, syncedAt, blockedReason: blockedReasonIn(entityType, row) };
}

function blockedReasonIn(entityType: EntityType, row: Row): string | null {
  const { merged_into_id: survivor, deleted_reason: reason, detail_unavailable_reason: why } = row;
  if (survivor !== null)
    return `was merged into ${named(survivor, row.survivor_title)}: change that ${entityType} instead`;
  if (row.is_deleted) return `was deleted${reason === null ? '' : ` (${reason})`}: the API no longer has it`;
  return why === null ? null : `cannot be changed: the API answers 404 for it (${why})`;
}

/** A topic or company as sentences name it. */
export function named(id: string, title: string | null): string {
  return title === null ? id : `${title} (${id})`;
}

/** How many ids are looked up at once: queries about 20,000 take 40 MB more. */
const idsAtOnce = 2_000;

/** The rows of a query about some `$ids`, which has rows about each id for itself. */
export async function rowsAbout<T>(
  store: Store,
  sql: string,
  ids: readonly string[],
  params: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const rows: T[] = [];
  for (const some of portions(ids, idsAtOnce))
    rows.push(...(await store.all<T>(sql, { ...params, ids: some })));
  return rows;
}
