import { usualPageSize } from '../api/page.js';
import type { Arrival } from '../base/clock.js';
import type { AnswerTooLargeError } from '../base/errors.js';
import { staleBoundOf } from '../base/freshness-estimate.js';
import { groupBy } from '../base/group-by.js';
import type { Child } from '../contract/resources.js';
import { migratedReason } from '../contract/topics.js';
import type { Coverage } from '../warehouse/load/batch.js';
import { readModels } from '../warehouse/load/models.js';
import { forgetMade } from '../warehouse/made.js';
import { literal, sqlFile, substitute } from '../warehouse/sql.js';
import { bytesOf } from '../warehouse/store/memory.js';
import { type Context, maxAgeSeconds, type SyncSettings } from './context.js';
import { type Current, type Measured, measuredAge } from './freshness.js';
import type { DueReason, PlanLine, SyncOptions } from './report.js';

/** What due needs of the warehouse. */
export type Rows = Pick<Context['store'], 'all'>;
/** The settings that decide what is due. */
export type DueSettings = {
  readonly sync: Pick<SyncSettings['sync'], 'recheck' | 'personGroups'>;
  readonly serve?: SyncSettings['serve'];
};

/** One child of one entity that is due, and the parent's fingerprint, to be remembered when it is fetched. */
export interface Task {
  readonly child: Child;
  readonly entityId: string;
  /** `check` and `idle`: it is not due. */
  readonly reason: DueReason | 'check' | 'idle';
  /** Of a check: from which stratum it was chosen. */
  readonly stratum?: string;
  /** Old by what was measured alone: it comes after all that is old by the settings. */
  readonly isEarly: boolean;
  readonly fingerprint: string;
  /** Whether it failed when it was asked for last. */
  readonly hasFailed: boolean;
  /** How often in a row it gave no usable answer. */
  readonly attempts: number;
  /** The `updatedAt` of the list's item; null where it has none. */
  readonly updatedAt: string | null;
  /** Whether the entity's detail was answered 404 although the entity is listed. */
  readonly isUnanswered: boolean;
  readonly vip: boolean;
  readonly lastActivity: string;
  /**
   * When all of it was last read, where reading only what is new in it is enough: it changed, and is not too old. Null
   * where all of it is to be read.
   */
  readonly wholeAt: Date | null;
  /**
   * The parent's change fields by their JSON path, now and when the child was last fetched, then with how many members the
   * answer named (doubts.ts); null where that was not stored.
   */
  readonly counters: string | null;
  readonly storedCounters: string | null;
  /** What its coverage says besides its status. */
  readonly lastReason: string | null;
  /** The requests that it takes: an estimate where an answer has pages. */
  readonly requests: number;
}

/** Whether a name in counters is that of a change field. */
export function isChangeField(name: string): boolean {
  return name.startsWith('$');
}

/** A task that does not come from the query of what is due: one request reads all of the child, and nothing orders it. */
export const wholeChild: Omit<Task, 'child' | 'entityId' | 'reason' | 'fingerprint'> = {
  hasFailed: false,
  attempts: 0,
  updatedAt: null,
  isUnanswered: false,
  isEarly: false,
  vip: false,
  lastActivity: '',
  wholeAt: null,
  counters: null,
  storedCounters: null,
  lastReason: null,
  requests: 1,
};

/** The state that says that a task is done, to be committed with what it brought. */
export function coverageOf(
  { child, entityId, fingerprint, counters, stratum }: Task,
  arrivedAt: Arrival,
  status: number | null,
): Coverage {
  const { at: fetchedAt, no: answerNo } = arrivedAt;
  return {
    endpoint: child.name,
    entityId,
    fetchedAt,
    answerNo,
    fingerprint,
    // Where an answer has pages they say how much is new, so only a list that was read to its end may store them.
    ...(!child.paged && { counters }),
    status,
    error: null,
    reason: null,
    stratum,
  };
}

/**
 * The state that says that a task was answered with more than may be read, wholly or in part. It is due again when its
 * parent changes, and when it is old.
 */
export function tooLargeCoverage(task: Task, arrivedAt: Arrival, error: AnswerTooLargeError): Coverage {
  const { counters: _, ...coverage } = coverageOf(task, arrivedAt, error.size.status);
  return { ...coverage, error: error.message, reason: `answer larger than ${error.size.most} bytes` };
}

