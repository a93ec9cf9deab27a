import type { Random } from './random.js';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const weekMs = 7 * dayMs;

/** The Monday 00:00 UTC that begins the week of `at`. The epoch was a Thursday. */
export function weekStart(at: number): number {
  const monday = 4 * dayMs;
  return Math.floor((at - monday) / weekMs) * weekMs + monday;
}

/** How busy the hour of `at` is, 0..1: weekdays over weekends, office hours (UTC) over nights. */
function busyness(at: number): number {
  const hour = Math.floor(at / hourMs) % 24;
  const weekday = Math.floor((at - weekStart(at)) / dayMs);
  const ofHour = hour >= 8 && hour < 18 ? 1 : hour >= 6 && hour < 22 ? 0.35 : 0.08;
  return weekday < 5 ? ofHour : ofHour * 0.22;
}

/** A random moment between `from` and `to`; busy hours are more likely. */
export function busyMoment(random: Random, from: number, to: number): number {
  let at = from;
  for (let tries = 0; tries < 24; tries++) {
    at = from + Math.floor(random.unit() * Math.max(1, to - from));
    if (random.chance(busyness(at))) break;
  }
  return at;
}
