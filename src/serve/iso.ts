/** A moment as ISO 8601 in UTC: how everything that serve shows, stores or sends writes time. */
export type Iso = string;

/** Milliseconds since the epoch, written. */
export function iso(ms: number): Iso {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch; null for what is none. */
export function millis(at: Iso | null): number | null {
  const ms = at === null ? Number.NaN : Date.parse(at);
  return Number.isNaN(ms) ? null : ms;
}
