import {
  estimateText,
  type FreshnessEstimate,
  isOverBound,
  staleBoundOf,
} from '../base/freshness-estimate.js';
import { groupBy } from '../base/group-by.js';
import type { Child } from '../contract/resources.js';
import { type Context, maxAgeSeconds } from './context.js';
import { ageOf, currentTasks, dueQuery, readMeasured, type Task } from './due.js';
import { type Current, checksAfter, chooseChecks, chooseIdle, estimate, type Stratum } from './freshness.js';
import type { SyncOptions } from './report.js';

/** Random checks of what is not due, what idle requests are spent on, and what the checks say (src/sync/freshness.ts). */

type Caps = Pick<SyncOptions, 'maxRequests' | 'maxMinutes'>;

/** Checks older than this say nothing about now. */
const windowDays = 30;

/** How many requests the caps of a run leave after so many. */
function freeRequests({ maxRequests, maxMinutes }: Caps, context: Context, spent: number): number {
  const { clock, startedMs, config } = context;
  const minutes = (maxMinutes ?? Number.POSITIVE_INFINITY) - (clock.monotonic() - startedMs) / 60_000;
  const perMinute = config.rateLimit.requests / (config.rateLimit.windowMs / 60_000);
  return Math.min((maxRequests ?? Number.POSITIVE_INFINITY) - spent, minutes * perMinute);
}

/** The details that are not due and were not fetched in the last twelve hours. */
async function readCurrent(
  { store, config }: Context,
  children: readonly Child[],
  now: Date,
): Promise<Current[]> {
  const [old] = await store.all(
    'SELECT 1 FROM ops.coverage WHERE fetched_at < $now - INTERVAL 12 HOUR LIMIT 1',
    {
      now,
    },
  );
  if (!old) return [];
  const measured = await readMeasured(store);
  const current: Current[] = [];
  for (const child of children) {
    const { sql, params } = dueQuery(child, config, now, { measured });
    const rows = await store.all<Omit<Current, 'resource'>>(
      `SELECT entity_id AS "entityId", stratum, age_days AS "ageDays", requests::INTEGER AS requests
         FROM (${sql}) WHERE is_current AND stratum <> 'fresh' ORDER BY entity_id`,
      params,
    );
    for (const row of rows) current.push({ resource: child.name, ...row });
  }
  return current;
}

/** How many checks a run makes whose lists and details take so many requests. */
export async function countChecks(
  context: Context,
  children: readonly Child[],
  caps: Caps,
  spent: number,
): Promise<number> {
  const checks = checksAfter(spent, freeRequests(caps, context, spent));
  const now = new Date(context.clock.now());
  return checks === 0 ? 0 : Math.min(checks, (await readCurrent(context, children, now)).length);
}

/**
 * What a run with nothing due does with what its caps leave: a few checks, chosen at random, and with `--max-minutes` what is
 * likeliest to be out of date, unless somebody else has used the key within a day.
 */
export async function idleTasks(context: Context, children: readonly Child[], caps: Caps): Promise<Task[]> {
  const { store, config, clock, tally, random } = context;
  const now = new Date(clock.now());
  const spent = tally.requests.total;
  const free = freeRequests(caps, context, spent);
  const count = checksAfter(spent, free);
  if (count === 0) return [];
  const current = await readCurrent(context, children, now);
  const checks = new Set(chooseChecks(current, count, random));
  const others = await store.all(
    'SELECT 1 FROM ops.requests WHERE status = 429 AND "at" > $now - INTERVAL 1 DAY LIMIT 1',
    { now },
  );
  const most = caps.maxMinutes === undefined || others.length > 0 ? 0 : free * (config.sync.idle ?? 0);
  const measured = await readMeasured(store);
  const between = new Map(children.map((child) => [child.name, ageOf(child, config, measured).daysBetween]));
  const idle = chooseIdle(
    current.filter((one) => !checks.has(one)),
    most - count,
    (resource) => between.get(resource) ?? Number.POSITIVE_INFINITY,
  );
  const tasks: Task[] = [];
  for (const child of children) {
    const own = [...checks, ...idle].filter(({ resource }) => resource === child.name);
    const chosen = new Map(own.map((one) => [one.entityId, one]));
    for (const task of await currentTasks(store, child, config, now, [...chosen.keys()])) {
      const one = chosen.get(task.entityId) as Current;
      tasks.push(
        checks.has(one) ? { ...task, reason: 'check', stratum: one.stratum } : { ...task, reason: 'idle' },
      );
    }
  }
  const order = new Map([...checks, ...idle].map((one, at) => [`${one.resource}\n${one.entityId}`, at]));
  const at = ({ child, entityId }: Task) => order.get(`${child.name}\n${entityId}`) ?? 0;
  return tasks.sort((a, b) => at(a) - at(b));
}

