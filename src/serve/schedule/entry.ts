import { ExitCode, messageOf, SignalhouseError, StoppedError } from '../../base/errors.js';
import { iso } from '../iso.js';
import type { Job } from './job.js';
import type { JobResult, Trigger } from './record.js';
import type { LiveRun, Progress } from './view.js';

/** A run that goes on or waits. */
export interface Entry {
  readonly job: Job;
  readonly trigger: Trigger;
  readonly dueAt: number | null;
  /** Since when it waits; since when it runs, once it does. */
  since: number;
  progress: Progress | null;
}

export function liveRun({ job, trigger, dueAt, since, progress }: Entry): LiveRun {
  return { job: job.name, trigger, dueAt: dueAt === null ? null : iso(dueAt), since: iso(since), progress };
}

/** What a job that threw comes to: it was stopped, or it failed, and what to do next. */
export function thrown(error: unknown): JobResult {
  if (error instanceof StoppedError) {
    return { outcome: 'stopped', exitCode: ExitCode.done, message: messageOf(error) };
  }
  const { exitCode, hint } =
    error instanceof SignalhouseError ? error : { exitCode: ExitCode.failed, hint: undefined };
  const message = hint === undefined ? messageOf(error) : `${messageOf(error)} ${hint}`;
  return { outcome: 'failed', exitCode, message };
}
