import { counted } from './units.js';

/** A row of freshness_estimates: the share of a resource (`all` for all of them) that is out of date, with a 95 % interval. */
export interface FreshnessEstimate {
  readonly resource: string;
  readonly checks: number;
  readonly stale: number;
  /** Null where nothing is known. */
  readonly share: number | null;
  readonly low: number;
  readonly high: number;
  readonly days: number;
  /** The share that the settings allow; 0: any. */
  readonly bound?: number;
}

/** What `serve.freshness` may be: hours, or a mapping of hours by list, with the bound of the share in `stale`. */
export type FreshnessObjective = number | Readonly<Partial<Record<string, number>>>;

export const usualStaleBound = 0.05;

/** The share of a resource that may be out of date; 0: any. */
export function staleBoundOf(objective: FreshnessObjective = {}): number {
  if (objective === 0) return 0;
  return typeof objective === 'object' ? (objective.stale ?? usualStaleBound) : usualStaleBound;
}

/** With fewer checks, little is known. */
const fewestChecks = 30;

/** Whether more is out of date than the bound allows: by the lower end of the interval, so that chance alone does not say so. */
export function isOverBound({ resource, checks, low, bound = 0 }: FreshnessEstimate): boolean {
  return bound > 0 && resource !== 'all' && checks >= fewestChecks && low > bound;
}

/** How much of a resource is out of date, for people. */
export function estimateText({ resource, checks, share, low, high, days }: FreshnessEstimate): string {
  const what = resource === 'all' ? 'all details' : resource;
  if (share === null || checks < fewestChecks) return `${what}: not yet known: ${counted(checks, 'check')}`;
  const [middle, from, to] = [share, low, high].map((part) => (100 * part).toFixed(1));
  return `${middle} % of ${what} is out of date (95 %: ${from} to ${to} %, ${counted(checks, 'check')} in ${counted(Math.ceil(days), 'day')})`;
}