/** Computes and stores what the checks say about how much is out of date; returns what a reader of the run should know of it. */
export async function estimateFreshness(context: Context, now: Date): Promise<string[]> {
  const { store, config, resources } = context;
  const found = await store.all<Omit<Stratum, 'population' | 'ageDays'> & { days: number }>(
    `SELECT resource, stratum, count(*)::INTEGER AS checks, (count(*) FILTER (differs))::INTEGER AS stale,
            avg(age_days) AS "checkedDays",
            epoch($now - min("at")) / 86400 AS days
       FROM ops.audits WHERE "at" > $now - INTERVAL ${windowDays} DAY GROUP BY ALL`,
    { now },
  );
  if (found.length === 0) return [];
  const measured = await readMeasured(store);
  const strata: Stratum[] = [];
  for (const child of resources.children) {
    const { sql, params } = dueQuery(child, config, now, { measured });
    const populations = await store.all<Pick<Stratum, 'stratum' | 'population' | 'ageDays'>>(
      `SELECT stratum, count(*)::INTEGER AS population, avg(age_days) AS "ageDays" FROM (${sql}) WHERE is_current GROUP BY stratum`,
      params,
    );
    const checked = found.filter(({ resource }) => resource === child.name);
    for (const stratum of new Set([...populations, ...checked].map((one) => one.stratum))) {
      const { population = 0, ageDays = 0 } = populations.find((one) => one.stratum === stratum) ?? {};
      const { checks = 0, stale = 0, checkedDays = 0 } = checked.find((one) => one.stratum === stratum) ?? {};
      strata.push({ resource: child.name, stratum, population, ageDays, checks, stale, checkedDays });
    }
  }
  const of = (resource: string, own: readonly Stratum[]): FreshnessEstimate => {
    const days = found.flatMap((one) => (resource === 'all' || one.resource === resource ? one.days : []));
    return { resource, ...estimate(own), days: Math.ceil(Math.max(0, ...days)) };
  };
  const estimates = [
    of('all', strata),
    ...[...groupBy(strata, ({ resource }) => resource)].map(([resource, own]) => of(resource, own)),
  ];
  await store.transaction(async (tx) => {
    await tx.run('DELETE FROM ops.freshness');
    for (const { ...row } of estimates)
      await tx.run(
        'INSERT INTO ops.freshness VALUES ($resource, $checks, $stale, $share, $low, $high, $days)',
        row,
      );
  });
  const bound = staleBoundOf(config.serve?.freshness);
  return estimates.flatMap((one) => {
    const child = resources.children.find(({ name }) => name === one.resource);
    if (!child || !isOverBound({ ...one, bound })) return [];
    const { days } = ageOf(child, config, measured);
    const full = maxAgeSeconds(child, config) / 86_400;
    const sooner =
      days < full
        ? `; they are fetched again after ${rounded(days)} days at the latest, not ${rounded(full)}`
        : '';
    return `${estimateText(one)}, and serve.freshness allows ${rounded(100 * bound)} %${sooner}`;
  });
}

function rounded(number: number): number {
  return Number(number.toFixed(1));
}
