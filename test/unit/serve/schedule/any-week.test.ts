import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lastDue } from '../../../../src/serve/schedule/cron.js';
import type { RunRecord } from '../../../../src/serve/schedule/record.js';
import type { RunJob } from '../../../../src/serve/schedule/scheduler.js';
import { propertyRuns } from '../../../support/runs.js';
import { clockAt, done, job, memoryStore, scheduling } from './scheduling.js';

const minute = 60_000;
const crons = ['*/20 * * * *', '0 * * * *', '30 2 * * *', '15 1,2,3 * * *', '0 3 * * 0', '*/45 1-4 * * *'];
const zones = ['UTC', 'Europe/Berlin', 'America/New_York'];
/** The days before clocks change in one of the zones. */
const starts = ['2026-03-07T12:00Z', '2026-03-28T12:00Z', '2026-10-24T12:00Z', '2026-10-31T12:00Z'];

const aJob = fc.record({
  cron: fc.constantFrom(...crons),
  timezone: fc.constantFrom(...zones),
});
const someJobs = fc
  .array(aJob, { minLength: 1, maxLength: 3 })
  .map((all) => all.map(({ cron, ...more }, index) => job(`job-${index}`, cron, more)));

it('in any week, never two run at a time or one twice, and the last due moment is settled, through kills and sleep', async () => {
  const event = fc.constantFrom('restart', 'kill', 'sleep', 'pass');
  const events = fc.array(fc.tuple(event, fc.integer({ min: 1, max: 600 })), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      someJobs,
      fc.constantFrom(...starts),
      events,
      fc.nat(60),
      async (jobs, start, all, long) => {
        const clock = clockAt(start);
        const memory = memoryStore();
        const records: RunRecord[] = [];
        let [life, running] = [0, 0];
        const begin = () => {
          const mine = ++life;
          running = 0;
          const run: RunJob = async (_, { stop }) => {
            expect(++running).toBe(1);
            await clock.sleep(long * minute, stop).finally(() => {
              if (mine === life) running--;
            });
            return done;
          };
          const alive = <T>(value: T) => (mine === life ? value : new Promise<never>(() => undefined));
          return scheduling(jobs, {
            clock,
            run: (...call) => run(...call).then(alive),
            memory,
            onEnd: (record) => records.push(record),
          });
        };
        let worker = begin();
        await worker.scheduler.start();
        for (const [what, minutes] of all) {
          if (what === 'sleep') clock.skip(minutes * minute);
          else await worker.pass(minutes * minute);
          if (what !== 'restart' && what !== 'kill') continue;
          // What a killed process was about to say is never heard.
          if (what === 'kill') life++;
          const ended = worker.scheduler.stop();
          if (what === 'restart') await clock.run(ended);
          worker = begin();
          await worker.scheduler.start();
        }
        await worker.pass(3 * 60 * minute);
        await clock.run(worker.scheduler.stop());
        const last = scheduling(jobs, { clock, memory, onEnd: (record) => records.push(record) });
        await clock.run(last.scheduler.runOnce());

        for (const one of jobs) {
          const final = records.filter(({ job, outcome }) => job === one.name && outcome !== 'interrupted');
          const dues = final.map(({ dueAt }) => dueAt);
          expect(new Set(dues).size).toBe(dues.length);
          expect([...dues].sort().at(-1)).toBe(new Date(lastDue(one, clock.now())!).toISOString());
        }
      },
    ),
    { numRuns: propertyRuns(2, 100) },
  );
});
