import { sqlFile } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import type { EntityType, Value, Values } from '../fields.js';

/** What the warehouse knows of a topic or company that a file names. */
export interface Known {
  readonly id: string;
  /** What it has in the fields that can be changed; a field that was never fetched is left out. */
  readonly values: Values;
  /** As of when that is known (ISO 8601). */
  readonly syncedAt: string | null;
  /** Why it cannot be changed; null when it can. */
  readonly closed: string | null;
  /** What the person should know although it can be changed. */
  readonly note: string | null;
}

interface Row {
  readonly id: string;
  readonly values: string;
  readonly synced_at: Date | null;
  readonly is_deleted: boolean;
  readonly deleted_reason: string | null;
  readonly merged_into_id: string | null;
  readonly merged_into_title: string | null;
  readonly detail_unavailable_reason: string | null;
  readonly is_superseded: boolean;
  readonly successor_id: string | null;
}

const queries: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/known_topics'),
  company: sqlFile('push/known_companies'),
};

/** Looks all ids up in one query; what is not in the answer the warehouse does not know. */
export async function lookUp(
  store: Pick<Warehouse, 'all'>,
  entityType: EntityType,
  ids: readonly string[],
): Promise<Map<string, Known>> {
  const rows = await store.all<Row>(queries[entityType], { ids });
  return new Map(rows.map((row) => [row.id, knownOf(entityType, row)]));
}

function knownOf(entityType: EntityType, row: Row): Known {
  const { is_superseded: superseded, successor_id: successor } = row;
  const note = superseded
    ? `was superseded by the service${successor === null ? '' : `; ${successor} took its place`}`
    : null;
  const values = Object.fromEntries(
    Object.entries(JSON.parse(row.values) as Record<string, { known: boolean; value: Value }>).flatMap(
      ([name, { known, value }]) => (known ? [[name, value]] : []),
    ),
  );
  const syncedAt = row.synced_at?.toISOString() ?? null;
  return { id: row.id, values, syncedAt, closed: closedOf(entityType, row), note };
}

function closedOf(entityType: EntityType, row: Row): string | null {
  const noun = entityType;
  if (row.merged_into_id !== null) {
    const title = row.merged_into_title === null ? '' : ` (${row.merged_into_title})`;
    return `was merged into ${row.merged_into_id}${title}: change that ${noun} instead`;
  }
  if (row.is_deleted) {
    const reason = row.deleted_reason === null ? '' : ` (${row.deleted_reason})`;
    return `was deleted${reason}: the API does not know it any more`;
  }
  if (row.detail_unavailable_reason !== null)
    return `cannot be changed: the API answers 404 for it (${row.detail_unavailable_reason})`;
  return null;
}
