import { createTask, validateDetailed } from 'node-cron';
import { lastWallUntil, momentOf, momentsOf, wallAt } from '../../base/zone.js';

/**
 * A cron expression, parsed by node-cron. Its timer is not used: it depends on the machine's clock, skips the times that a
 * daylight-saving change leaves out, and forgets what was due while the process was down.
 */
interface Cron {
  /** Whether it occurs on the day that begins at a wall time. */
  isDay(day: number): boolean;
  /** The milliseconds of such a day at which it occurs, in order. */
  readonly times: readonly number[];
  /** Whether it is an interval: every hour, or every few of them. */
  readonly isInterval: boolean;
}

/** A 29 February on a given weekday comes every 28 years, and 40 years apart across 2100. */
const years = 41;
const dayMs = 86_400_000;
const crons = new Map<string, Cron>();

/** The problem of an expression (five fields, six with seconds first, or a nickname such as @daily), or undefined. */
export function cronProblem(expression: string): string | undefined {
  const { valid, errors } = validateDetailed(expression);
  return valid ? undefined : errors.map(({ message }) => message).join('; ');
}

/** Parses an expression. Throws RangeError for one with a cronProblem. */
function cronOf(expression: string): Cron {
  const cached = crons.get(expression);
  if (cached) return cached;
  const made = read(expression);
  crons.set(expression, made);
  return made;
}

function read(expression: string): Cron {
  const { valid, fields } = validateDetailed(expression);
  if (!valid || !fields) throw new RangeError(`${expression}: ${cronProblem(expression)}`);
  // Both day fields must match, and they have special forms (L, 15W, 1#2), so node-cron matches them. It does so in
  // UTC, because it gets wall times.
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  void task.destroy();
  const [hours, minutes, seconds] = [fields.hour, fields.minute, fields.second].map(sorted);
  const times = (hours ?? []).flatMap((hour) =>
    (minutes ?? []).flatMap((minute) =>
      (seconds ?? []).map((second) => ((hour * 60 + minute) * 60 + second) * 1000),
    ),
  );
  const isDay = (day: number) =>
    fields.month.includes(new Date(day).getUTCMonth() + 1) && task.match(new Date(day + (times[0] ?? 0)));
  const hourField = expression.trim().split(/\s+/).at(-4) ?? '';
  return { isDay, times, isInterval: fields.hour.length === 24 || hourField.startsWith('*') };
}

/** Wall times from one on, in order (`step` 1) or latest first (-1); endless unless none is left within `years`. */
function* walls({ isDay, times }: Cron, from: number, step: 1 | -1): Iterable<number> {
  const start = Math.floor(from / dayMs) * dayMs;
  const ofDay = step === 1 ? times : times.toReversed();
  for (let days = 0; days < years * 366; days++) {
    const day = start + days * step * dayMs;
    if (!isDay(day)) continue;
    for (const time of ofDay) if ((day + time - from) * step >= 0) yield day + time;
  }
}

function sorted(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** When something is due: a cron expression on the wall clock of a zone. */
export interface Timetable {
  readonly cron: string;
  readonly timezone: string;
}

/** The moments at which a wall time is due. */
function dueMoments({ isInterval }: Cron, wall: number, timezone: string): number[] {
  return isInterval ? momentsOf(wall, timezone) : [momentOf(wall, timezone)];
}

/** The longest time by which clocks are set back: an hour nearly everywhere, and once two. */
const maxSetBackMs = 2 * 3_600_000;

/**
 * The first due time later than `after` (milliseconds since the epoch); null when there is none within 41 years. When
 * clocks are set forward, what is due in the skipped hour is due once, right after it. When they are set back, what is due
 * in the repeated hour is due in the first of the two; an interval is due in both, so that no more time passes between two
 * runs than on any other day.
 */
export function nextRun({ cron, timezone }: Timetable, after: number): number | null {
  const parsed = cronOf(cron);
  // Where clocks are about to be set back, an earlier wall time comes once more.
  const from = Math.min(wallAt(after, timezone), wallAt(after + maxSetBackMs, timezone) - maxSetBackMs);
  let next = Number.POSITIVE_INFINITY;
  for (const wall of walls(parsed, from, 1)) {
    const moments = dueMoments(parsed, wall, timezone);
    if (Math.min(...moments) >= next) return next;
    next = Math.min(next, ...moments.filter((moment) => moment > after));
    if (!parsed.isInterval && Number.isFinite(next)) return next;
  }
  return Number.isFinite(next) ? next : null;
}

/** The last due time that is not later than `until`, as nextRun would find it; or null. */
export function lastDue({ cron, timezone }: Timetable, until: number): number | null {
  const parsed = cronOf(cron);
  let last = Number.NEGATIVE_INFINITY;
  for (const wall of walls(parsed, lastWallUntil(until, timezone), -1)) {
    const moments = dueMoments(parsed, wall, timezone);
    if (Math.max(...moments) <= last) return last;
    last = Math.max(last, ...moments.filter((moment) => moment <= until));
    if (!parsed.isInterval && Number.isFinite(last)) return last;
  }
  return Number.isFinite(last) ? last : null;
}
