import { existsSync } from 'node:fs';
import { guardedWindow } from '../api/budget.js';
import { SpendingLog } from '../api/spending-log.js';
import { systemClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { type Setup, spendingLogPath } from './worker.js';

/** Requests of the running window, by every command of the data directory. */
export function heldNow({ config, clock = systemClock }: Setup): number {
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
