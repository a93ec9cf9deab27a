import { groupBy } from '../base/group-by.js';
import { idempotencyWindowMs } from '../contract/limits.js';
import { sqlFile } from '../store/sql.js';
import { type Change, entityKey, type Reference, type Status } from './change.js';
import { isAlike } from './compare.js';
import { type EntityType, updatedAt, type Value, type Values, valuesIn } from './fields.js';
import { rowsAbout, type Store, storedEntitiesOf } from './stored.js';

const historySql = sqlFile('push/last_changes');

/** A value that a person set after it was read and before ours replaced it: the author of ours has not seen it. */
export interface Replaced {
  readonly field: string;
  readonly value: Value;
  /** Who set it; null where no person is named. */
  readonly name: string | null;
  /** Null where only our own record shows it, as what it replaced. */
  readonly at: string | null;
}

interface HistoryRow extends Reference, Pick<Replaced, 'name'> {
  readonly at: string;
  readonly changes: string | null;
  readonly previous: string | null;
}

function valuesOf(entityType: EntityType, json: string | null): Values {
  return valuesIn(entityType, JSON.parse(json ?? '{}') as Values);
}

/** How exactly the time of sending is known by the API's clock. */
const sentErrorMs = 2_000;

/**
 * What an applied change replaced without anybody having seen it, as the history shows once a sync has fetched it. Our own record
 * has the wanted value and a time between sending and answer, while the API remembers the key. Of several, it is the one nearest to
 * the `updatedAt` of the answer, without that the first: after a kill, a colleague has had more time after ours than between the
 * reading and ours. A record between what was read before sending and our own is one that was not seen; where there is none, our own
 * may say what it replaced.
 */
function replacedBy(change: Change, records: readonly HistoryRow[]): Replaced[] {
  const { status, entityType, wanted, remoteBefore, remoteAfter, firstSentAt, settledAt } = change;
  if (status !== 'applied' || remoteBefore === null || firstSentAt === null) return [];
  const before = remoteBefore[updatedAt];
  const sentAt = Date.parse(firstSentAt) - sentErrorMs;
  const from = typeof before === 'string' ? Date.parse(before) : sentAt;
  const to = Math.min(Date.parse(settledAt ?? ''), sentAt + idempotencyWindowMs) + sentErrorMs;
  const written = remoteAfter?.[updatedAt];
  const distance = (at: string) =>
    typeof written === 'string' ? Math.abs(Date.parse(at) - Date.parse(written)) : 0;
  const since = records.filter(({ at }) => Date.parse(at) > from).reverse();
  return Object.keys(wanted).flatMap((field): Replaced[] => {
    const ofField = since.flatMap(({ changes, previous, at, name }) => {
      const value = valuesOf(entityType, changes)[field];
      return value === undefined ? [] : [{ field, value, name, at, previous }];
    });
    const distances = ofField.map(({ at, value }) =>
      Date.parse(at) >= sentAt && Date.parse(at) <= to && isAlike(value, wanted[field])
        ? distance(at)
        : Number.POSITIVE_INFINITY,
    );
    const nearest = Math.min(...distances);
    const own = Number.isFinite(nearest) ? distances.indexOf(nearest) : -1;
    const isUnseen = (value: Value) => !isAlike(value, remoteBefore[field]) && !isAlike(value, wanted[field]);
    const [last] = ofField.slice(0, Math.max(0, own)).reverse();
    if (last) {
      const { previous: _, ...theirs } = last;
      return isUnseen(last.value) ? [theirs] : [];
    }
    const value = valuesOf(entityType, ofField[own]?.previous ?? null)[field];
    const isTold = value !== undefined && field in remoteBefore && isUnseen(value);
    return isTold ? [{ field, value, name: null, at: null }] : [];
  });
}

/** What some applied changes replaced without anybody having seen it: an undo puts that back. */
export async function replacedValues(
  store: Store | null,
  changes: readonly Change[],
): Promise<(change: Change) => readonly Replaced[]> {
  const applied = changes.filter(({ status }) => status === 'applied');
  const ids = [...new Set(applied.map(({ entityId }) => entityId))];
  const rows = store && ids.length > 0 ? await rowsAbout<HistoryRow>(store, historySql, ids) : [];
  const records = groupBy(rows, entityKey);
  return (change) => replacedBy(change, records.get(entityKey(change)) ?? []);
}

/** What a report says about a change in addition to the change itself. */
export interface ChangeFacts {
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  /** The unseen values that it replaced; empty before a sync has fetched the history. */
  readonly replaced: readonly Replaced[];
}

/** Adds to changes what the warehouse knows about them. Without a store nothing is known. */
export async function withFacts<T extends Change>(
  store: Store | null,
  changes: readonly T[],
): Promise<(T & ChangeFacts)[]> {
  const storedOf = await storedEntitiesOf(store, changes);
  const replacedOf = await replacedValues(store, changes);
  return changes.map((change) => {
    return { ...change, title: storedOf(change)?.title ?? null, replaced: replacedOf(change) };
  });
}

/** Which changes are meant; a property that is left out matches every change. */
export interface ChangeFilter {
  readonly status?: readonly Status[] | undefined;
  readonly source?: string | undefined;
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
export function matches(change: Change, { status, source }: ChangeFilter): boolean {
  return (
    (status === undefined || status.includes(change.status)) &&
    (source === undefined || change.source === source)
  );
}
