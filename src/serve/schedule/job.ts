import { canonicalZone } from '../../base/clock.js';
import type { Problem } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import type { Settings } from '../../config/schema.js';
import { cronProblem, nextRun } from './cron.js';

/** `name` is shown on the page and in metrics, and used in POST /jobs/NAME/run. */
export type Job = Settings['serve']['jobs'][number];
export type JobKind = Job['run'];

/**
 * Everything that is wrong with the jobs, each named as `serve.jobs[0].cron`; empty when they can be scheduled. They may be
 * as a settings file has them: a field that is missing or of another type is left to the schema.
 */
export function jobProblems(jobs: readonly unknown[], prefix = 'serve.jobs'): Problem[] {
  const written = jobs.map(fieldsOf);
  return written.flatMap((job, index) =>
    problemsOf(job, written.slice(0, index)).map(([field, problem]) => ({
      setting: `${prefix}[${index}].${field}`,
      problem,
    })),
  );
}

type Fields = Partial<Record<'name' | 'cron' | 'timezone', string>>;

function fieldsOf(job: unknown): Fields {
  if (!isObject(job)) return {};
  const { timezone = 'UTC' } = job;
  const fields = Object.entries({ name: job.name, cron: job.cron, timezone });
  return Object.fromEntries(
    fields.flatMap(([field, value]) => (typeof value === 'string' ? [[field, value.trim()]] : [])),
  );
}

function problemsOf(
  { name, cron, timezone }: Fields,
  earlier: readonly Fields[],
): [field: string, problem: string][] {
  const problems: [string, string][] = [];
  if (name !== undefined && !/^[a-z0-9][a-z0-9_.-]{0,62}$/i.test(name)) {
    problems.push(['name', 'must be 1 to 63 letters, digits, dots, dashes or underscores']);
  } else if (name !== undefined && earlier.some((other) => other.name === name)) {
    problems.push(['name', `${name} is the name of another job`]);
  }
  const inCron = cron === undefined ? undefined : cronProblem(cron);
  if (inCron !== undefined) problems.push(['cron', `${JSON.stringify(cron)}: ${inCron}`]);
  const isKnown = timezone !== undefined && canonicalZone(timezone) !== undefined;
  if (timezone !== undefined && !isKnown)
    problems.push([
      'timezone',
      `${JSON.stringify(timezone)} is not a time zone such as Europe/Berlin or UTC`,
    ]);
  // Both restrictions of the day must match, which some pairs never do.
  if (cron !== undefined && inCron === undefined && isKnown && nextRun({ cron, timezone }, 0) === null) {
    problems.push(['cron', `${JSON.stringify(cron)} never occurs`]);
  }
  return problems;
}
