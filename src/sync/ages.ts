import { staleBoundOf } from '../base/freshness-estimate.js';
import type { Child } from '../contract/resources.js';
import { readModels } from '../load/models.js';
import { forgetMade } from '../store/made.js';
import { literal, sqlFile, substitute } from '../store/sql.js';
import { type Context, maxAgeSeconds, type SyncSettings } from './context.js';
import { type Measured, measuredAge } from './freshness.js';

/** How old children may get, and times that a wrong clock wrote. */

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
