import { createTask, validateDetailed } from 'node-cron';
import { lastWallUntil, momentOf, wallAt } from './zone.js';

/**
 * A cron expression, parsed by node-cron. Its timer is not used: it depends on the machine's clock, skips the times that a
 * daylight-saving change leaves out, and forgets what was due while the process was down.
 */
interface Cron {
  /** Wall times later than `wall`, in order; endless unless none is left within `years`. */
  after(wall: number): Iterable<number>;
  /** Wall times up to `wall` and at it, latest first. */
  until(wall: number): Iterable<number>;
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
  const ascending = {
    hour: sorted(fields.hour),
    minute: sorted(fields.minute),
    second: sorted(fields.second),
  };
  const descending = {
    hour: ascending.hour.toReversed(),
    minute: ascending.minute.toReversed(),
    second: ascending.second.toReversed(),
  };
  const first = time(ascending.hour[0] ?? 0, ascending.minute[0] ?? 0, ascending.second[0] ?? 0);
  const isDay = (day: number) =>
    fields.month.includes(new Date(day).getUTCMonth() + 1) && task.match(new Date(day + first));

  function* walls(from: number, step: 1 | -1): Iterable<number> {
    const start = Math.floor(from / dayMs) * dayMs;
    for (let days = 0; days < years * 366; days++) {
      const day = start + days * step * dayMs;
      if (isDay(day)) yield* times(day, from, step);
    }
  }
  function* times(day: number, from: number, step: 1 | -1): Iterable<number> {
    const { hour, minute, second } = step === 1 ? ascending : descending;
    /** Whether everything between two times of the day lies on the side that was left behind. */
    const past = (earliest: number, latest: number) =>
      step === 1 ? day + latest <= from : day + earliest > from;
    for (const h of hour) {
      if (past(time(h, 0, 0), time(h, 59, 59))) continue;
      for (const m of minute) {
        if (past(time(h, m, 0), time(h, m, 59))) continue;
        for (const s of second) if (!past(time(h, m, s), time(h, m, s))) yield day + time(h, m, s);
      }
    }
  }
  return { after: (wall) => walls(wall, 1), until: (wall) => walls(wall, -1) };
}

function time(hours: number, minutes: number, seconds: number): number {
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
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
  for (const wall of cronOf(cron).after(wallAt(after, timezone))) {
    const moment = momentOf(wall, timezone);
    if (moment > after) return moment;
  }
  return null;
}

/** The last due time that is not later than `until`, as nextRun would find it; or null. */
export function lastDue({ cron, timezone }: Timetable, until: number): number | null {
  for (const wall of cronOf(cron).until(lastWallUntil(until, timezone))) {
    const moment = momentOf(wall, timezone);
    if (moment <= until) return moment;
  }
  return null;
}
