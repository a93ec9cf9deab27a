import { z } from 'zod';
import { type Iso, millis } from '../../base/clock.js';
import { ExitCode } from '../../base/errors.js';
import { backoffMs } from '../../base/retry.js';
import type { Store } from '../store.js';
import { isFromWrongClock } from './agenda.js';
import type { Job } from './job.js';

/**
 * Why a run started: it was due, it was missed, the last one ended in an outage or gave way to other organizations, a person
 * requested it, or `serve --once` ran it.
 */
const triggers = ['schedule', 'catch-up', 'retry', 'manual', 'once'] as const;
export type Trigger = (typeof triggers)[number];

/** How a job ends without a shutdown; `stopped` means at its caps, with everything committed. */
type Ending = 'done' | 'stopped' | 'incomplete' | 'failed';

export interface JobResult {
  readonly outcome: Ending;
  readonly exitCode: ExitCode;
  /** One line for people: what it did, or what went wrong and what to do next. */
  readonly message: string;
  /** The runs that it made (ops.runs), in their order. */
  readonly runIds?: readonly string[] | undefined;
  /** The API as a whole did not answer. */
  readonly endedByOutage?: boolean | undefined;
}

/**
 * `unavailable`: ended because the API as a whole did not answer, runs again after a pause; `interrupted`: ended by a shutdown,
 * runs again at the next start; `skipped`: never started.
 */
export const outcomes = [
  'done',
  'stopped',
  'incomplete',
  'failed',
  'unavailable',
  'interrupted',
  'skipped',
] as const;
export type Outcome = (typeof outcomes)[number];

const moment = z.iso.datetime();

const runRecord = z
  .object({
    job: z.string(),
    trigger: z.enum(triggers),
    outcome: z.enum(outcomes),
    /** When it was due; null when a person requested it. */
    dueAt: moment.nullable(),
    /** Null when it was skipped. */
    startedAt: moment.nullable(),
    endedAt: moment,
    /** Null when it did not start. */
    exitCode: z.enum(ExitCode).nullable(),
    message: z.string(),
    /** The runs that it made (ops.runs); none when it was skipped. */
    runIds: z.array(z.string()).readonly().optional(),
    /** For `unavailable`: since when the API has not answered. */
    unavailableSince: moment.optional(),
  })
  .readonly();
/** One run of a job, or one that was skipped. */
export type RunRecord = z.infer<typeof runRecord>;

/** Since when the API has not answered a job, and how many of its runs that has ended. */
const unavailability = z.object({ since: moment, runs: z.number().int().min(1) }).readonly();

/** What is next after a run. */
export interface Next {
  /** When the job runs again before it is due; null when it does not. */
  readonly retryAt: Iso | null;
  /** Null where the API answers. */
  readonly unavailable: z.infer<typeof unavailability> | null;
}

const retryPauses = { firstMinutes: 1, maxMinutes: 60 };

/** The pause after the API has ended that many runs of a job in a row. */
export function retryPauseMs(runs: number): number {
  const { firstMinutes, maxMinutes } = retryPauses;
  return backoffMs(runs, firstMinutes * 60_000, maxMinutes * 60_000);
}

/** How many runs are remembered. */
const historyLength = 50;

const jobMemory = z.object({
  /** The latest due time that is handled; a later one that passed was missed. */
  handledDue: moment.nullable(),
  lastSuccessAt: moment.nullable(),
  /** When it runs again before it is due: it was requested, was preempted, or the API did not answer. */
  retryAt: moment.nullish(),
  unavailable: unavailability.nullish(),
});
type JobMemory = z.infer<typeof jobMemory>;

/** The scheduler's memory across restarts. */
export const scheduleMemory = z
  .object({
    jobs: z.record(z.string(), jobMemory).readonly(),
    /** Newest first. */
    history: z.array(runRecord).readonly(),
  })
  .readonly();
export type ScheduleMemory = z.infer<typeof scheduleMemory>;
export type ScheduleStore = Store<ScheduleMemory>;

