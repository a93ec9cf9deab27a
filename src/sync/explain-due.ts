import { type Iso, iso } from '../base/clock.js';
import { type Child, type Resources, requestFor } from '../contract/resources.js';
import {
  ageOf,
  type DueSettings,
  dueQuery,
  isChangeField,
  type NotRequested,
  type Rows,
  readMeasured,
} from './due.js';
import type { measuredAge } from './freshness.js';
import type { DueReason } from './report.js';

/** Why a child of an entity is due, or is not. */
export type DueCode =
  /** Due: it was never requested. */
  | 'never_requested'
  /** Due: it was requested, and no usable answer came. */
  | 'no_answer'
  /** Due: what was fetched was removed, since the entity was gone or something else had the same content. */
  | 'removed'
  /** Due: a field that shows a change of it has changed. */
  | 'changed'
  /** Due: a merge, a move or a deletion concerns it, which no field of its parent shows. */
  | 'touched'
  /** The last answer was in doubt, or could not be stored whole: it is requested again at growing intervals. */
  | 'asked_again'
  /** Due: it is older than its age allows. */
  | 'old'
  /** Not due: nothing has changed since, and it is not too old. */
  | 'unchanged'
  /** Not due: the last message explains why its parent's time has changed. */
  | 'only_a_message'
  /** Not due: it was answered 400 or 404, and nothing has changed since. */
  | 'refused'
  /** Not due: the answer was too large, and nothing has changed since. */
  | 'too_large'
  /** Not due: the id of its parent cannot be sent, so no request was made. */
  | 'id_not_valid'
  /** Never requested: its parent was not in a list yet. */
  | 'not_listed'
  | NotRequested;

/** A field of the list item that changed since the child was fetched. */
interface ChangedField {
  readonly field: string;
  /** Null where the field had no value, or what it was is not stored: then `isKnown` is false. */
  readonly before: string | null;
  readonly now: string | null;
  readonly isKnown: boolean;
}

/** Whether one child of one entity is due, by the query that a sync uses, and why. */
export interface ExplainedChild {
  readonly resource: string;
  readonly entityId: string;
  /** The request that fetches it, as the API is asked. */
  readonly request: string;
  readonly isDue: boolean;
  /** The place in the order: never, changed, sweep. Null when it is not due. */
  readonly reason: DueReason | null;
  readonly why: DueCode;
  /** What changed since it was fetched; empty when nothing did, or it was never fetched. */
  readonly changes: readonly ChangedField[];
  /** The fields of which one has changed, where what they were is not stored: the answer was too large, or it was forgotten. */
  readonly oneOf: readonly string[];
  /** When it was requested last and how that was answered; null when it never was. */
  readonly last: {
    /** When it was last answered, and read to its end: the age counts from here. Null when no usable answer ever came. */
    readonly at: Iso | null;
    readonly status: number | null;
    readonly error: string | null;
    readonly reason: string | null;
    /** Tries since the last good answer. */
    readonly attempts: number;
    readonly runId: string | null;
  } | null;
  readonly maxAgeDays: number;
  /** Why it is less than the settings allow: how often such a child changes without a sign. Null where it is not less. */
  readonly measured: { readonly daysBetween: number; readonly checks: number } | null;
  /** When it is requested at the latest, changed or not; null where its age does not count. */
  readonly sweepAt: Iso | null;
  /** The requests that it takes: an estimate where an answer has pages; null when it is not due. */
  readonly requests: number | null;
}

interface Row {
  reason: DueReason | null;
  not_requested: NotRequested | null;
  has_only_moved: boolean | null;
  is_touched: boolean;
  fingerprint: string;
  stored_fingerprint: string | null;
  moved_at: string | null;
  counters: string | null;
  stored_counters: string | null;
  sweep_at_ms: number | null;
  requests: number;
}

interface CoverageRow {
  at_ms: number | null;
  status: number | null;
  error: string | null;
  reason: string | null;
  attempts: number | null;
  run_id: string | null;
}

/** Whether each of these children of an entity is due now, by the very query of a sync. */
export async function explainDue(
  rows: Rows,
  children: readonly Child[],
  entityId: string,
  settings: DueSettings,
  now: Date,
): Promise<ExplainedChild[]> {
  const explained: ExplainedChild[] = [];
  const measured = await readMeasured(rows);
  for (const child of children) {
    const { sql, params } = dueQuery(child, settings, now, { entityIds: [entityId], measured });
    const [row] = await rows.all<Row>(
      `SELECT reason, not_requested, has_only_moved, is_touched, fingerprint, stored_fingerprint, moved_at, counters, stored_counters,
         sweep_at_ms, requests FROM (${sql})`,
      params,
    );
    const [coverage] = await rows.all<CoverageRow>(
      `SELECT epoch_ms(fetched_at) AS at_ms, status, error, reason, attempts, run_id
         FROM ops.coverage WHERE endpoint = $child AND entity_id = $entity_id`,
      { child: child.name, entity_id: entityId },
    );
    explained.push(explain(child, entityId, ageOf(child, settings, measured), row, coverage));
  }
  return explained;
}

