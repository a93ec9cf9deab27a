import { minutesFor } from '../api/budget.js';
import { estimateText, isOverBound, staleBoundOf } from '../base/freshness-estimate.js';
import { groupBy } from '../base/group-by.js';
import { ageOf } from './ages.js';
import { type Context, maxAgeSeconds } from './context.js';
import { type DueInput, type DueSnapshot, taskOf } from './due.js';
import {
  type Current,
  checksAfter,
  chooseChecks,
  estimate,
  type Measured,
  type Stratum,
} from './freshness.js';
import type { Task } from './task.js';

/** Random checks of what is not due, and what they say (src/sync/freshness.ts). */

/** How many requests the caps leave after this many. */
function freeRequests({ caps, clock, startedMs, config }: Context, spent: number): number {
  const { maxRequests = Number.POSITIVE_INFINITY, maxMinutes = Number.POSITIVE_INFINITY } = caps;
  const minutes = maxMinutes - (clock.monotonic() - startedMs) / 60_000;
  return Math.min(maxRequests - spent, minutes / minutesFor(1, config));
}

/** What was fetched in the last twelve hours is not checked. */
function checkable({ current }: DueSnapshot): Current[] {
  return current.filter(({ stratum }) => stratum !== 'fresh');
}

/** How many checks a run makes that takes this many requests without them. */
export function countChecks(context: Context, found: DueSnapshot, spent: number): number {
  return Math.min(checksAfter(spent, freeRequests(context, spent)), checkable(found).length);
}

/** What a run with nothing due checks, where its caps leave room for that: a few, chosen at random. */
export function checksOf(context: Context, input: DueInput, found: DueSnapshot): Task[] {
  const { clock, tally, random } = context;
  const count = countChecks(context, found, tally.requests.total);
  const children = new Map(input.children.map((child) => [child.name as string, child]));
  return chooseChecks(checkable(found), count, random).flatMap(({ resource, entityId, stratum }) => {
    const child = children.get(resource);
    const task = child && taskOf(input, new Date(clock.now()), child, entityId, 'check');
    return task ? { ...task, stratum } : [];
  });
}

/** What the checks of the last 30 days found, by stratum. */
const checkedSql = `
  SELECT resource, stratum, count(*)::INTEGER AS checks, (count(*) FILTER (differs))::INTEGER AS stale,
         avg(age_days) AS "checkedDays", epoch($now - min("at")) / 86400 AS days
    FROM ops.audits WHERE "at" > $now - INTERVAL 30 DAY GROUP BY resource, stratum`;

type Checked = Omit<Stratum, 'population' | 'ageDays'> & { readonly days: number };
const unchecked = { checks: 0, stale: 0, checkedDays: 0, days: 0 };

/** The strata of these resources: how many details each has now, and what its checks found. */
function strataOf(
  { current }: DueSnapshot,
  checked: readonly Checked[],
): (Stratum & { readonly days: number })[] {
  const key = ({ resource, stratum }: Pick<Stratum, 'resource' | 'stratum'>) => `${resource} ${stratum}`;
  const stored = groupBy(current, key);
  const found = new Map(checked.map((one) => [key(one), one]));
  return [
    ...[...stored.values()].map((own) => {
      const [{ resource, stratum }] = own;
      const days = own.reduce((sum, { ageDays }) => sum + ageDays, 0);
      const ofNow = { resource, stratum, population: own.length, ageDays: days / own.length };
      return { ...unchecked, ...found.get(key(ofNow)), ...ofNow };
    }),
    ...checked.filter((one) => !stored.has(key(one))).map((one) => ({ ...one, population: 0, ageDays: 0 })),
  ];
}

const insertSql = `
  INSERT INTO ops.freshness BY NAME SELECT unnest(from_json($rows::JSON, '[{
    "resource": "VARCHAR", "checks": "BIGINT", "stale": "BIGINT", "share": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE",
    "days": "DOUBLE"
  }]'), recursive := true)`;

/** Without a check, anything may be out of date. */
const nothingKnown = { checks: 0, stale: 0, share: null, low: 0, high: 1 };

/**
 * Computes and stores what the checks say about how much is out of date, of all resources; returns what a reader of the run should
 * know of it. `found` is what is due of all children, `measured` what the checks say about each resource.
 */
export async function estimateFreshness(
  { store, config, resources }: Context,
  found: DueSnapshot,
  measured: ReadonlyMap<string, Measured>,
  now: Date,
): Promise<string[]> {
  const checked = measured.size > 0 ? await store.all<Checked>(checkedSql, { now }) : null;
  const strata = checked ? strataOf(found, checked) : [];
  const bound = staleBoundOf(config.serve?.freshness);
  const notes: string[] = [];
  const rows = [null, ...resources.children].map((child) => {
    const own = strata.filter(({ resource }) => child === null || resource === child.name);
    const days = Math.max(0, ...own.map((one) => one.days));
    const row = {
      resource: child?.name ?? 'all',
      days,
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
