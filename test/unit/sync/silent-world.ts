import { Random } from '../../../src/sandbox/world/random.js';
import { type Current, estimate, type Measured, type Stratum } from '../../../src/sync/freshness.js';

/** Details of an organization, of which some change without a sign, each at a rate that nobody knows. */

export interface Detail {
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

export interface Kind {
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

export class SilentWorld {
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
          ...{ resource, entityId: `${resource} ${index}`, rate, isActive, weight: at, requests: 1 },
          ...{ fetchedAt, shareOfAge: 0.5 + this.random() / 2, isStale },
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

  /** As sql/sync/due.sql says it. */
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
