import { minutesFor } from '../api/budget.js';
import { estimateText, isOverBound, staleBoundOf } from '../base/freshness-estimate.js';
import type { Child } from '../contract/resources.js';
import { type Context, maxAgeSeconds } from './context.js';
import { keyOf } from './doubts.js';
import { ageOf, due, dueQuery, readMeasured, type Task } from './due.js';
import { type Current, checksAfter, chooseChecks, chooseIdle, estimate, type Stratum } from './freshness.js';

/** Random checks of what is not due, what idle requests are spent on, and what the checks say (src/sync/freshness.ts). */

/** How many requests the caps leave after so many. */
function freeRequests({ caps, clock, startedMs, config }: Context, spent: number): number {
  const { maxRequests = Number.POSITIVE_INFINITY, maxMinutes = Number.POSITIVE_INFINITY } = caps;
  const minutes = maxMinutes - (clock.monotonic() - startedMs) / 60_000;
  return Math.min(maxRequests - spent, minutes / minutesFor(1, config));
}

/** What is not due and was not fetched in the last twelve hours. */
async function readCurrent(
  { store, config, clock }: Context,
  children: readonly Child[],
): Promise<Current[]> {
  const now = new Date(clock.now());
  const isOld = 'SELECT 1 FROM ops.coverage WHERE fetched_at < $now - INTERVAL 12 HOUR LIMIT 1';
  if ((await store.all(isOld, { now })).length === 0) return [];
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

/** How many checks a run makes that takes so many requests without them. */
export async function countChecks(context: Context, children: readonly Child[], spent: number) {
  const count = checksAfter(spent, freeRequests(context, spent));
  if (count === 0) return 0;
  return Math.min(count, (await readCurrent(context, children)).length);
}

/**
 * What a run with nothing due does with what its caps leave: a few checks, chosen at random, and with `--max-minutes` what is
 * likeliest to be out of date, unless somebody else has used the key within a day.
 */
export async function idleTasks(context: Context, children: readonly Child[]): Promise<Task[]> {
  const { store, config, clock, tally, random, caps } = context;
  const now = new Date(clock.now());
  const free = freeRequests(context, tally.requests.total);
  const count = checksAfter(tally.requests.total, free);
  if (count === 0) return [];
  const current = await readCurrent(context, children);
  const checks = new Set(chooseChecks(current, count, random));
  const limited = `SELECT 1 FROM ops.requests WHERE status = 429 AND "at" > $now - INTERVAL 1 DAY LIMIT 1`;
  const isShared = (await store.all(limited, { now })).length > 0;
  const measured = await readMeasured(store);
  const between = new Map(children.map((child) => [child.name, ageOf(child, config, measured).daysBetween]));
  const idle = chooseIdle(
    current.filter((one) => !checks.has(one)),
    caps.maxMinutes === undefined || isShared ? 0 : free * (config.sync.idle ?? 0) - count,
    (resource) => between.get(resource) ?? Number.POSITIVE_INFINITY,
  );
  const chosen = [...checks, ...idle];
  const asked = children.filter(({ name }) => chosen.some(({ resource }) => resource === name));
  const entityIds = chosen.map(({ entityId }) => entityId);
  const found = await due(store, asked, config, now, { entityIds });
  const tasks = new Map(found.map((task) => [keyOf(task), task]));
  return chosen.flatMap((one) => {
    const task = tasks.get(`${one.resource}\n${one.entityId}`);
    if (!task) return [];
    return checks.has(one) ? { ...task, reason: 'check', stratum: one.stratum } : { ...task, reason: 'idle' };
  });
}

/** The strata of a child: how many details each has now, and what its checks of the last days found. */
const strataSql = (due: string) => `
  SELECT coalesce(stratum, '') AS stratum, coalesce(population, 0) AS population, coalesce("ageDays", 0) AS "ageDays",
    coalesce(checks, 0) AS checks, coalesce(stale, 0) AS stale, "checkedDays", days
  FROM (
    SELECT stratum, count(*)::INTEGER AS population, avg(age_days) AS "ageDays" FROM (${due}) WHERE is_current GROUP BY stratum
  ) FULL JOIN (
    SELECT stratum, count(*)::INTEGER AS checks, (count(*) FILTER (differs))::INTEGER AS stale,
      avg(age_days) AS "checkedDays", epoch($now - min("at")) / 86400 AS days
    FROM ops.audits WHERE resource = $child AND "at" > $now - INTERVAL 30 DAY GROUP BY stratum
  ) USING (stratum)`;

const insertSql = `
  INSERT INTO ops.freshness BY NAME SELECT unnest(from_json($rows::JSON, '[{
    "resource": "VARCHAR", "checks": "BIGINT", "stale": "BIGINT", "share": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE",
    "days": "DOUBLE"
  }]'), recursive := true)`;

/** Without a check, anything may be out of date. */
const nothingKnown = { checks: 0, stale: 0, share: null, low: 0, high: 1 };

/** Computes and stores what the checks say about how much is out of date; returns what a reader of the run should know of it. */
export async function estimateFreshness({ store, config, resources }: Context, now: Date): Promise<string[]> {
  const measured = await readMeasured(store);
  const strata: (Stratum & { readonly days: number | null })[] = [];
  for (const child of measured.size === 0 ? [] : resources.children) {
    const { sql, params } = dueQuery(child, config, now, { measured });
    const found = await store.all<Omit<(typeof strata)[number], 'resource'>>(strataSql(sql), params);
    strata.push(...found.map((one) => ({ resource: child.name, ...one })));
  }
  const bound = staleBoundOf(config.serve?.freshness);
  const notes: string[] = [];
  const rows = [null, ...resources.children].map((child) => {
    const own = strata.filter(({ resource }) => child === null || resource === child.name);
    const days = Math.max(0, ...own.map((one) => one.days ?? 0));
    const row = {
      ...{ resource: child?.name ?? 'all', days },
      ...(own.length === 0 ? nothingKnown : estimate(own)),
    };
    if (child !== null && isOverBound({ ...row, bound })) {
      const age = ageOf(child, config, measured);
      const [sooner, full] = [age.days, maxAgeSeconds(child, config) / 86_400].map((one) => one.toFixed(1));
      notes.push(
        `${estimateText(row)}, and serve.freshness allows ${(100 * bound).toFixed(1)} %${age.isSooner ? `; they are fetched again after ${sooner} days at the latest, not ${full}` : ''}`,
      );
    }
    return row;
  });
  await store.transaction(async (tx) => {
    await tx.run('DELETE FROM ops.freshness');
    await tx.run(insertSql, { rows: JSON.stringify(rows) });
  });
  return notes;
}
