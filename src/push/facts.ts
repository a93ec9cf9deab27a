import { groupBy, portions } from '../base/group-by.js';
import { sqlFile, substitute } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import {
  archivedReason,
  type Change,
  type EntityType,
  entityKey,
  entityTypes,
  type Status,
  type Values,
  valuesIn,
} from './change.js';
import { isSame } from './compare.js';

/** The live warehouse or the published file. */
type Store = Pick<Warehouse, 'all'>;

export type Reference = Pick<Change, 'entityType' | 'entityId'>;

/** What people call a topic or company, and what happened to it. */
export interface EntityFacts {
  /** The title of a topic or the name of a company; null when it is unknown. */
  readonly title: string | null;
  /** Superseded, merged or deleted, as a sentence without a subject; null when it is none of these. */
  readonly gone: string | null;
  /** The day on which a topic was archived (UTC); null when it is not. */
  readonly archivedOn: string | null;
  readonly mergedInto: { readonly id: string; readonly title: string | null } | null;
}

interface FactsRow {
  readonly id: string;
  readonly title: string | null;
  readonly archived_on: string | null;
  readonly is_superseded: boolean;
  readonly successor_id: string | null;
  readonly successor_title: string | null;
  readonly merged_into_id: string | null;
  readonly merged_into_title: string | null;
  readonly is_deleted: boolean;
  readonly deleted_reason: string | null;
}

const factsSql: Readonly<Record<EntityType, string>> = {
  topic: sqlFile('push/topic_facts'),
  company: sqlFile('push/company_facts'),
};
const affectedSql = sqlFile('push/affected_companies');
const affectedByTopicSql = substitute(affectedSql, { topic_id: 'topic_id' });
const affectedTogetherSql = substitute(affectedSql, { topic_id: 'NULL' });
const historySql = sqlFile('push/last_changes');

const unknown: EntityFacts = { title: null, gone: null, archivedOn: null, mergedInto: null };

/** Looks up the facts about topics and companies; the result is asked for one of them. Without a store all are unknown. */
export async function factsAbout(
  store: Store | null,
  references: readonly Reference[],
): Promise<(reference: Reference) => EntityFacts> {
  const found = new Map<string, EntityFacts>();
  for (const entityType of entityTypes) {
    const ofType = references.filter((one) => one.entityType === entityType);
    const ids = [...new Set(ofType.map(({ entityId }) => entityId))];
    if (store === null || ids.length === 0) continue;
    for (const row of await rowsAbout<FactsRow>(store, factsSql[entityType], ids)) {
      const { id: entityId, title, archived_on: archivedOn, merged_into_id: id } = row;
      const mergedInto = id === null ? null : { id, title: row.merged_into_title };
      found.set(entityKey({ entityType, entityId }), { title, gone: goneText(row), archivedOn, mergedInto });
    }
  }
  return (reference) => found.get(entityKey(reference)) ?? unknown;
}

function goneText(row: FactsRow): string | null {
  if (row.merged_into_id !== null)
    return `was merged into ${named(row.merged_into_id, row.merged_into_title)}`;
  if (row.is_deleted) return `was deleted${row.deleted_reason === null ? '' : ` (${row.deleted_reason})`}`;
  if (!row.is_superseded) return null;
  const { successor_id: id, successor_title: title } = row;
  return `was superseded by the service${id === null ? '' : `; ${named(id, title)} replaced it`}`;
}

/** What happened to the topic or company besides its change, as a sentence without a subject; null when nothing did. */
export function noteFor({ gone, archivedOn }: EntityFacts, wanted: Values): string | null {
  const isOwn = 'archived' in wanted || archivedReason in wanted;
  const archived = archivedOn === null || isOwn ? null : `was archived on ${archivedOn}`;
  return [gone, archived].filter((one) => one !== null).join('; ') || null;
}

/** A topic or company as sentences name it. */
export function named(id: string, title: string | null): string {
  return title === null ? id : `${title} (${id})`;
}

/** The companies whose people take part in topics, without staff and bots. */
export interface AffectedCompanies {
  readonly companies: number;
  readonly vipCompanies: number;
  /** The names of up to three, VIPs first. */
  readonly companyNames: readonly string[];
}

const nobody: AffectedCompanies = { companies: 0, vipCompanies: 0, companyNames: [] };

/** The companies that these topics affect: `of` one topic, and all of them together. */
export async function affectedCompanies(
  store: Store,
  topicIds: readonly string[],
): Promise<{ of(topicId: string): AffectedCompanies; readonly total: AffectedCompanies }> {
  type Row = Readonly<Record<'companies' | 'vip_companies', number | bigint>> & {
    readonly topic_id: string;
    readonly names: string | null;
  };
  const affectedOf = (row: Row): AffectedCompanies => ({
    ...{ companies: Number(row.companies), vipCompanies: Number(row.vip_companies) },
    companyNames: JSON.parse(row.names ?? '[]') as string[],
  });
  const found = new Map<string, AffectedCompanies>();
  for (const row of await rowsAbout<Row>(store, affectedByTopicSql, topicIds))
    found.set(row.topic_id, affectedOf(row));
  const [total] = topicIds.length === 0 ? [] : await store.all<Row>(affectedTogetherSql, { ids: topicIds });
  return { of: (topicId) => found.get(topicId) ?? nobody, total: total ? affectedOf(total) : nobody };
}

