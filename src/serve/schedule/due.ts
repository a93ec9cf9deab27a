import { cronOf } from './cron.js';
import { lastWallUntil, momentOf, wallAt } from './zone.js';

/** When something is due: a cron expression on the wall clock of a zone. */
export interface Timetable {
  readonly cron: string;
  readonly timezone: string;
}

/**
 * The first due moment later than `after` (milliseconds since the epoch); null when there is none within 41 years.
 * On the day on which clocks are set forward, what is due in the hour that is left out is due once, right after it;
 * on the day on which they are set back, what is due in the hour that comes twice is due in the first of the two.
 */
export function nextRun({ cron, timezone }: Timetable, after: number): number | null {
  for (const wall of cronOf(cron).after(wallAt(after, timezone))) {
    const moment = momentOf(wall, timezone);
    if (moment > after) return moment;
  }
  return null;
}

/** The last due moment that is not later than `until`: the one that nextRun comes to on its way there; or null. */
export function lastDue({ cron, timezone }: Timetable, until: number): number | null {
  for (const wall of cronOf(cron).until(lastWallUntil(until, timezone))) {
    const moment = momentOf(wall, timezone);
    if (moment <= until) return moment;
  }
  return null;
}
