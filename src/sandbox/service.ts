import type { Log } from '../base/log.js';
import { FaultRules } from './faults.js';
import { Renderer } from './handlers/renderer.js';
import { IdempotencyStore } from './idempotency.js';
import type { SandboxSettings } from './options.js';
import { Statistics } from './stats.js';
import { advance } from './world/advance.js';
import { type Change, makeChange } from './world/changes/index.js';
import { emptyWorld } from './world/generate.js';
import type { DayShape, World } from './world/types.js';

/** One organization, and the renderer of its answers. */
interface Tenant {
  readonly world: World;
  readonly renderer: Renderer;
}

/** An accepted key and the organization it reads and changes. */
export interface Principal {
  readonly key: string;
  readonly tenant: Tenant;
  /** Stands for a service JWT, which `POST /automations` refuses with 403. */
  readonly isJwt?: boolean;
}

/** The service's wall clock, in milliseconds since the epoch, which a test can move away from the machine's. */
function serviceClock() {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    skew: (skewMs: number) => {
      aheadMs = skewMs;
    },
  };
}

/** The parts of one running sandbox. The server and the handlers receive it. */
export class Service {
  readonly clock = serviceClock();
  readonly stats = new Statistics();
  readonly faults: FaultRules;
  readonly idempotency = new IdempotencyStore(this.clock.now);
  readonly tenant: Tenant;
  readonly #principals: readonly Principal[];

  constructor(
    readonly settings: SandboxSettings,
    readonly world: World,
    readonly log: Log,
  ) {
    const { apiKey, faults, pagingFault } = settings;
    this.faults = new FaultRules(world.seed);
    this.faults.add(faults);
    if (pagingFault) this.faults.add([{ kind: 'paging', how: pagingFault }]);
    this.tenant = { world, renderer: new Renderer(world, settings) };
    const other = { id: 'org_other', name: 'Another Organization', slug: 'another-organization' };
    const empty = emptyWorld(other, world.now);
    this.#principals = [
      { key: apiKey, tenant: this.tenant },
      { key: 'svc_jwt', tenant: this.tenant, isJwt: true },
      { key: 'svc_other_organization', tenant: { world: empty, renderer: new Renderer(empty, settings) } },
    ];
  }

  /** The principal of a bearer key; undefined when it is unknown, revoked or expired. */
  principalOf(key: string): Principal | undefined {
    return this.#principals.find((principal) => principal.key === key);
  }

  /** Lets days pass in the organization of the first key; see world/advance.ts. @throws RangeError on a bad number */
  advance(days: number, shape: Partial<DayShape> = {}): void {
    try {
      advance(this.world, days, shape);
    } finally {
      this.tenant.renderer.worldChanged();
    }
  }

  /** Makes one change as another member of the organization; see world/changes. */
  change(change: Change): unknown {
    try {
      return makeChange(this.world, change);
    } finally {
      this.tenant.renderer.worldChanged();
    }
  }
}
