import type { Child } from '../contract/resources.js';
import { listLiteral } from '../warehouse/sql.js';
import type { Context } from './context.js';
import type { SyncOptions } from './report.js';
import { maxAgeSeconds, type SyncSettings } from './settings.js';

/** A child comes due between half and all of its age, evenly: three quarters on average. */
const meanShareOfAge = 0.75;
const minutesPerDay = 1_440;

/** Requests a day that keeping every child within its age costs, once all were fetched. */
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

/** What to say when one run a day cannot keep the ages asked for (`sync.maxAgeDays`); null when it can. */
export function sweepNote(needed: number, allowed: number): string | null {
  if (needed <= allowed) return null;
  const times = allowed > 0 ? needed / allowed : Number.POSITIVE_INFINITY;
  const keeps = Number.isFinite(times)
    ? `it can keep ages ${times.toFixed(1)} times as long`
    : 'it leaves none after the lists';
  return `keeping the ages of sync.maxAgeDays takes about ${Math.ceil(needed)} requests a day; one run a day under this cap has ${Math.floor(allowed)} after its lists: ${keeps}`;
}

/** The same for this warehouse, after a run whose lists took `listRequests`. */
export async function sweepReport(
  context: Context,
  children: readonly Child[],
  options: SyncOptions,
  listRequests: number,
): Promise<string | null> {
  const counted = await context.store.all<{ list: string; items: number }>(
    `SELECT endpoint AS list, count(*) AS items FROM raw.documents
      WHERE endpoint IN (SELECT unnest(${listLiteral(context.resources.lists.map(({ name }) => name))})) GROUP BY endpoint`,
  );
  const items = Object.fromEntries(counted.map(({ list, items: number }) => [list, Number(number)]));
  const allowed = Math.max(0, allowedPerDay(options, context.config) - listRequests);
  return sweepNote(sweepPerDay(items, children, context.config), allowed);
}
