import type { Child } from '../contract/resources.js';
import { migratedReason } from '../contract/topics.js';
import type { Coverage } from '../warehouse/load/batch.js';
import { listLiteral, literal, sqlFile, substitute } from '../warehouse/sql.js';
import type { DueReason, PlanLine } from './report.js';
import { maxAgeSeconds, type SyncSettings } from './settings.js';

/** What due needs of the warehouse. */
export interface Rows {
  all<T>(sql: string): Promise<T[]>;
}

/** One child of one entity that is due, and the parent's fingerprint to be remembered once it was fetched. */
export interface Task {
  readonly child: Child;
  readonly entityId: string;
  readonly reason: DueReason;
  readonly fingerprint: string;
  readonly vip: boolean;
  readonly lastActivity: string;
  /**
   * When all of it was last read, where reading only what is new of it will do: it changed, and is not too old. Null
   * asks for all of it.
   */
  readonly wholeAt: Date | null;
  /** Requests it costs: estimated where an answer has pages. */
  readonly requests: number;
}

/** The state that says that a task is done, to be committed with what it brought. */
export function covered(task: Task, fetchedAt: Date, status: number): Coverage {
  const { child, entityId, fingerprint } = task;
  return { endpoint: child.name, entityId, fetchedAt, fingerprint, status, error: null, reason: null };
}

interface DueRow {
  entity_id: string;
  fingerprint: string;
  reason: DueReason;
  is_vip: boolean;
  last_activity: string | null;
  whole_at: Date | null;
  requests: number;
}

const dueSql = sqlFile('sync/due');
const rank: Record<DueReason, number> = { never: 0, changed: 1, sweep: 2 };

/** Everything that is due of these children, in the order in which it is fetched (design: never, changed, sweep). */
export async function due(
  rows: Rows,
  children: readonly Child[],
  settings: SyncSettings,
  now: Date,
): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const child of children) {
    for (const row of await rows.all<DueRow>(dueQuery(child, settings, now))) {
      tasks.push({
        child,
        entityId: row.entity_id,
        reason: row.reason,
        fingerprint: row.fingerprint,
        vip: row.is_vip,
        lastActivity: row.last_activity ?? '',
        wholeAt: row.whole_at,
        requests: Number(row.requests),
      });
    }
  }
  return tasks.sort(byUrgency);
}

/** Never fetched before changed before old; then by the endpoint's weight; VIPs and recent activity first. */
export function byUrgency(a: Task, b: Task): number {
  return (
    rank[a.reason] - rank[b.reason] ||
    a.child.weight - b.child.weight ||
    Number(b.vip) - Number(a.vip) ||
    compare(b.lastActivity, a.lastActivity) ||
    compare(a.entityId, b.entityId)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How much of each child is due and what it costs, without listing it; children with nothing due are left out. */
export async function countDue(
  rows: Rows,
  children: readonly Child[],
  settings: SyncSettings,
  now: Date,
): Promise<PlanLine[]> {
  const lines: PlanLine[] = [];
  for (const child of children) {
    const counted = await rows.all<{ reason: DueReason; due: number; requests: number }>(
      `SELECT reason, count(*) AS due, sum(requests)::BIGINT AS requests FROM (${dueQuery(child, settings, now)}) GROUP BY reason`,
    );
    const of = (reason: DueReason) => Number(counted.find((line) => line.reason === reason)?.due ?? 0);
    const sum = (field: 'due' | 'requests') =>
      counted.reduce((total, line) => total + Number(line[field]), 0);
    if (counted.length === 0) continue;
    lines.push({
      endpoint: child.name as PlanLine['endpoint'],
      never: of('never'),
      changed: of('changed'),
      sweep: of('sweep'),
      due: sum('due'),
      requests: sum('requests'),
    });
  }
  return lines;
}

function dueQuery(child: Child, settings: SyncSettings, now: Date): string {
  return substitute(dueSql, {
    child: literal(child.name),
    list: literal(child.list.name),
    presence: literal(child.list.presence ?? ''),
    betrayed_by: listLiteral(child.changeFields),
    moved_at: child.moved ? `(body ->> ${literal(child.moved.at)})` : 'NULL::VARCHAR',
    last_message_at: child.moved ? `(body ->> ${literal(child.moved.unlessIs)})` : 'NULL::VARCHAR',
    max_age_seconds: String(maxAgeSeconds(child, settings)),
    now: `TIMESTAMPTZ ${literal(now.toISOString())}`,
    paged: String(child.paged === true),
    page_size: String(settings.api.paging.pageSize),
    condition: conditions(child, settings).join(' AND ') || 'true',
  });
}

function conditions(child: Child, settings: SyncSettings): string[] {
  const sql: string[] = [];
  if (child.digitsOnly) sql.push(`regexp_full_match(parents.entity_id, '[0-9]+')`);
  if (child.skippedWhenListHas) {
    sql.push(`NOT list_has_all(json_keys(parents.body), ${listLiteral(child.skippedWhenListHas)})`);
  }
  if (child.goneInMigration) {
    sql.push(`parents.entity_id NOT IN (
      SELECT id FROM raw.documents
      WHERE endpoint = 'topic_presence' AND (body ->> '$.detailUnavailableReason') = ${literal(migratedReason)})`);
  }
  if (child.name === 'person_groups' && settings.sync.personGroups !== 'all') {
    // Whether a person has a company is known from the detail, or from a list that says so. Until then nothing is due.
    sql.push(
      settings.sync.personGroups === 'never'
        ? 'false'
        : `parents.entity_id IN (SELECT id FROM main.people WHERE company_id IS NULL)
           AND (coalesce(list_contains(json_keys(parents.body), 'company'), false)
             OR parents.entity_id IN (SELECT id FROM raw.documents WHERE endpoint = 'person'))`,
    );
  }
  return sql;
}
