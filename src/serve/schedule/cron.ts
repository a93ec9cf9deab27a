import { createTask, validateDetailed } from 'node-cron';
import { lastWallUntil, momentOf, wallAt } from './zone.js';

/**
 * A cron expression, parsed by node-cron. Its timer is not used: it depends on the machine's clock, skips the times that a
 * daylight-saving change leaves out, and forgets what was due while the process was down.
 */
interface Cron {
  /** Whether it occurs on the day that begins at a wall time. */
  isDay(day: number): boolean;
  /** The milliseconds of such a day at which it occurs, in order. */
  readonly times: readonly number[];
}

/** A 29 February on a given weekday comes every 28 years, and 40 years apart across 2100. */
const years = 41;
const dayMs = 86_400_000;
const crons = new Map<string, Cron>();

/** What is wrong with an expression (five fields, six with seconds first, or a nickname such as @daily), or undefined. */
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
  return { isDay, times };
}

/** Wall times from a day on, in order (`step` 1) or latest first (-1); endless unless none is left within `years`. */
function* walls({ isDay, times }: Cron, from: number, step: 1 | -1): Iterable<number> {
  const start = Math.floor(from / dayMs) * dayMs;
  const ofDay = step === 1 ? times : times.toReversed();
  for (let days = 0; days < years * 366; days++) {
    const day = start + days * step * dayMs;
    if (isDay(day)) for (const time of ofDay) yield day + time;
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

/**
 * The first due time later than `after` (milliseconds since the epoch); null when there is none within 41 years. When
 * clocks are set forward, what is due in the skipped hour is due once, right after it; when they are set back, what is
 * due in the repeated hour is due in the first of the two.
 */
export function nextRun({ cron, timezone }: Timetable, after: number): number | null {
  const from = wallAt(after, timezone);
  for (const wall of walls(cronOf(cron), from, 1)) {
    if (wall <= from) continue;
    const moment = momentOf(wall, timezone);
    if (moment > after) return moment;
  }
  return null;
}

/** The last due time that is not later than `until`, as nextRun would find it; or null. */
export function lastDue({ cron, timezone }: Timetable, until: number): number | null {
  const from = lastWallUntil(until, timezone);
  for (const wall of walls(cronOf(cron), from, -1)) {
    if (wall > from) continue;
    const moment = momentOf(wall, timezone);
    if (moment <= until) return moment;
  }
  return null;
}
