import type { Iso } from '../../base/clock.js';
import type { JobKind } from './job.js';
import type { RunRecord, Trigger } from './record.js';

/** The progress of a running job. */
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
  /** What the last attempt met. */
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

/** A job with its last and its next run. */
export interface JobView {
  readonly name: string;
  readonly run: JobKind;
  readonly cron: string;
  readonly timezone: string;
  /** When it starts next, including jitter; null when it never does. */
  readonly nextAt: Iso | null;
  readonly last: RunRecord | null;
  readonly lastSuccessAt: Iso | null;
  /** The first time since its last success at which it was due; null while that is to come. */
  readonly overdueSince: Iso | null;
}

/** Past, running and next runs. */
export interface ScheduleView {
  readonly stopping: boolean;
  readonly running: LiveRun | null;
  /** In the order of their start. */
  readonly waiting: readonly LiveRun[];
  readonly jobs: readonly JobView[];
  /** The last runs of all jobs, newest first. */
  readonly history: readonly RunRecord[];
}
