import { groupBy } from '../base/group-by.js';
import { sqlFile, substitute } from '../warehouse/sql.js';
import {
  type Change,
  type EntityType,
  entityKey,
  type Reference,
  type Status,
  updatedAt,
  type Value,
  type Values,
  valuesIn,
} from './change.js';
import { isAlike, isSame } from './compare.js';
import { noteFor, rowsAbout, type Store, type StoredEntity, storedEntitiesOf } from './stored.js';

const affectedSql = sqlFile('push/affected_companies');
const affectedByTopicSql = substitute(affectedSql, { topic_id: 'topic_id' });
const affectedTogetherSql = substitute(affectedSql, { topic_id: 'NULL' });
const historySql = sqlFile('push/last_changes');

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
  type Row = Omit<AffectedCompanies, 'companyNames'> & {
    readonly topicId: string;
    readonly names: string | null;
  };
  const affectedOf = ({ companies, vipCompanies, names }: Row): AffectedCompanies => {
    return { companies, vipCompanies, companyNames: JSON.parse(names ?? '[]') as string[] };
  };
  const found = new Map<string, AffectedCompanies>();
  for (const row of await rowsAbout<Row>(store, affectedByTopicSql, topicIds))
    found.set(row.topicId, affectedOf(row));
  const [total] = topicIds.length === 0 ? [] : await store.all<Row>(affectedTogetherSql, { ids: topicIds });
  return { of: (topicId) => found.get(topicId) ?? nobody, total: total ? affectedOf(total) : nobody };
}

/** Who set a value that a change met, according to the history of its topic or company. */
interface ChangedBy {
  readonly field: string;
  /** The user's name; null when it was not a user, or has no name. */
  readonly name: string | null;
  /** user, agent (AI) or system. */
  readonly by: string | null;
  readonly at: string;
}

/** A value that somebody set after it was read and before ours replaced it: nobody has seen it. */
export interface Replaced extends ChangedBy {
  readonly value: Value;
}

interface HistoryRow extends Reference, Omit<ChangedBy, 'field'> {
  readonly changes: string | null;
  readonly previous: string | null;
  /** Whether no user made it: what is made with a key has none. */
  readonly isKeys: boolean;
}

/** The records of the entities of some changes, latest first, by entity. */
async function recordsOf(store: Store | null, changes: readonly Change[]) {
  const ids = new Set(
    changes.flatMap(({ status, entityId }) =>
      status === 'conflict' || status === 'applied' ? [entityId] : [],
    ),
  );
  const rows = store && ids.size > 0 ? await rowsAbout<HistoryRow>(store, historySql, [...ids]) : [];
  return groupBy(rows, entityKey);
}

function valuesOf(entityType: EntityType, json: string | null): Values {
  return valuesIn(entityType, JSON.parse(json ?? '{}') as Values);
}

/** Who made the other change of a conflict. Only fields with neither the base nor the wanted value count. */
function changedBy(change: Change, records: readonly HistoryRow[]): ChangedBy | null {
  const { status, entityType, wanted, base, remoteBefore } = change;
  if (status !== 'conflict') return null;
  for (const [field, found] of Object.entries(remoteBefore ?? {})) {
    if (!(field in wanted) || isSame(found, wanted[field]) || isSame(found, base[field])) continue;
    for (const { changes, name, by, at } of records) {
      const values = valuesOf(entityType, changes);
      if (!(field in values)) continue;
      // Only a record counts that set the value found: history may be older.
      if (!isSame(values[field], found)) break;
      return { field, name, by, at };
    }
  }
  return null;
}

/**
 * What an applied change replaced without anybody having seen it, as the history shows once a sync has fetched it: a record
 * between what was read before sending and our own, which no user made.
 */
function replacedBy(change: Change, records: readonly HistoryRow[]): Replaced[] {
  const { status, entityType, wanted, remoteBefore, firstSentAt } = change;
  if (status !== 'applied' || remoteBefore === null || firstSentAt === null) return [];
  const before = remoteBefore[updatedAt];
  const from = typeof before === 'string' ? Date.parse(before) : Date.parse(firstSentAt) - sentErrorMs;
  const since = records.filter(({ at }) => Date.parse(at) > from).reverse();
  return Object.keys(wanted).flatMap((field): Replaced[] => {
    const ofField = since.flatMap((row) => {
      const values = valuesOf(entityType, row.changes);
      return field in values ? [{ row, value: values[field] as Value }] : [];
    });
    const own = ofField.findIndex(({ row, value }) => row.isKeys && isAlike(value, wanted[field]));
    const [last] = ofField.slice(0, Math.max(0, own)).reverse();
    if (!last || isAlike(last.value, remoteBefore[field]) || isAlike(last.value, wanted[field])) return [];
    const { name, by, at } = last.row;
    return [{ field, value: last.value, name, by, at }];
  });
}

/** How exactly the time of sending is known by the API's clock. */
const sentErrorMs = 2_000;

/** What some applied changes replaced without anybody having seen it: an undo puts that back. */
export async function replacedValues(
  store: Store | null,
  changes: readonly Change[],
): Promise<(change: Change) => readonly Replaced[]> {
  const records = await recordsOf(store, changes);
  return (change) => replacedBy(change, records.get(entityKey(change)) ?? []);
}

/** What a report says about a change besides the change itself. */
export interface ChangeFacts {
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  readonly mergedInto: StoredEntity['survivor'];
  /** What happened to the topic or company besides this change: archived, superseded, merged, deleted. */
  readonly note: string | null;
  /** Who made the other change of a conflict, and when; null when the warehouse does not know yet. */
  readonly changedBy: ChangedBy | null;
  /** What it replaced that nobody had seen; empty before a sync has fetched the history. */
  readonly replaced: readonly Replaced[];
}

/** Adds to changes what the warehouse knows about them. Without a store nothing is known. */
export async function withFacts<T extends Change>(
  store: Store | null,
  changes: readonly T[],
): Promise<(T & ChangeFacts)[]> {
  const storedOf = await storedEntitiesOf(store, changes);
  const records = await recordsOf(store, changes);
  return changes.map((change) => {
    const stored = storedOf(change);
    const own = records.get(entityKey(change)) ?? [];
    const isMerge = change.entityType === 'person';
    return {
      ...change,
      title: stored?.title ?? null,
      mergedInto: stored?.survivor ?? null,
      note: isMerge ? null : noteFor(stored, change.wanted),
      changedBy: changedBy(change, own),
      replaced: replacedBy(change, own),
    };
  });
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