/** Who set the value that a change met in its conflict, according to the history of its topic or company. */
interface ChangedBy {
  readonly field: string;
  /** The user's name; null when it was not a user, or has no name. */
  readonly name: string | null;
  /** user, agent (AI) or system. */
  readonly by: string | null;
  readonly at: string;
}

interface HistoryRow {
  readonly entity_type: EntityType;
  readonly entity_id: string;
  readonly changes: string | null;
  readonly changed_by: string | null;
  readonly user_name: string | null;
  readonly changed_at: string;
}

/** Finds who made the other change of a conflict. Only a record counts that set the value found: history may be older. */
async function whoChanged(
  store: Store | null,
  changes: readonly Change[],
): Promise<(change: Change) => ChangedBy | null> {
  const conflicts = changes.filter(({ status }) => status === 'conflict');
  if (store === null || conflicts.length === 0) return () => null;
  const ids = [...new Set(conflicts.map(({ entityId }) => entityId))];
  const rows = await store.all<HistoryRow>(historySql, { ids });
  const records = groupBy(rows, (row) => `${row.entity_type} ${row.entity_id}`);
  return (change) =>
    change.status === 'conflict' ? changedBy(change, records.get(entityKey(change)) ?? []) : null;
}

/** `records` are those of the change's entity, latest first. Only fields with neither the base nor the wanted value count. */
function changedBy(
  { entityType, wanted, base, remoteBefore }: Change,
  records: readonly HistoryRow[],
): ChangedBy | null {
  for (const [field, found] of Object.entries(remoteBefore ?? {})) {
    if (!(field in wanted) || isSame(found, wanted[field]) || isSame(found, base[field])) continue;
    for (const row of records) {
      const values = valuesIn(entityType, JSON.parse(row.changes ?? '{}') as Values);
      if (!(field in values)) continue;
      if (!isSame(values[field], found)) break;
      return { field, name: row.user_name, by: row.changed_by, at: row.changed_at };
    }
  }
  return null;
}

/** What a report says about a change besides the change itself. */
export interface ChangeFacts extends Pick<EntityFacts, 'title' | 'mergedInto'> {
  /** What happened to the topic or company besides this change: archived, superseded, merged, deleted. */
  readonly note: string | null;
  /** Who made the other change of a conflict, and when; null when the warehouse does not know yet. */
  readonly changedBy: ChangedBy | null;
}

/** Adds to changes what the warehouse knows about them. Without a store nothing is known. */
export async function withFacts<T extends Change>(
  store: Store | null,
  changes: readonly T[],
): Promise<(T & ChangeFacts)[]> {
  const facts = await factsAbout(store, changes);
  const who = await whoChanged(store, changes);
  return changes.map((change) => {
    const found = facts(change);
    const { title, mergedInto } = found;
    return { ...change, title, mergedInto, note: noteFor(found, change.wanted), changedBy: who(change) };
  });
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

/** Which changes to list; a property that is left out matches every change. */
export interface ChangeFilter {
  readonly status?: readonly Status[] | undefined;
  readonly topic?: string | undefined;
  readonly company?: string | undefined;
  readonly source?: string | undefined;
  readonly by?: string | undefined;
  /** Queued at this time or later. */
  readonly since?: Date | undefined;
}

export interface TitledChange extends Change, ChangeFacts {
  /** The change that undid it; null when it is not undone. */
  readonly undoneBy: string | null;
}

/** One request that was made for a change (ops.change_attempts). */
export interface ChangeAttempt {
  readonly at: string;
  readonly attempt: number;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly error_code: string | null;
  readonly request_id: string | null;
  readonly idempotency_key: string;
  readonly ms: number | null;
  readonly run_id: string | null;
}

/** Whether a change meets every condition of a filter. */
export function matches(change: Change, filter: ChangeFilter): boolean {
  const { status, topic, company, source, by, since } = filter;
  const isOf = (type: EntityType, id: string | undefined) =>
    id === undefined || (change.entityType === type && change.entityId === id);
  return (
    (status === undefined || status.includes(change.status)) &&
    isOf('topic', topic) &&
    isOf('company', company) &&
    (source === undefined || change.source === source) &&
    (by === undefined || change.requestedBy === by) &&
    (since === undefined || Date.parse(change.queuedAt) >= since.getTime())
  );
}
