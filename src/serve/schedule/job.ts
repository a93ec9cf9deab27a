import type { Problem } from '../../base/errors.js';
import { cronProblem, nextRun, type Timetable } from './cron.js';
import { isZone } from './zone.js';

const jobKinds = ['sync', 'push', 'sync+push', 'export'] as const;
export type JobKind = (typeof jobKinds)[number];

/** One job of the settings. */
export interface Job extends Timetable {
  /** Its name in the settings, on the page, in metrics, and in POST /jobs/NAME/run. */
  readonly name: string;
  readonly run: JobKind;
  /** A run starts up to this long after it is due, so that many workers do not start at once. */
  readonly jitterSeconds?: number | undefined;
  /** Whether a missed run is run once after the next start; default true. */
  readonly catchUp?: boolean | undefined;
  readonly caps: { readonly maxRequests?: number | undefined; readonly maxMinutes?: number | undefined };
  /** What to do when a run is due while another run is not finished: jobs share the warehouse. */
  readonly overlap: 'wait' | 'skip';
}

/** Everything that is wrong with the jobs, each named as `serve.jobs[0].cron`; empty when they can be scheduled. */
export function jobProblems(jobs: readonly Job[], prefix = 'serve.jobs'): Problem[] {
  return jobs.flatMap((job, index) =>
    problemsOf(job, jobs.slice(0, index)).map(([field, problem]) => ({
      setting: `${prefix}[${index}].${field}`,
      problem,
    })),
  );
}

function problemsOf(job: Job, earlier: readonly Job[]): [field: string, problem: string][] {
  const problems: [string, string][] = [];
  if (!/^[a-z0-9][a-z0-9_.-]{0,62}$/i.test(job.name)) {
    problems.push(['name', 'must be 1 to 63 letters, digits, dots, dashes or underscores']);
  } else if (earlier.some(({ name }) => name === job.name)) {
    problems.push(['name', `${job.name} is the name of another job`]);
  }
  const cron = cronProblem(job.cron);
  if (cron !== undefined) problems.push(['cron', `${JSON.stringify(job.cron)}: ${cron}`]);
  const zone = isZone(job.timezone);
  if (!zone)
    problems.push([
      'timezone',
      `${JSON.stringify(job.timezone)} is not a time zone such as Europe/Berlin or UTC`,
    ]);
  // Both restrictions of the day must match, which some pairs never do.
  if (cron === undefined && zone && nextRun(job, 0) === null) {
    problems.push(['cron', `${JSON.stringify(job.cron)} never occurs`]);
  }
  return problems;
}
