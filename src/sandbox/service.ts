import type { Log } from '../base/log.js';
import { type Change, makeChange } from './colleague.js';
import { Drift } from './drift.js';
import { FaultRules } from './faults.js';
import { Renderer } from './handlers/renderer.js';
import { IdempotencyStore } from './idempotency.js';
import { keysOf, type SandboxKey, type SandboxSettings } from './options.js';
import { Statistics } from './stats.js';
import { advance, type DayCounts } from './world/advance.js';
import { emptyWorld } from './world/generate.js';
import type { DayShape, World } from './world/types.js';

/** One organization, and the renderer of its answers. */
interface Tenant {
  readonly world: World;
  readonly renderer: Renderer;
}

/** An accepted key and the organization it reads and changes. */
export interface Principal {
  readonly key: SandboxKey;
  readonly tenant: Tenant;
}

/** The service's wall clock, which a test can move. Key expiry and the 24 hours of a stored answer depend on it. */
class ServiceClock {
  #skewMs = 0;

  /** Milliseconds since the epoch, as the service sees them. */
  now(): number {
    return Date.now() + this.#skewMs;
  }

  /** Sets how far the service's clock is ahead of the machine's, in milliseconds (negative: behind). */
  skew(skewMs: number): void {
    this.#skewMs = skewMs;
  }
}

/** The parts of one running sandbox. The server and the handlers receive it. */
export class Service {
  readonly clock = new ServiceClock();
  readonly stats: Statistics;
  readonly faults: FaultRules;
  /** Applies to the organization of the first key, like `advance` and `change`. */
  readonly drift: Drift;
  readonly idempotency = new IdempotencyStore(() => this.clock.now());
  readonly tenant: Tenant;
  readonly #keys = new Map<string, Principal>();

  constructor(
    readonly settings: SandboxSettings,
    readonly world: World,
    readonly log: Log,
  ) {
    const { drift, faults, pagingFault, rate } = settings;
    this.stats = new Statistics(rate.windowMs);
    this.faults = new FaultRules(world.seed);
    this.faults.add(faults);
    if (pagingFault) this.faults.add([{ kind: 'paging', how: pagingFault }]);
    this.drift = new Drift(world);
    if (drift) this.drift.start(drift);
    this.tenant = this.#tenantOf(world);
    for (const key of keysOf(settings)) {
      const { organization } = key;
      const tenant = organization ? this.#tenantOf(emptyWorld(organization, world.now)) : this.tenant;
      this.#keys.set(key.key, { key, tenant });
    }
  }

  /** The principal of a bearer key; undefined when it is unknown or expired. */
  principalOf(key: string): Principal | undefined {
    const principal = this.#keys.get(key);
    const expiresAt = principal?.key.expiresAt ?? Number.POSITIVE_INFINITY;
    return expiresAt <= this.clock.now() ? undefined : principal;
  }

  /** Lets days pass in the organization of the first key; see world/advance.ts. @throws RangeError on a bad shape */
  advance(days: number, shape: Partial<DayShape> = {}): DayCounts {
    try {
      return advance(this.world, days, shape);
    } finally {
      this.tenant.renderer.worldChanged();
    }
  }

  /** Makes one change as another member of the organization; see colleague.ts. */
  change(change: Change): unknown {
    try {
      return makeChange(this.world, change);
    } finally {
      this.tenant.renderer.worldChanged();
    }
  }

  #tenantOf(world: World): Tenant {
    return { world, renderer: new Renderer(world, this.settings) };
  }
}
