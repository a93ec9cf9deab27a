import { describe, expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/world/random.js';
import {
  type Current,
  checksAfter,
  chooseChecks,
  estimate,
  type Measured,
  measuredAge,
  type Stratum,
} from '../../../src/sync/freshness.js';
import { propertyRuns } from '../../support/runs.js';

/** Details of an organization, of which some change without a sign, each at a rate that nobody knows. */

interface Detail {
  readonly resource: string;
  readonly entityId: string;
  /** Changes a day that nothing shows. */
  readonly rate: number;
  readonly isActive: boolean;
  readonly weight: number;
  readonly requests: number;
  fetchedAt: number;
  /** Which share of its age it may reach, new with each fetch. */
  shareOfAge: number;
  isStale: boolean;
}

interface Kind {
  readonly resource: string;
  readonly size: number;
  readonly fullDays: number;
  readonly daysBetween: number;
}

interface Check {
  readonly resource: string;
  readonly stratum: string;
  readonly at: number;
  readonly ageDays: number;
  readonly differs: boolean;
}

class SilentWorld {
  readonly details: Detail[];
  readonly checks: Check[] = [];
  readonly #random: Random;
  now = 0;

  constructor(
    readonly seed: number,
    readonly kinds: readonly Kind[],
  ) {
    this.#random = new Random(seed, 'silent world');
    this.details = kinds.flatMap(({ resource, size, fullDays, daysBetween }, at) =>
      Array.from({ length: size }, (_, index): Detail => {
        const isActive = this.random() < 0.3;
        // Some change ten times as often as others of their kind, and the active ones most.
        const rate = ((isActive ? 2 : 0.6) * 10 ** (this.random() - 0.5)) / daysBetween;
        const fetchedAt = -this.random() * fullDays;
        const isStale = this.random() < 1 - Math.exp(rate * fetchedAt);
        return {
          resource,
          entityId: `${resource} ${index}`,
          rate,
          isActive,
          weight: at,
          requests: 1,
          fetchedAt,
          shareOfAge: 0.5 + this.random() / 2,
          isStale,
        };
      }),
    );
  }

  random = (): number => this.#random.unit();

  /** A day passes; what changes does not depend on what is fetched. */
  nextDay(): void {
    this.now += 1;
    const random = new Random(this.seed, 'day', this.now);
    for (const one of this.details) if (random.unit() < 1 - Math.exp(-one.rate)) one.isStale = true;
  }

  fetch(one: Detail): void {
    one.isStale = false;
    one.fetchedAt = this.now;
    one.shareOfAge = 0.5 + this.random() / 2;
  }

  /** Fetches what was chosen for a check, and notes what that shows. */
  check(one: Current): void {
    const detail = this.of(one);
    const { resource, stratum, ageDays } = one;
    this.checks.push({ resource, stratum, ageDays, at: this.now, differs: detail.isStale });
    this.fetch(detail);
  }

  ageOf({ fetchedAt }: Detail): number {
    return this.now - fetchedAt;
  }

  kindOf({ weight }: Detail): Kind {
    return this.kinds[weight] as Kind;
  }

  of({ entityId }: Current): Detail {
    this.#byId ??= new Map(this.details.map((one) => [one.entityId, one]));
    return this.#byId.get(entityId) as Detail;
  }
  #byId: Map<string, Detail> | undefined;

  /** As src/sync/due.ts says it. */
  stratumOf({ fetchedAt, isActive }: Detail): string {
    const age = this.now - fetchedAt;
    if (age < 0.5) return 'fresh';
    const [text] = Object.entries({ 'under 2 days': 2, 'under 7 days': 7, 'under 21 days': 21 }).find(
      ([, most]) => age < most,
    ) ?? ['21 days or more'];
    return `${text}, ${isActive ? 'active' : 'quiet'}`;
  }

  current(): Current[] {
    return this.details.flatMap((one) => {
      const stratum = this.stratumOf(one);
      const { resource, entityId, requests } = one;
      return stratum === 'fresh'
        ? []
        : { resource, entityId, stratum, ageDays: this.now - one.fetchedAt, requests };
    });
  }

  strata(resource?: string): Stratum[] {
    const found = new Map<
      string,
      { details: Detail[]; checks: Check[]; resource: string; stratum: string }
    >();
    const of = (name: string, stratum: string) => {
      const key = `${name}\n${stratum}`;
      const one = found.get(key) ?? { resource: name, stratum, details: [], checks: [] };
      found.set(key, one);
      return one;
    };
    for (const one of this.details) of(one.resource, this.stratumOf(one)).details.push(one);
    for (const one of this.checks) if (one.at > this.now - 30) of(one.resource, one.stratum).checks.push(one);
    return [...found.values()].flatMap(({ details, checks, ...names }) => {
      if (resource !== undefined && names.resource !== resource) return [];
      const mean = (days: number[]) => days.reduce((sum, one) => sum + one, 0) / Math.max(1, days.length);
      return {
        ...names,
        population: details.length,
        ageDays: mean(details.map(({ fetchedAt }) => this.now - fetchedAt)),
        checks: checks.length,
        stale: checks.filter(({ differs }) => differs).length,
        checkedDays: mean(checks.map(({ ageDays }) => ageDays)),
      };
    });
  }

  estimate(resource?: string) {
    return estimate(this.strata(resource));
  }

  /** The share that is out of date. */
  truth(resource?: string): number {
    const own = this.details.filter((one) => resource === undefined || one.resource === resource);
    return own.filter(({ isStale }) => isStale).length / own.length;
  }

  measured(resource: string): Measured {
    const own = this.checks.filter((one) => one.resource === resource);
    return {
      checks: own.length,
      changes: own.filter(({ differs }) => differs).length,
      days: own.reduce((sum, { ageDays, differs }) => sum + (differs ? ageDays / 2 : ageDays), 0),
    };
  }
}

const bound = 0.05;

describe('the estimate', () => {
  test('contains the truth in 95 of 100 worlds with silent edits at unknown rates', () => {
    const worlds = propertyRuns(20, 200);
    let [all, single, singles] = [0, 0, 0];
    for (let seed = 1; seed <= worlds; seed += 1) {
      const random = new Random(seed, 'kinds');
      const kinds = Array.from({ length: 5 }, (_, at) => ({
        resource: `resource ${at}`,
        size: Math.round(10 ** (1 + 1.2 * random.unit())),
        fullDays: random.pick([14, 30, 45, 60]),
        daysBetween: 10 ** (1.3 + 2 * random.unit()),
      }));
      const world = new SilentWorld(seed, kinds);
      const requests = 10 ** (2 + 1.6 * random.unit());
      for (let night = 0; night < 40; night += 1) {
        world.nextDay();
        for (const one of world.details) {
          const isAnnounced = world.random() < (one.isActive ? 0.1 : 0.01);
          if (isAnnounced || world.ageOf(one) > world.kindOf(one).fullDays * one.shareOfAge) world.fetch(one);
        }
        const count = checksAfter(requests, Number.POSITIVE_INFINITY);
        for (const one of chooseChecks(world.current(), count, world.random)) world.check(one);
      }
      if (contains(world)) all += 1;
      for (const { resource } of kinds) {
        if (world.estimate(resource).checks < 30) continue;
        singles += 1;
        if (contains(world, resource)) single += 1;
      }
    }
    expect(all / worlds).toBeGreaterThanOrEqual(0.95);
    expect(single / singles).toBeGreaterThanOrEqual(0.95);
  });

  const stratum = (more: Partial<Stratum>): Stratum => ({
    resource: 'a',
    stratum: 'under 7 days, quiet',
    population: 1_000,
    ageDays: 4,
    checks: 0,
    stale: 0,
    checkedDays: 4,
    ...more,
  });

  test('is wide with few checks, and says nothing without any', () => {
    expect(estimate([stratum({})])).toEqual({ checks: 0, stale: 0, share: null, low: 0, high: 1 });
    const fresh = stratum({ stratum: 'fresh' });
    expect(estimate([fresh])).toEqual({ checks: 0, stale: 0, share: 0, low: 0, high: 0 });
    const { share, low, high } = estimate([stratum({ checks: 4 })]);
    expect([share, low]).toEqual([0, 0]);
    // Clopper and Pearson: 0.602.
    expect(high).toBeCloseTo(0.605, 2);
  });

  test('a resource without a check may be anything from all right to all wrong', () => {
    const checked = stratum({ checks: 10_000, stale: 0, population: 900_000 });
    const { share, low, high } = estimate([checked, stratum({ resource: 'b', population: 100_000 })]);
    expect([share, low]).toEqual([0, 0]);
    expect(high).toBeGreaterThan(0.1);
    expect(high).toBeLessThan(0.101);
  });

  test('each stratum counts by its population, however often it was checked', () => {
    const strata = [
      stratum({ population: 100_000, checks: 100, stale: 1 }),
      stratum({ stratum: 'under 7 days, active', population: 1_000, checks: 900, stale: 900 }),
      stratum({ stratum: 'fresh', population: 101_000 }),
    ];
    expect(estimate(strata).share).toBeCloseTo((0.01 * 100_000 + 1_000) / 202_000, 6);
  });

  test('what was found at an age is carried over to the age of now', () => {
    const young = estimate([stratum({ checks: 1_000, stale: 100, ageDays: 2, checkedDays: 4 })]).share;
    expect(young).toBeCloseTo(1 - Math.sqrt(0.9), 6);
  });
});

function contains(world: SilentWorld, resource?: string): boolean {
  const { low, high } = world.estimate(resource);
  const truth = world.truth(resource);
  return low <= truth && truth <= high;
}

describe('the checks', () => {
  const current = (resource: string, size: number) =>
    Array.from({ length: size }, (_, at) => ({
      resource,
      entityId: `${resource} ${at}`,
      stratum: 'under 7 days, quiet',
      ageDays: 3,
      requests: 1,
    }));

  test('are equally likely within a stratum, and likelier in a small one', () => {
    const random = new Random('checks');
    const all = [...current('large', 100), ...current('small', 4)];
    const times = new Map<string, number>();
    for (let run = 0; run < 4_000; run += 1)
      for (const { entityId } of chooseChecks(all, 3, () => random.unit()))
        times.set(entityId, (times.get(entityId) ?? 0) + 1);
    const of = (name: string) =>
      all.flatMap(({ resource, entityId }) => (resource === name ? (times.get(entityId) ?? 0) : []));
    const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
    const [large, small] = [of('large'), of('small')];
    // By the root of their sizes: 10 to 2.
    expect(sum(small) / (sum(small) + sum(large))).toBeCloseTo(2 / 12, 1);
    expect(Math.max(...small) / Math.min(...small)).toBeLessThan(1.5);
    expect(Math.max(...large)).toBeLessThan(150);
  });

  test('are the same for the same randomness', () => {
    const chosen = () => {
      const random = new Random('same');
      return chooseChecks(current('a', 50), 5, () => random.unit());
    };
    expect(chosen()).toEqual(chosen());
  });

  test('are 1 % of the requests and at least 3; none when the budget is short', () => {
    expect([checksAfter(12, 1_000), checksAfter(1_240, 1_000)]).toEqual([3, 13]);
    expect([checksAfter(12, 5), checksAfter(12, 6)]).toEqual([0, 3]);
  });
});

describe('the age', () => {
  test('stays as the settings say until checks show more changes than the bound allows', () => {
    expect(measuredAge(14, bound)).toMatchObject({ days: 14 });
    expect(measuredAge(14, bound, { checks: 4, changes: 0, days: 20 }).days).toBe(14);
    expect(measuredAge(14, bound, { checks: 1_000, changes: 5, days: 5_000 }).days).toBe(14);
    expect(measuredAge(14, bound, { checks: 1, changes: 1, days: 2 }).days).toBeGreaterThan(10);
    expect(measuredAge(14, 0, { checks: 1_000, changes: 900, days: 5_000 }).days).toBe(14);
  });

  test('follows from the rate, within bounds', () => {
    const { days, daysBetween } = measuredAge(14, bound, { checks: 1_240, changes: 100, days: 9_000 });
    expect(daysBetween).toBeCloseTo(91.5, 0);
    expect(days).toBeCloseTo(9.1, 1);
    expect(measuredAge(14, bound, { checks: 9_000, changes: 9_000, days: 9_000 }).days).toBe(14 / 8);
  });
});
