import { existsSync } from 'node:fs';
import { guardedWindow } from '../api/budget.js';
import { SpendingLog } from '../api/spending-log.js';
import { usualTimeouts } from '../api/transport.js';
import { type Clock, iso, systemClock } from '../base/clock.js';
import type { Facts, MinuteOfRequests, RecentRequests } from '../base/facts.js';
import { silentLog } from '../base/log.js';
import { type Setup, spendingLogPath } from './setup.js';

/** The requests of the key: how many of the running window are spent, and how many were sent in the last hours. */

const minuteMs = 60_000;
const sliceMinutes = 10;
const sliceCount = 36;

/** How many requests of the running window are spent, by every command of the data directory. */
export function spendingNow({ config, clock = systemClock }: Setup): Facts['spending'] {
  const { rateLimit, tuning } = config;
  const { requests, windowMs } = rateLimit;
  const spending = { held: 0, limit: requests, windowMs };
  const path = spendingLogPath(config.dataDir);
  if (!existsSync(path)) return spending;
  const heldMs = guardedWindow(windowMs);
  const { totalMs: attemptMs } = tuning.timeouts ?? usualTimeouts;
  // A user who may not write there sees nothing spent, which is better than no status at all.
  const spendingLog = new SpendingLog({ path, heldMs, attemptMs, requests, clock, log: silentLog });
  try {
    return { ...spending, held: spendingLog.held() };
  } finally {
    spendingLog.close();
  }
}

/** Requests of the last hours: those of the snapshot and those of this process together, in slices of equal length. */
export function recentRequests(
  { clock = systemClock }: Setup,
  stored: readonly MinuteOfRequests[],
  live: readonly MinuteOfRequests[],
): RecentRequests {
  const sliceMs = sliceMinutes * minuteMs;
  const first = (Math.floor(clock.now() / sliceMs) - sliceCount + 1) * sliceMs;
  const slices = Array.from({ length: sliceCount }, (_, index) => ({
    from: iso(first + index * sliceMs),
    requests: 0,
    rateLimited: 0,
    busiestMinute: 0,
  }));
  // For a minute that both have, the larger count is the truer one: a snapshot that was published within the minute has
  // a part of it, and this process knows of its own requests alone.
  const minutes = new Map<number, MinuteOfRequests>();
  for (const one of [...stored, ...live]) {
    const other = minutes.get(one.minute);
    if (!other || one.requests > other.requests) minutes.set(one.minute, one);
  }
  for (const { minute, requests, rate_limited } of minutes.values()) {
    const slice = slices[Math.floor((minute - first) / sliceMs)];
    if (!slice) continue;
    slice.requests += requests;
    slice.rateLimited += rate_limited;
    slice.busiestMinute = Math.max(slice.busiestMinute, requests);
  }
  return { slices, sliceMinutes };
}

/** Counts the requests of this process by the minute: no snapshot has them yet. */
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
    const oldest = now - sliceCount * sliceMinutes * minuteMs;
    for (const key of this.#minutes.keys()) if (key < oldest) this.#minutes.delete(key);
  }

  get spent(): readonly MinuteOfRequests[] {
    return [...this.#minutes.values()];
  }
}