const taskColumns = `entity_id AS "entityId", fingerprint, reason, has_failed AS "hasFailed", attempts, updated_at AS "updatedAt",
  is_unanswered AS "isUnanswered", coalesce(is_early, false) AS "isEarly", is_vip AS vip, coalesce(last_activity, '') AS "lastActivity", whole_at AS "wholeAt", counters,
  stored_counters AS "storedCounters", last_reason AS "lastReason", requests`;
const dueSql = sqlFile('sync/due');
/** The people whose conversations come with their company. */
export const withCompanySql = sqlFile('sync/with_company');
const touchedSql = {
  merged: sqlFile('sync/touched/merged'),
  joined: sqlFile('sync/touched/joined'),
  leftTopic: sqlFile('sync/touched/left_topic'),
  accounts: sqlFile('sync/touched/accounts'),
  movedAccounts: sqlFile('sync/touched/moved_accounts'),
  returned: sqlFile('sync/touched/returned'),
  employees: sqlFile('sync/touched/employees'),
  companyGone: sqlFile('sync/touched/company_gone'),
  pushed: sqlFile('sync/touched/pushed'),
};
const futureTimesSql = sqlFile('sync/future_times');
const clampTimesSql = sqlFile('sync/clamp_times');
const clampVersionsSql = sqlFile('sync/clamp_versions');
const rank: Record<Task['reason'], number> = { never: 0, changed: 1, sweep: 2, check: 3, idle: 4 };

/**
 * Moves the times of a clock that was ahead back to now, in the order that they have: otherwise what was fetched then would
 * not be swept until that time has come, and later versions would begin in the future. Nothing moves while this machine's
 * clock alone says what the future is.
 */
export async function clampTimes({ store, clock }: Pick<Context, 'store' | 'clock'>): Promise<void> {
  const bounds = clock.bounds ? clock.bounds() : { latest: new Date(clock.now()) };
  if (bounds === null) return;
  const [any] = await store.all(futureTimesSql, { now: bounds.latest });
  if (!any) return;
  const now = `${literal(bounds.latest.toISOString())}::TIMESTAMPTZ`;
  await store.transaction(async (tx) => {
    await forgetMade(tx, 'derived');
    await tx.run(substitute(clampTimesSql, { now }));
    for (const { versions } of readModels().documents)
      if (versions) await tx.run(substitute(clampVersionsSql, { now, ...versions }));
  });
}

/** How to look at the warehouse. */
export interface LookOptions {
  /**
   * Whether conversations of companies that are due are still to be fetched: those of their people come with them.
   * Left out, they are where they are among the children.
   */
  readonly companyGroupsCome?: boolean;
  /** The run that asks, which does not ask twice for what it was answered and could not store. */
  readonly runId?: string;
}

/** Looks at these entities alone. */
interface OfEntities {
  readonly entityIds?: readonly string[] | null;
}

/** What one look at the warehouse says about some children. */
export interface Look {
  /** Everything that is due, in the order in which it is fetched (design: never, changed, sweep). */
  readonly tasks: readonly Task[];
  /** What is not due, and was answered well. */
  readonly current: readonly Current[];
}

type Row = Omit<Task, 'child' | 'stratum'>;

/**
 * What is due of these children, and what is not. What the run `runId` was answered and could not store is not due in that
 * run.
 */
export async function look(
  rows: Rows,
  children: readonly Child[],
  settings: DueSettings,
  now: Date,
  options: LookOptions = {},
): Promise<Look> {
  const tasks: Task[] = [];
  const current: Current[] = [];
  const listed = `${taskColumns}, stratum, age_days AS "ageDays", is_current AS "isCurrent"`;
  const which = 'reason IS NOT NULL OR is_current';
  type Found = Row & Pick<Current, 'stratum' | 'ageDays'> & { isCurrent: boolean };
  for await (const { child, found } of ask<Found>(rows, children, settings, now, {
    ...options,
    listed,
    which,
  })) {
    for (const { stratum, ageDays, isCurrent, ...row } of found) {
      const { entityId, requests } = row;
      if (isCurrent) current.push({ resource: child.name, entityId, stratum, ageDays, requests });
      else tasks.push({ child, ...row });
    }
  }
  return { tasks: tasks.sort(byUrgency), current };
}

