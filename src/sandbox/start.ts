import type { AddressInfo } from 'node:net';
import { silentLog } from '../base/log.js';
import type { Change } from './colleague.js';
import type { FaultRuleInput } from './faults.js';
import { type SandboxOptions, withDefaults } from './options.js';
import { buildServer } from './server.js';
import { Service } from './service.js';
import type { SandboxStats, Write } from './stats.js';
import type { DayCounts } from './world/advance.js';
import { generate } from './world/generate.js';
import type { DayShape, World } from './world/types.js';

export type { SandboxOptions } from './options.js';

/** A running sandbox, with in-process access to what `/__sandbox/*` does over HTTP. */
export interface Sandbox {
  /** The base URL of the API, ending in `/v1`. */
  readonly baseUrl: string;
  /** The address of the server, for `/__sandbox/*` and `/openapi.json`. */
  readonly origin: string;
  /** The first of its keys. */
  readonly apiKey: string;
  readonly world: World;
  /** What has happened so far: requests, 429s, the most requests in any window, writes. */
  stats(): SandboxStats;
  resetStats(): void;
  /** Every write that was executed, in order; a replay is not a write. */
  writes(): readonly Write[];
  /** How often each field of each entity was written. */
  applied(): Record<string, Record<string, number>>;
  addFaults(rules: readonly FaultRuleInput[]): void;
  clearFaults(): void;
  /** Sets how far the service's clock is ahead of the machine's. */
  skewClock(skewMs: number): void;
  /** Lets whole days pass: new messages and topics, edits, merges, archives. Returns how often each happened. */
  advance(days: number, shape?: Partial<DayShape>): DayCounts;
  /** Makes one change as a member of the organization, without a key or a limit; returns what was made or changed. */
  change(change: Change): unknown;
  /** Call this after you changed `world` directly, without an endpoint of the service. */
  changed(): void;
  /** Closes every connection and stops listening. */
  stop(): Promise<void>;
}

/**
 * Starts the whole Product-Signals service on localhost, with a generated organization unless `options.world` is given.
 * Rejects when it cannot listen on the address, and for a setting that is not valid.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = withDefaults(options);
  const service = new Service(settings, options.world ?? generate(settings.sizes), options.log ?? silentLog);
  const app = await buildServer(service);
  await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo;
  const origin = `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`;
  return {
    baseUrl: `${origin}/v1`,
    origin,
    apiKey: settings.apiKey,
    world: service.world,
    stats: () => service.stats.read(),
    resetStats: () => service.stats.reset(),
    writes: () => service.stats.writes,
    applied: () => service.stats.applied(),
    addFaults: (rules) => service.faults.add(rules),
    clearFaults: () => service.faults.clear(),
    skewClock: (skewMs) => service.clock.skew(skewMs),
    advance: (days, shape) => service.advance(days, shape),
    change: (change) => service.change(change),
    changed: () => service.tenant.renderer.worldChanged(),
    stop: () => app.close(),
  };
}
