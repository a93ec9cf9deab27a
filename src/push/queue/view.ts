import type { Snapshot } from '../../warehouse/read/query.js';
import { literal, sqlFile } from '../../warehouse/sql.js';
import type { Change, Status } from '../change.js';
import type { ChangeFacts } from '../entities.js';
import type { EntityType } from '../fields.js';
import { hasTable } from './queue.js';

/** Which changes to list; a property that is left out matches every change. */
export interface ChangeFilter {
  readonly status?: readonly Status[] | undefined;
  readonly topic?: string | undefined;
  readonly company?: string | undefined;
  /** The name of the file, as it was imported. */
  readonly source?: string | undefined;
  readonly by?: string | undefined;
  /** Queued at this time or later. */
  readonly since?: Date | undefined;
}

/** A change with what the warehouse knows about it. */
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

/** The requests that were made for a change, as far as the snapshot has them. */
export async function attemptsOf(snapshot: Snapshot | null, id: string): Promise<ChangeAttempt[]> {
  if (!snapshot || !(await hasTable(snapshot, 'change_attempts'))) return [];
  return snapshot.all<ChangeAttempt>(sqlFile('push/attempts').replace('$change_id', literal(id)));
}