/** What a look says is due. */
export async function due(...of: Parameters<typeof look>): Promise<readonly Task[]> {
  return (await look(...of)).tasks;
}

/** What is not due of these entities, as tasks, to be fetched all the same. */
export async function notDue(
  rows: Rows,
  children: readonly Child[],
  settings: DueSettings,
  now: Date,
  entityIds: readonly string[],
): Promise<Task[]> {
  const tasks: Task[] = [];
  const asked = { entityIds, listed: taskColumns, which: 'is_current' };
  for await (const { child, found } of ask<Row>(rows, children, settings, now, asked))
    for (const row of found) tasks.push({ child, ...row });
  return tasks;
}

/** Runs the query of due, child by child and part by part. */
async function* ask<Found extends object>(
  rows: Rows,
  children: readonly Child[],
  settings: DueSettings,
  now: Date,
  {
    listed,
    which,
    ...options
  }: LookOptions & OfEntities & { readonly listed: string; readonly which: string },
): AsyncGenerator<{ child: Child; found: Found[] }> {
  const partsOf = await partsOfLists(rows, children);
  const measured = await readMeasured(rows);
  const companyGroupsCome = comeCompanyGroups(children);
  for (const child of children) {
    const { sql, params } = dueQuery(child, settings, now, { companyGroupsCome, ...options, measured });
    const parts = partsOf(child);
    for (let part = 0; part < parts; part += 1) {
      const found = await rows.all<Found>(
        `SELECT ${listed} FROM (${sql}) WHERE ${which} ORDER BY entity_id`,
        { ...params, parts, part },
      );
      yield { child, found };
    }
  }
}

function comeCompanyGroups(children: readonly Child[]): boolean {
  return children.some(({ name }) => name === 'company_groups');
}

/**
 * Never fetched before changed before old, and what is old by what was measured alone last: so a short budget is spent as if
 * nothing had been measured. Then by the endpoint's weight; VIPs and recent activity first. What failed
 * last time comes after the others of its endpoint, so that a few broken entities never keep them from being fetched.
 */