function explain(
  child: Child,
  entityId: string,
  { days: maxAgeDays, isSooner, ...why }: ReturnType<typeof measuredAge>,
  row: Row | undefined,
  coverage: CoverageRow | undefined,
): ExplainedChild {
  const isDue = row !== undefined && row.reason !== null;
  const differs =
    row !== undefined && row.stored_fingerprint !== null && row.stored_fingerprint !== row.fingerprint;
  const found = differs ? changesOf(child, row) : { changes: [], oneOf: [] };
  const isAged = row !== undefined && row.not_requested === null && row.stored_fingerprint !== null;
  return {
    resource: child.name,
    entityId,
    request: `GET ${pathOf(child, entityId)}`,
    isDue,
    reason: row?.reason ?? null,
    why: codeOf(row, coverage),
    ...found,
    last: coverage
      ? {
          at: coverage.at_ms === null ? null : iso(Number(coverage.at_ms)),
          status: coverage.status,
          error: coverage.error,
          reason: coverage.reason,
          attempts: Number(coverage.attempts ?? 0),
          runId: coverage.run_id,
        }
      : null,
    maxAgeDays,
    measured: isSooner ? why : null,
    sweepAt: isAged && row.sweep_at_ms !== null ? iso(Number(row.sweep_at_ms)) : null,
    requests: isDue ? Number(row.requests) : null,
  };
}

function codeOf(row: Row | undefined, coverage: CoverageRow | undefined): DueCode {
  if (!row) return 'not_listed';
  if (row.not_requested !== null) return row.not_requested;
  if (row.reason === 'never') {
    if (!coverage) return 'never_requested';
    return coverage.error === null ? 'removed' : 'no_answer';
  }
  if (row.reason === 'changed') {
    if (row.stored_fingerprint !== row.fingerprint && !(row.has_only_moved && row.is_touched))
      return 'changed';
    return row.is_touched ? 'touched' : 'asked_again';
  }
  if (row.reason === 'sweep') return 'old';
  if (coverage?.reason?.startsWith('again: ')) return 'asked_again';
  if (coverage?.status === 400 || coverage?.status === 404) return 'refused';
  if (coverage?.status == null && coverage?.reason != null) return 'id_not_valid';
  if (coverage?.status === 200 && coverage.error !== null) return 'too_large';
  return row.has_only_moved ? 'only_a_message' : 'unchanged';
}

/** The fields that differ from when the child was fetched, as far as it is stored what they were. */
function changesOf(child: Child, row: Row): Pick<ExplainedChild, 'changes' | 'oneOf'> {
  const changes: ChangedField[] = [];
  const moved = child.moved;
  const movedBefore = row.stored_fingerprint?.split(' ').slice(1).join(' ') || null;
  if (moved && movedBefore !== row.moved_at)
    changes.push({ field: nameOf(moved.at), before: movedBefore, now: row.moved_at, isKnown: true });
  if (row.has_only_moved) return { changes, oneOf: [] };
  if (row.stored_counters === null || row.counters === null)
    return { changes, oneOf: child.changeFields.map(nameOf) };
  const before = JSON.parse(row.stored_counters) as Record<string, string | null>;
  const now = JSON.parse(row.counters) as Record<string, string | null>;
  const paths = Object.keys(before).filter(isChangeField);
  for (const path of new Set([...child.changeFields, ...paths])) {
    const [then, here] = [before[path] ?? null, now[path] ?? null];
    if (then === here) continue;
    const isKnown = !isHash(then) && !isHash(here);
    changes.push({
      field: nameOf(path),
      before: isHash(then) ? null : then,
      now: isHash(here) ? null : here,
      isKnown,
    });
  }
  return { changes, oneOf: [] };
}

/** Text of a field is stored as a short hash (sql/sync/due.sql). */
function isHash(value: string | null): boolean {
  return value?.startsWith('#') === true;
}

function nameOf(path: string): string {
  return path.replace(/^\$\./, '');
}

/** The path and query that fetch a child, without what only asks for more of it. */
export function pathOf(child: Child, entityId: string): string {
  const { params = {}, query = {} } = requestFor(child, entityId, { plain: true });
  const path = child.endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** The children of the items of a list, in the order in which they are fetched. */
export function childrenOf({ children }: Pick<Resources, 'children'>, list: string): Child[] {
  return children.filter((child) => child.list.name === list);
}