/** The exit code of `serve --once`: that of the first run that failed, else whether one was incomplete. */
export function exitCodeOf(records: readonly RunRecord[]): ExitCode {
  const failed = records.find(({ outcome }) => outcome === 'failed');
  if (failed) return failed.exitCode ?? ExitCode.failed;
  return records.some(({ outcome }) => outcome === 'incomplete') ? ExitCode.incomplete : ExitCode.done;
}

export function isSuccess({ outcome }: RunRecord): boolean {
  return outcome === 'done' || outcome === 'stopped';
}

/** The memory after a run was requested: it has no due time, so it is a retry until it has ended by itself. */
export function requested(memory: ScheduleMemory, job: string, at: Iso): ScheduleMemory {
  return withJob(memory, job, { retryAt: at });
}

/** The memory after the API has answered a job. */
export function answered(memory: ScheduleMemory, job: string): ScheduleMemory {
  return withJob(memory, job, { unavailable: null });
}

function withJob(memory: ScheduleMemory, job: string, changed: Partial<JobMemory>): ScheduleMemory {
  const before = memory.jobs[job] ?? { handledDue: null, lastSuccessAt: null };
  return { ...memory, jobs: { ...memory.jobs, [job]: { ...before, ...changed } } };
}

/**
 * The memory after a run. Every run but an interrupted one handles its due time. A run that ended by itself decides
 * whether there is a retry.
 */
export function remembered(
  memory: ScheduleMemory,
  record: RunRecord,
  next: Next = { retryAt: null, unavailable: null },
): ScheduleMemory {
  const { handledDue = null } = memory.jobs[record.job] ?? {};
  const endedByItself = record.outcome !== 'interrupted' && record.outcome !== 'skipped';
  const handles = record.dueAt !== null && record.outcome !== 'interrupted';
  const { jobs } = withJob(memory, record.job, {
    handledDue: handles ? later(handledDue, record) : handledDue,
    ...(isSuccess(record) && { lastSuccessAt: record.endedAt }),
    ...(endedByItself && next),
  });
  return { jobs, history: [record, ...memory.history].slice(0, historyLength) };
}

/** Runs may end in another order than that of their due times. One that a wrong clock wrote would never be passed. */
function later(handled: Iso | null, { dueAt, endedAt }: RunRecord): Iso | null {
  const known = millis(handled);
  const isPassed =
    known === null || known < (millis(dueAt) ?? 0) || isFromWrongClock(known, Date.parse(endedAt));
  return isPassed ? dueAt : handled;
}

export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

/** The API does not answer, and the running job waits for it. */
export interface OutageView {
  /** When the first attempt failed. */
  readonly since: Iso;
  /** When the run stops waiting. */
  readonly until: Iso;
  /** The result of the last attempt. */
  readonly reason: string;
}

/** A run that is running, or waits for another one. */
export interface LiveRun {
  readonly job: string;
  readonly trigger: Trigger;
  readonly dueAt: Iso | null;
  /** When it started to run, or to wait. */
  readonly since: Iso;
  readonly progress: Progress | null;
  /** Null while the API answers. */
  readonly outage: OutageView | null;
}

export interface JobView extends Pick<Job, 'name' | 'run' | 'cron' | 'timezone'> {
  /** When it starts next, including jitter; null when it never does. */
  readonly nextAt: Iso | null;
  readonly last: RunRecord | null;
  readonly lastSuccessAt: Iso | null;
  /** The first time since its last success at which it was due; null while that is to come. */
  readonly overdueSince: Iso | null;
  /** Since when the API has not answered it; null while it answers. */
  readonly unavailableSince: Iso | null;
}

export interface ScheduleView {
  readonly stopping: boolean;
  readonly running: LiveRun | null;
  /** In the order of their start. */
  readonly waiting: readonly LiveRun[];
  readonly jobs: readonly JobView[];
  /** The last runs of all jobs, newest first. */
  readonly history: readonly RunRecord[];
}
