import { expect, it } from 'vitest';
import { silentLog } from '../../../../src/base/log.js';
import { type RunJob, Scheduler } from '../../../../src/serve/schedule/scheduler.js';
import { FairSemaphore } from '../../../../src/serve/schedule/semaphore.js';
import { clockAt, done, job, memoryStore } from './scheduling.js';

const minute = 60_000;
const hour = 60 * minute;

it('a run that makes room goes on behind those who waited, also after a restart', async () => {
  const clock = clockAt('2026-05-01T00:00:00Z');
  const passUntil = (end: number) => clock.run(clock.sleep(end - clock.monotonic()));
  const turns = new FairSemaphore(1, clock);
  const order: string[] = [];
  const schedulerOf = (name: string, ms: number, memory = memoryStore()) => {
    const run: RunJob = async (_job, { stop, trigger }) => {
      order.push(`${name} ${trigger}`);
      await clock.sleep(ms, stop).catch(() => undefined);
      return stop.aborted ? { ...done, outcome: 'stopped' } : done;
    };
    const jobs = [job('nightly', '0 3 * * *')];
    return new Scheduler({ jobs, run, turns, clock, log: silentLog, memory, shutdownSeconds: 25 });
  };
  const memory = memoryStore();
  const long = schedulerOf('long', 1_000 * hour, memory);
  const [first, second] = [schedulerOf('first', hour / 2), schedulerOf('second', hour / 2)];
  for (const one of [long, first, second]) await one.start();
  await passUntil(minute);
  expect(first.view()).toMatchObject({ running: null, waiting: [{ job: 'nightly' }] });
  await passUntil(2.25 * hour);
  expect(order).toEqual(['long catch-up', 'first catch-up', 'second catch-up', 'long retry']);
  expect(long.view().history[0]).toMatchObject({
    outcome: 'stopped',
    message: expect.stringContaining('made room'),
  });
  await long.stop();
  const again = schedulerOf('again', minute, memory);
  await again.start();
  await passUntil(2.5 * hour);
  expect(order.at(-1)).toBe('again retry');
});
