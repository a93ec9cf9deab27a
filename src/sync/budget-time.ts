import type { SyncSettings } from './settings.js';

/** Minutes that so many requests take at the configured rate. */
export function minutesFor(requests: number, { rateLimit }: Pick<SyncSettings, 'rateLimit'>): number {
  return (requests / rateLimit.requests) * (rateLimit.windowMs / 60_000);
}
