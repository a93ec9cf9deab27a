import { groupBy, portions } from '../base/group-by.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { archivedReason, type EntityType, type Reference, type Value, type Values } from './change.js';

/** The live warehouse or the published file. */
export type Store = Pick<Warehouse, 'all'>;

/** A topic, company or person as the warehouse has it: its values, and what happened to it. */
export interface StoredEntity {
  readonly id: string;
  /** The title of a topic or the name of a company; null when it is unknown. */
  readonly title: string | null;
  /** Its values in the fields that can be changed; a field that was never fetched is left out. */
  readonly values: Values;
  readonly syncedAt: string | null;
  /** The topic or company that it was merged into, after any number of merges; null when it was not. */
  readonly survivor: { readonly id: string; readonly title: string | null } | null;
  /** Merged, deleted or superseded, as a sentence without a subject; null when it is none of these. */
  readonly gone: string | null;
  /** Why it cannot be changed; null when it can. */
  readonly blockedReason: string | null;
  /** The day on which a topic was archived (UTC); null when it is not. */
  readonly archivedOn: string | null;
}

interface Row extends Pick<StoredEntity, 'id' | 'title' | 'syncedAt'> {
  readonly values: string;
  readonly is_deleted: boolean;
  readonly deleted_reason: string | null;
  readonly merged_into_id: string | null;
  readonly detail_unavailable_reason: string | null;
  /** Only topics are archived or superseded. */
  readonly archivedOn?: string | null;
  readonly is_superseded?: boolean;
  readonly successor_id?: string | null;
  readonly successor_title?: string | null;
}

const queries: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/topics'),
  company: sqlFile('push/companies'),
  person: sqlFile('push/people'),
};

/** More merges in a row than this are two that name each other. */
const mostMerges = 20;

/** Looks all ids up, in any case, and what they were merged into. The result leaves out ids that the warehouse lacks. */
export async function storedEntities(
  store: Store,
  entityType: EntityType,
  ids: readonly string[],
): Promise<Map<string, StoredEntity>> {
  const rows = new Map<string, Row>();
  let missing = [...ids];
  for (let step = 0; missing.length > 0 && step <= mostMerges; step += 1) {
    const found = await rowsAbout<Row>(store, queries[entityType], missing);
    for (const row of found) rows.set(row.id, row);
    const survivors = new Set(found.flatMap((row) => row.merged_into_id ?? []));
    missing = [...survivors].filter((id) => !rows.has(id));
  }
  return new Map([...rows.values()].map((row) => [row.id, storedEntity(entityType, row, rows)]));
}

/** What the warehouse has of those that were looked up. */
export type StoredOf = (reference: Reference) => StoredEntity | undefined;

/** The same for entities of every type. Without a store nothing is known. */
export async function storedEntitiesOf(
  store: Store | null,
  references: readonly Reference[],
): Promise<StoredOf> {
  const found = new Map<EntityType, Map<string, StoredEntity>>();
  for (const [type, sameType] of store ? groupBy(references, ({ entityType }) => entityType) : []) {
    const ids = new Set(sameType.map(({ entityId }) => entityId));
    if (store) found.set(type, await storedEntities(store, type, [...ids]));
  }
  return ({ entityType, entityId }) => found.get(entityType)?.get(entityId);
}

function storedEntity(entityType: EntityType, row: Row, rows: ReadonlyMap<string, Row>): StoredEntity {
  const stored = JSON.parse(row.values) as Record<string, { is_fetched: boolean; value: Value }>;
  const fetched = Object.entries(stored).filter(([, { is_fetched: isFetched }]) => isFetched);
  const values = Object.fromEntries(fetched.map(([name, { value }]) => [name, value]));
  const survivor = survivorOf(row, rows);
  const { id, title, syncedAt, archivedOn = null } = row;
  return { id, title, values, syncedAt, survivor, archivedOn, ...whatHappened(entityType, row, survivor) };
}

function survivorOf(row: Row, rows: ReadonlyMap<string, Row>): StoredEntity['survivor'] {
  let id = row.merged_into_id;
  for (let step = 0; step < mostMerges && id !== null; step += 1) {
    const next = rows.get(id);
    if (!next || next.merged_into_id === null) return { id, title: next?.title ?? null };
    id = next.merged_into_id;
  }
  return null;
}

function whatHappened(
  entityType: EntityType,
  row: Row,
  survivor: StoredEntity['survivor'],
): Pick<StoredEntity, 'gone' | 'blockedReason'> {
  const { merged_into_id: mergedInto, deleted_reason: reason, detail_unavailable_reason: why } = row;
  if (mergedInto !== null) {
    const gone = `was merged into ${named(survivor?.id ?? mergedInto, survivor?.title ?? null)}`;
    return { gone, blockedReason: `${gone}: change that ${entityType} instead` };
  }
  if (row.is_deleted) {
    const gone = `was deleted${reason === null ? '' : ` (${reason})`}`;
    return { gone, blockedReason: `${gone}: the API no longer has it` };
  }
  const { successor_id: id, successor_title: title } = row;
  const replaced = id ? `; ${named(id, title ?? null)} replaced it` : '';
  return {
    gone: row.is_superseded ? `was superseded by the service${replaced}` : null,
    blockedReason: why === null ? null : `cannot be changed: the API answers 404 for it (${why})`,
  };
}

/** A topic or company as sentences name it. */
export function named(id: string, title: string | null): string {
  return title === null ? id : `${title} (${id})`;
}

/** Why nothing about an id can be changed, whatever the rows ask for; null when something can. */
export function blockedReason(stored: StoredEntity | undefined): string | null {
  return stored
    ? stored.blockedReason
    : 'is not a known id: check it. What is new is known after the next sync';
}

/** What happened to the topic or company besides its change, as a sentence without a subject; null when nothing did. */
export function noteFor(stored: StoredEntity | undefined, wanted: Values): string | null {
  const { gone = null, archivedOn = null } = stored ?? {};
  const isOwn = 'archived' in wanted || archivedReason in wanted;
  const archived = archivedOn === null || isOwn ? null : `was archived on ${archivedOn}`;
  return [gone, archived].filter((one) => one !== null).join('; ') || null;
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
