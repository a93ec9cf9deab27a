import { type FreshnessEstimate, usualStaleBound } from '../base/freshness-estimate.js';

/**
 * How much of what is stored is out of date although no list shows it, by random checks; and how often to read it for that.
 * Pure: rows in, numbers out (src/sync/checks.ts reads and stores them).
 */

/** Details of one resource that were fetched about as long ago, of entities that are all active or all quiet. */
export interface Stratum {
  readonly resource: string;
  /** As in src/sync/due.ts; `fresh` is not checked, and counts as up to date. */
  readonly stratum: string;
  /** How many there are now, and their mean age. */
  readonly population: number;
  readonly ageDays: number;
  readonly checks: number;
  /** Checks that found a difference. */
  readonly stale: number;
  /** The mean age at the checks. */
  readonly checkedDays: number;
}

/** Two-sided 95 % of the normal distribution. */
const z = 1.959964;

/**
 * The share that is out of date now, with a 95 % interval.
 *
 * The checks are a stratified sample with unequal sampling shares: random within each stratum, small strata more often. So each
 * stratum counts by its population of now. A check tells how likely something is stale at its age, whenever it was made; to the
 * mean age of the stratum's population it is carried over as if changes went on at the same rate. A stratum without a check
 * goes with the others of its resource; where the whole resource has none, it may be anything from all right to all wrong.
 *
 * The interval is Wilson's with continuity correction (Newcombe 1998, method 4): as wide as Clopper and Pearson's, which needs
 * the inverse of the incomplete beta function. Wilson's own covers 95 % on average only, and less where the share is small. Its
 * number of checks is the effective one, which gives a simple random sample the same variance. Few checks say little of the
 * variance within strata, so it is at least that of the pooled share; and as the truth is a number of rows and no chance, theirs
 * is added, and the ends are whole rows.
 */
export function estimate(strata: readonly Stratum[]): Omit<FreshnessEstimate, 'resource' | 'days'> {
  const sum = (of: readonly Stratum[], key: 'population' | 'checks' | 'stale' = 'population') =>
    of.reduce((total, one) => total + one[key], 0);
  const aged = strata.filter(({ stratum }) => stratum !== 'fresh');
  const checked = aged.filter(({ checks }) => checks > 0);
  const counts = { checks: sum(checked, 'checks'), stale: sum(checked, 'stale') };
  const sampled = checked.map((one) => {
    const isOwn = ({ resource }: Stratum) => resource === one.resource;
    const part = sum(aged.filter(isOwn)) / sum(checked.filter(isOwn));
    return { ...one, population: one.population * part || 0 };
  });
  const [population, known] = [sum(strata), sum(sampled)];
  const unknown = sum(aged) - known;
  if (known === 0)
    return { ...counts, share: unknown > 0 ? null : 0, low: 0, high: unknown / population || 0 };
  const mean = (of: (one: Stratum, weight: number, stale: number) => number) =>
    sampled.reduce((total, one) => {
      const stale = 1 - (1 - one.stale / one.checks) ** (one.ageDays / one.checkedDays);
      return total + (one.population / known) * of(one, one.population / known, stale);
    }, 0);
  const share = mean((_one, _weight, stale) => stale);
  const pooled = mean(({ checks }, weight) => weight / checks);
  const within = mean(({ checks }, weight, stale) => (weight * stale * (1 - stale)) / checks);
  const perCheck = Math.max(pooled, within / (share * (1 - share)) || 0);
  const [low, high] = wilson(share, 1 / (perCheck + 1 / known));
  return {
    ...counts,
    share: (share * known) / population,
    low: Math.floor(low * known) / population,
    high: Math.min(1, (Math.ceil(high * known) + unknown) / population),
  };
}

function wilson(share: number, n: number): [number, number] {
  const half = (sign: 1 | -1) =>
    z * Math.sqrt(Math.max(0, z ** 2 - 1 / n + 4 * n * share * (1 - share) + sign * (2 - 4 * share))) + 1;
  const end = (sign: 1 | -1) => (2 * n * share + z ** 2 + sign * half(sign)) / (2 * (n + z ** 2));
  return [share === 0 ? 0 : Math.max(0, end(-1)), share === 1 ? 1 : Math.min(1, end(1))];
}

/** A detail that is not due, and was answered well. */
export interface Current {
  readonly resource: string;
  readonly entityId: string;
  readonly stratum: string;
  readonly ageDays: number;
}

/** The share of a run's requests that goes to checks, and the fewest checks. */
const shareOfChecks = 0.01;
const fewestChecks = 3;

/** How many checks follow a run of this many requests, of which its caps leave `free`: none when the budget is short. */
export function checksAfter(requests: number, free: number): number {
  const checks = Math.max(fewestChecks, Math.ceil(requests * shareOfChecks));
  return free < 2 * checks ? 0 : checks;
}

/**
 * Chooses `count` of them at random: equally likely within a stratum, and more often where a stratum is small (by the root of
 * its size), so that resources with few entities are known as well. `random` is drawn from [0, 1).
 */
export function chooseChecks(current: readonly Current[], count: number, random: () => number): Current[] {
  const nameOf = ({ resource, stratum }: Current) => `${resource} ${stratum}`;
  const sizes = new Map<string, number>();
  for (const one of current) sizes.set(nameOf(one), (sizes.get(nameOf(one)) ?? 0) + 1);
  // Efraimidis and Spirakis: the smallest of exponential variates whose rates are the weights.
  const keyed = current.map((one) => ({
    one,
    key: -Math.log(1 - random()) * Math.sqrt(sizes.get(nameOf(one)) ?? 1),
  }));
  return keyed
    .sort((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ one }) => one);
}

/** What checks of a resource say about how often it changes without a sign. */
export interface Measured {
  readonly checks: number;
  readonly changes: number;
  /** The days in which a change would have been seen: all until a check that found none, half of those until one that did. */
  readonly days: number;
}

/** The age of the settings counts like this many changes that were measured: one or two of them decide nothing. */
const changesAssumed = 3;
/** Nothing is fetched more than this many times as often as the settings say. */
const mostTimes = 8;

/**
 * How often a detail changes without a sign, and the age at which it is fetched again for that: so early that on average no more
 * than `bound` of them are out of date, at ages from none to this. Never later than `fullDays`, at which it stays until the checks
 * show more changes than that allows, and without a bound (0).
 */
export function measuredAge(fullDays: number, bound: number, measured?: Measured) {
  const { checks, changes, days } = measured ?? { checks: 0, changes: 0, days: 0 };
  const twice = 2 * (bound || usualStaleBound);
  const daysBetween = (days + (changesAssumed * fullDays) / twice) / (changes + changesAssumed);
  const age = Math.min(fullDays, Math.max(twice * daysBetween, fullDays / mostTimes));
  return { days: bound === 0 ? fullDays : age, isSooner: bound > 0 && age < fullDays, daysBetween, checks };
}