export function byUrgency(a: Task, b: Task): number {
  return (
    rank[a.reason] - rank[b.reason] ||
    Number(a.isEarly) - Number(b.isEarly) ||
    a.child.weight - b.child.weight ||
    Number(a.hasFailed) - Number(b.hasFailed) ||
    Number(b.vip) - Number(a.vip) ||
    compare(b.lastActivity, a.lastActivity) ||
    compare(a.entityId, b.entityId)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How much of each child is due and how many requests it takes; children with nothing due are left out. */
export function countDue(due: readonly Task[], children: readonly Child[]): PlanLine[] {
  const tasks = groupBy(due, ({ child }) => child.name);
  return children.flatMap(({ name }) => {
    const own = tasks.get(name);
    if (!own) return [];
    const of = (reason: DueReason) => own.filter((task) => task.reason === reason).length;
    return {
      endpoint: name as PlanLine['endpoint'],
      never: of('never'),
      changed: of('changed'),
      sweep: of('sweep'),
      due: own.length,
      requests: own.reduce((sum, { requests }) => sum + requests, 0),
    };
  });
}

/** How many characters of a list's items one query may look at, for each byte of DuckDB's memory limit. */
const charactersPerByte = 1 / 64;

/** Into how many parts the items of a child's list are divided, so that each fits into memory. */
async function partsOfLists(rows: Rows, children: readonly Child[]): Promise<(child: Child) => number> {
  const parts = new Map<string, number>();
  for (const list of new Set(children.map((child) => child.list.name))) {
    const [size] = await rows.all<{ characters: number; memory: string }>(
      `SELECT coalesce(sum(strlen(body)), 0)::BIGINT AS characters, current_setting('memory_limit') AS memory
         FROM raw.documents WHERE endpoint = $list`,
      { list },
    );
    const most = (bytesOf(size?.memory ?? '') ?? Number.POSITIVE_INFINITY) * charactersPerByte;
    parts.set(list, Math.max(1, Math.ceil(Number(size?.characters ?? 0) / most)));
  }
  return ({ list }) => parts.get(list.name) ?? 1;
}

/** One query of due, with the values that it is bound to. */
interface Query {
  sql: string;
  params: Record<string, string | number | boolean | null | Date | readonly string[]>;
}

/** The query of due for a child: a row for each item of its list, or for one of them. `reason` is NULL where nothing is due. */
export function dueQuery(
  child: Child,
  settings: DueSettings,
  now: Date,
  {
    companyGroupsCome = true,
    runId = '',
    entityIds = null,
    measured,
  }: LookOptions & OfEntities & { readonly measured?: ReadonlyMap<string, Measured> } = {},
): Query {
  const { branches, params } = notRequested(child, settings, companyGroupsCome);
  const touched = touchedBy(child);
  return {
    sql: substitute(dueSql, {
      not_requested: branches.join('\n'),
      touched: touched.map((branch) => `UNION ALL\n${branch}`).join(''),
    }),
    params: {
      ...params,
      child: child.name,
      list: child.list.name,
      presence: child.list.presence ?? '',
      detail: child.list.detail,
      change_fields: child.changeFields,
      member_list: child.members?.list ?? '',
      member_parent: child.members?.parent ?? null,
      member_fields: child.members?.fields ?? [],
      moved_at: child.moved?.at ?? null,
      last_message_at: child.moved?.unlessIs ?? null,
      max_age_seconds: ageOf(child, settings, measured).days * 86_400,
      full_age_seconds: maxAgeSeconds(child, settings),
      now,
      run_id: runId,
      entity_ids: entityIds,
      parts: 1,
      part: 0,
      paged: child.paged === true,
      page_size: usualPageSize,
    },
  };
}

/** What all checks that are kept say about each resource. */
export async function readMeasured(rows: Rows): Promise<ReadonlyMap<string, Measured>> {
  const found = await rows.all<Measured & { resource: string }>(
    `SELECT resource, count(*)::INTEGER AS checks, (count(*) FILTER (differs))::INTEGER AS changes,
            sum(CASE WHEN differs THEN age_days / 2 ELSE age_days END) AS days
       FROM ops.audits GROUP BY resource`,
  );
  return new Map(found.map(({ resource, ...one }) => [resource, one]));
}

/** The age at which a child is fetched again, by the settings and by what was measured. */
export function ageOf(child: Child, settings: DueSettings, measured?: ReadonlyMap<string, Measured>) {
  const full = maxAgeSeconds(child, settings) / 86_400;
  return measuredAge(full, staleBoundOf(settings.serve?.freshness), measured?.get(child.name));
}

/** Branches of a query, with the values that only they are bound to. */
interface Branches {
  branches: string[];
  params: Query['params'];
}

/** Why the child of an item is not requested, whatever changes. */
export type NotRequested =
  | 'deleted'
  /** The item exists and is not listed any more, and its detail is asked for at growing intervals (tombstones.ts). */
  | 'unlisted'
  /** The path takes ids of digits only. */
  | 'id_not_digits'
  /** The list item has every field of the detail. */
  | 'in_list'
  /** The topic was archived in the v1 to v2 migration. */
  | 'migrated'
  /** `sync.personGroups` is `never`. */
  | 'setting'
  /** The conversations of a person come with the company, which is listed and whose conversations are fetched. */
  | 'with_company'
  /** Nothing says yet whether the person has a company. */
  | 'company_unknown';

/** The branches of the UNION of what changes the child although no field of its parent's list item shows it. */
function touchedBy({ name, list }: Child): string[] {
  const branches: string[] = [];
  if (list.presence !== null) branches.push(touchedSql.merged);
  if (name === 'company_groups') branches.push(touchedSql.joined);
  if (name === 'company_groups' || name === 'person_groups') branches.push(touchedSql.leftTopic);
  if (name === 'topic_people') branches.push(touchedSql.accounts, touchedSql.returned);
  if (name === 'person') branches.push(touchedSql.employees, touchedSql.companyGone);
  if (name === 'person_identities') branches.push(touchedSql.movedAccounts);
  if (name === 'company_history') branches.push(touchedSql.pushed);
  return branches;
}

/** The branches of the CASE that says why a child is not requested. */
function notRequested(child: Child, settings: DueSettings, companyGroupsCome: boolean): Branches {
  const branches: string[] = [];
  const params: Query['params'] = {};
  const unless = (condition: string, why: NotRequested) =>
    branches.push(`WHEN NOT coalesce(${condition}, false) THEN ${literal(why)}`);
  if (child.digitsOnly) unless(`regexp_full_match(parents.entity_id, '[0-9]+')`, 'id_not_digits');
  if (child.skippedWhenListHas) {
    unless(
      'touched.entity_id IS NOT NULL OR NOT list_has_all(json_keys(parents.body), $detail_fields)',
      'in_list',
    );
    params.detail_fields = child.skippedWhenListHas;
  }
  if (child.goneInMigration) {
    unless(
      `parents.entity_id NOT IN (
      SELECT id FROM raw.documents
      WHERE endpoint = $presence AND (body ->> '$.detailUnavailableReason') = $migrated_reason)`,
      'migrated',
    );
    params.migrated_reason = migratedReason;
  }
  if (child.name === 'person_groups' && settings.sync.personGroups === 'never') unless('false', 'setting');
  if (child.name === 'person_groups' && settings.sync.personGroups === 'without_company') {
    // The detail says whether a person has a company, or a list that has the field. Until then nothing is due.
    unless(
      `coalesce(list_contains(json_keys(parents.body), 'company'), false)
        OR parents.entity_id IN (SELECT id FROM raw.documents WHERE endpoint = 'person')`,
      'company_unknown',
    );
    unless(`parents.entity_id NOT IN (SELECT person_id FROM (${withCompanySql}))`, 'with_company');
    params.company_groups_come = companyGroupsCome;
  }
  return { branches, params };
}

/** A child comes due between half and all of its age, evenly: three quarters on average. */
const meanShareOfAge = 0.75;
const minutesPerDay = 1_440;

/** The requests a day that it takes to keep every child within its age, once all were fetched. */
export function sweepPerDay(
  items: Readonly<Record<string, number>>,
  children: readonly Child[],
  settings: Pick<SyncSettings, 'sync'>,
): number {
  return children.reduce(
    (sum, child) =>
      sum + (items[child.list.name] ?? 0) / ((maxAgeSeconds(child, settings) / 86_400) * meanShareOfAge),
    0,
  );
}

/** Requests that one run a day may make under its caps. */
export function allowedPerDay(
  { maxRequests, maxMinutes }: Pick<SyncOptions, 'maxRequests' | 'maxMinutes'>,
  { rateLimit }: Pick<SyncSettings, 'rateLimit'>,
): number {
  const perMinute = rateLimit.requests / (rateLimit.windowMs / 60_000);
  return Math.min(maxRequests ?? Number.POSITIVE_INFINITY, (maxMinutes ?? minutesPerDay) * perMinute);
}

/** The note for a summary when one run a day cannot keep the ages that `sync.recheck` allows; null when it can. */
export function sweepNote(needed: number, allowed: number): string | null {
  if (needed <= allowed) return null;
  const times = allowed > 0 ? needed / allowed : Number.POSITIVE_INFINITY;
  const keeps = Number.isFinite(times)
    ? `it can keep up with a sync.recheck ${times.toFixed(1)} times as large`
    : 'no requests remain after the lists';
  return `fetching everything again in time (sync.recheck) takes about ${Math.ceil(needed)} requests a day; one run a day under this cap has ${Math.floor(allowed)} after its lists: ${keeps}`;
}

/** That note for this warehouse, after a run whose lists took `listRequests`. */
export async function sweepReport(
  context: Context,
  children: readonly Child[],
  options: SyncOptions,
  listRequests: number,
): Promise<string | null> {
  const counted = await context.store.all<{ list: string; items: number }>(
    `SELECT endpoint AS list, count(*) AS items FROM raw.documents
      WHERE list_contains($lists, endpoint) GROUP BY endpoint`,
    { lists: context.resources.lists.map(({ name }) => name) },
  );
  const items = Object.fromEntries(counted.map(({ list, items: number }) => [list, Number(number)]));
  const allowed = Math.max(0, allowedPerDay(options, context.config) - listRequests);
  return sweepNote(sweepPerDay(items, children, context.config), allowed);
}
