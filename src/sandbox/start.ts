import type { AddressInfo } from 'node:net';
import { silentLog } from '../base/log.js';
import type { Change } from './colleague.js';
import type { DriftRuleInput, DriftState } from './drift.js';
import type { FaultRuleInput } from './faults.js';
import { type SandboxOptions, settle } from './options.js';
import { buildServer } from './server.js';
import { Service } from './service.js';
import type { SandboxStats, Write } from './stats.js';
import type { DayCounts } from './world/advance.js';
import { defaultSizes, generate } from './world/generate.js';
import type { DayShape, World } from './world/types.js';

export type { SandboxOptions } from './options.js';

/**
 * Starts the whole Product-Signals service on localhost, with a generated organization unless one is handed in.
 * Rejects when the address cannot be listened on.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return launch(options, options.world ?? generate({ ...defaultSizes, ...options.sizes }));
}

/** A running sandbox, with in-process handles on what `/__sandbox/*` does over HTTP. */
export interface Sandbox {
  /** Where the API is, ending in `/v1`. */
  readonly baseUrl: string;
  /** Where the server is, for `/__sandbox/*` and `/openapi.json`. */
  readonly origin: string;
  /** The first of its keys. */
  readonly apiKey: string;
  readonly port: number;
  readonly world: World;
  /** What has happened so far: requests, 429s, the most in any window, writes. */
  stats(): SandboxStats;
  resetStats(): void;
  /** Every write that was executed, in order; replays are none. */
  writes(): readonly Write[];
  /** How often each field of each entity was written. */
  applied(): Record<string, Record<string, number>>;
  addFaults(rules: readonly FaultRuleInput[]): void;
  clearFaults(): void;
  /** From now on lists change while they are read, by this rule; undefined: they hold still again. */
  setDrift(rule: DriftRuleInput | undefined): void;
  /** The drift's rule and what it has done so far. */
  drift(): DriftState;
  /** Sets how far the service's clock is ahead of the machine's. */
  skewClock(skewMs: number): void;
  /** Lets whole days pass: new messages and topics, edits, merges, archives. Says what happened. */
  advance(days: number, shape?: Partial<DayShape>): DayCounts;
  /** Makes one change as somebody else in the organization, past keys and limit; returns what was made or changed. */
  change(change: Change): unknown;
  /** Says that `world` was changed from outside, past the service's own endpoints. */
  changed(): void;
  /** Closes every connection and stops listening. */
  stop(): Promise<void>;
}

/** Serves a ready-made organization. Rejects when the address cannot be listened on. */
export async function launch(options: SandboxOptions, world: World): Promise<Sandbox> {
  const settings = settle(options);
  const service = new Service(settings, world, options.log ?? silentLog);
  const app = await buildServer(service);
  await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo;
  const origin = `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`;
  return {
    baseUrl: `${origin}/v1`,
    origin,
    apiKey: settings.apiKeys[0]?.key ?? '',
    port,
    world,
    stats: () => service.stats.read(),
    resetStats: () => service.stats.reset(),
    writes: () => service.stats.writes,
    applied: () => service.stats.applied(),
    addFaults: (rules) => service.faults.add(rules),
    clearFaults: () => service.faults.clear(),
    setDrift: (rule) => (rule ? service.drift.start(rule) : service.drift.stop()),
    drift: () => service.drift.read(),
    skewClock: (skewMs) => service.clock.skew(skewMs),
    advance: (days, shape) => service.advance(days, shape),
    change: (change) => service.change(change),
    changed: () => service.tenant.lens.changed(),
    stop: () => app.close(),
  };
}
