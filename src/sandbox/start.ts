import type { AddressInfo } from 'node:net';
import { silentLog } from '../base/log.js';
import type { FaultRuleInput } from './faults.js';
import { type SandboxOptions, withDefaults } from './options.js';
import { buildServer } from './server.js';
import { Service } from './service.js';
import type { Change } from './world/changes/index.js';
import { generate } from './world/generate.js';
import type { DayShape } from './world/types.js';

export type { SandboxOptions } from './options.js';

/** A running sandbox, with in-process access to what `/__sandbox/*` does over HTTP, and more. */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/**
 * Starts the whole Product-Signals service on localhost, with a generated organization unless `options.world` is given.
 * Rejects when it cannot listen on the address, and for a setting that is not valid.
 */
export async function startSandbox(options: SandboxOptions = {}) {
  const settings = withDefaults(options);
  const service = new Service(settings, options.world ?? generate(settings.sizes), options.log ?? silentLog);
  const { faults, stats } = service;
  const app = await buildServer(service);
  await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo;
  const origin = `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`;
  return {
    /** The base URL of the API, ending in `/v1`. */
    baseUrl: `${origin}/v1`,
    /** The address of the server, for `/__sandbox/*` and `/openapi.json`. */
    origin,
    /** The first of its keys. */
    apiKey: settings.apiKey,
    world: service.world,
    /** What has happened so far: requests, 429s, the most requests in any window, writes. */
    stats: () => stats.read(),
    resetStats: () => stats.reset(),
    /** Every write that was executed, in order; a replay is not a write. */
    writes: () => stats.writes,
    /** How often each field of each entity was written. */
    applied: () => stats.applied(),
    addFaults: (rules: readonly FaultRuleInput[]) => faults.add(rules),
    clearFaults: () => faults.clear(),
    /** Sets how far the service's clock is ahead of the machine's. */
    skewClock: (skewMs: number) => service.clock.skew(skewMs),
    /** Lets whole days pass: new messages and topics, edits, merges, archives. */
    advance: (days: number, shape?: Partial<DayShape>) => service.advance(days, shape),
    /** Makes one change as a member of the organization, without a key or a limit; returns what was made or changed. */
    change: (change: Change) => service.change(change),
    /** Call this after you changed `world` directly, without an endpoint of the service. */
    changed: () => service.tenant.renderer.worldChanged(),
    /** Closes every connection and stops listening. */
    stop: async () => app.close(),
  };
}
