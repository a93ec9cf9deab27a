import type { Iso } from '../../base/clock.js';
import type { JobKind } from './job.js';
import type { RunRecord, Trigger } from './record.js';

/** How far a running job is, in its own words. */
export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

/** A run that is going on, or that waits for its turn. */
export interface LiveRun {
  readonly job: string;
  readonly trigger: Trigger;
  readonly dueAt: Iso | null;
  /** Since when it runs, or waits. */
  readonly since: Iso;
  readonly progress: Progress | null;
}

/** A job with its past and its future. */
export interface JobView {
  readonly name: string;
  readonly run: JobKind;
  readonly cron: string;
  readonly timezone: string;
  /** When it starts next, jitter included; null when that never comes. */
  readonly nextAt: Iso | null;
  readonly last: RunRecord | null;
  readonly lastSuccessAt: Iso | null;
}

/** What ran, what runs, and what is next. */
export interface ScheduleView {
  readonly stopping: boolean;
  readonly running: LiveRun | null;
  /** In the order in which they will run. */
  readonly waiting: readonly LiveRun[];
  readonly jobs: readonly JobView[];
  /** The last runs of every job, youngest first. */
  readonly history: readonly RunRecord[];
}
