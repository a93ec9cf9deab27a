import { duration } from '../../base/units.js';
import type { RunRecord } from '../../serve/schedule/record.js';
import { list } from './sections.js';

/** What `serve --once` ran, one line a run. */
export function runsText(runs: readonly RunRecord[]): string {
  if (runs.length === 0) return 'Nothing is due.';
  return list(
    runs.map(({ job, outcome, startedAt, endedAt, message }) => {
      const ms = startedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
      return `${job} ${outcome} after ${duration(ms)}: ${message}`;
    }),
  );
}
