import { existsSync } from 'node:fs';
import { guardedWindow } from '../api/budget.js';
import { SpendingLog } from '../api/spending-log.js';
import { type Clock, iso, systemClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import type { Budget } from '../serve/facts.js';
import type { Spent } from '../warehouse/read/status.js';
import { type Setup, spendingLogPath } from './setup.js';

/** The requests of the key: how many of the running window are spent, and how many were spent in the last hours. */

const minuteMs = 60_000;
const sliceMinutes = 10;
const slices = 36;

/** The budget of the key: requests of the snapshot and of this process together, in slices of equal length. */
export function budgetOf(setup: Setup, written: readonly Spent[], live: readonly Spent[]): Budget {
  const { requests: limit, windowMs } = setup.config.rateLimit;
  const sliceMs = sliceMinutes * minuteMs;
  const now = (setup.clock ?? systemClock).now();
  const first = (Math.floor(now / sliceMs) - slices + 1) * sliceMs;
  const found = Array.from({ length: slices }, (_, index) => ({
    from: iso(first + index * sliceMs),
    requests: 0,
    rateLimited: 0,
  }));
  // What was published in the middle of a minute has a part of it, and what this process saw has its own alone.
  const minutes = new Map<number, Spent>();
  for (const one of [...written, ...live]) {
    const other = minutes.get(one.minute);
    if (!other || one.requests > other.requests) minutes.set(one.minute, one);
  }
  for (const { minute, requests, rate_limited } of minutes.values()) {
    const slice = found[Math.floor((minute - first) / sliceMs)];
    if (!slice) continue;
    slice.requests += requests;
    slice.rateLimited += rate_limited;
  }
  return { held: heldNow(setup), limit, windowMs, slices: found, sliceMinutes };
}

/** Requests of this process that no snapshot has yet, by the minute. */
export class LiveSpending {
  readonly #clock: Clock;
  readonly #minutes = new Map<number, { minute: number; requests: number; rate_limited: number }>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  attempt({ status }: { readonly status?: number | undefined }): void {
    const now = this.#clock.now();
    const minute = Math.floor(now / minuteMs) * minuteMs;
    const one = this.#minutes.get(minute) ?? { minute, requests: 0, rate_limited: 0 };
    this.#minutes.set(minute, one);
    one.requests += 1;
    if (status === 429) one.rate_limited += 1;
    const oldest = now - slices * sliceMinutes * minuteMs;
    for (const key of this.#minutes.keys()) if (key < oldest) this.#minutes.delete(key);
  }

  get spent(): readonly Spent[] {
    return [...this.#minutes.values()];
  }
}

/** Requests of the running window, by every command of the data directory. */
function heldNow({ config, clock = systemClock }: Setup): number {
  const path = spendingLogPath(config.dataDir);
  if (!existsSync(path)) return 0;
  const { rateLimit, api } = config;
  const heldMs = guardedWindow(rateLimit.windowMs);
  const attemptMs = api.timeouts.totalMs;
  // Whoever may not write there sees nothing spent, which is better than no status at all.
  const ledger = new SpendingLog({
    path,
    heldMs,
    attemptMs,
    requests: rateLimit.requests,
    clock,
    log: silentLog,
  });
  try {
    return ledger.held();
  } finally {
    ledger.close();
  }
}
