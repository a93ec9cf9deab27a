import { staleBoundOf } from '../base/freshness-estimate.js';
import type { Child } from '../contract/resources.js';
import { readModels } from '../warehouse/load/models.js';
import { forgetMade } from '../warehouse/made.js';
import { literal, sqlFile, substitute } from '../warehouse/sql.js';
import { type Context, maxAgeSeconds, type SyncSettings } from './context.js';
import { type Measured, measuredAge } from './freshness.js';
import type { SyncOptions } from './report.js';

/** How old children may get, what it costs to keep them so young, and times that a wrong clock wrote. */

const futureTimesSql = sqlFile('sync/future_times');
const clampTimesSql = sqlFile('sync/clamp_times');
const clampVersionsSql = sqlFile('sync/clamp_versions');

/** The settings that decide what is due. */
export type DueSettings = {
  readonly sync: Pick<SyncSettings['sync'], 'recheck' | 'personGroups'>;
  readonly serve?: SyncSettings['serve'];
};

/**
 * Moves the times of a clock that was ahead back to now, in the order that they have: otherwise what was fetched then would
 * not be swept until that time has come, and later versions would begin in the future. Nothing moves while this machine's
 * clock alone says what the future is.
 */
export async function clampTimes({
  store,
  clock,
  runId,
}: Pick<Context, 'store' | 'clock' | 'runId'>): Promise<void> {
  const bounds = clock.bounds ? clock.bounds() : { latest: new Date(clock.now()) };
  if (bounds === null) return;
  const [any] = await store.all(futureTimesSql, { now: bounds.latest });
  if (!any) return;
  const now = `${literal(bounds.latest.toISOString())}::TIMESTAMPTZ`;
  await store.transaction(async (tx) => {
    await forgetMade(tx, 'derived');
    await tx.run(substitute(clampTimesSql, { now }));
    for (const { versions } of readModels().documents)
      if (versions) await tx.run(substitute(clampVersionsSql, { now, run_id: literal(runId), ...versions }));
  });
}

/** What all checks that are kept say about each resource. */
export async function readMeasured(
  rows: Pick<Context['store'], 'all'>,
): Promise<ReadonlyMap<string, Measured>> {
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
export function sweepReport(
  context: Context,
  children: readonly Child[],
  options: SyncOptions,
  listRequests: number,
): string | null {
  const { lists } = context.resources;
  const items = Object.fromEntries(lists.map(({ name }) => [name, context.known.count(name)]));
  const allowed = Math.max(0, allowedPerDay(options, context.config) - listRequests);
  return sweepNote(sweepPerDay(items, children, context.config), allowed);
}
