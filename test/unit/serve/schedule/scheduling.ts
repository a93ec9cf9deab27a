import { ExitCode } from '../../../../src/base/errors.js';
import { silentLog } from '../../../../src/base/log.js';
import type { Job } from '../../../../src/serve/schedule/job.js';
import type { RunRecord, ScheduleMemory } from '../../../../src/serve/schedule/record.js';
import { type RunJob, Scheduler, type SchedulerOptions } from '../../../../src/serve/schedule/scheduler.js';
import type { Store } from '../../../../src/serve/store.js';
import { SimulatedClock } from '../../../support/simulated-clock.js';

export function job(name: string, cron: string, more: Partial<Job> = {}): Job {
  return { name, cron, timezone: 'UTC', run: 'sync', catchUp: true, ...more };
}

export const done = { outcome: 'done', exitCode: ExitCode.done, message: 'all of it' } as const;

/** A store that lives as long as a test: what is found after a restart. */
export function memoryStore<T = ScheduleMemory>(value: T | null = null): Store<T> {
  return {
    load: () => Promise.resolve(value),
    save: (saved) => {
      value = saved;
      return Promise.resolve();
    },
  };
}

/** A clock that stands at a moment of the simulated world. */
export function clockAt(text: string): SimulatedClock {
  const clock = new SimulatedClock();
  clock.wallAheadMs = Date.parse(text);
  return clock;
}

/** A scheduler in simulated time, and everything that became of its runs. */
export function scheduling(
  jobs: readonly Job[],
  more: Partial<SchedulerOptions> & { clock: SimulatedClock },
) {
  const records: RunRecord[] = [];
  const run: RunJob = () => Promise.resolve(done);
  const scheduler = new Scheduler({
    jobs,
    run,
    memory: memoryStore(),
    shutdownSeconds: 25,
    log: silentLog,
    onEnd: (record) => records.push(record),
    ...more,
  });
  const pass = (ms: number) => more.clock.run(more.clock.sleep(ms));
  return { scheduler, records, pass };
}

/** `nightly schedule done 03:00` for each run, for comparison at a glance. */
export function brief(records: readonly RunRecord[]): string[] {
  return records.map(({ job, trigger, outcome, dueAt }) =>
    [job, trigger, outcome, dueAt?.slice(11, 16) ?? '-'].join(' '),
  );
}
