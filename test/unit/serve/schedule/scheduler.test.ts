import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { LockedError, OutageError, RefusedError } from '../../../../src/base/errors.js';
import type { JobResult } from '../../../../src/serve/schedule/record.js';
import type { RunJob } from '../../../../src/serve/schedule/scheduler.js';
import { brief, clockAt, done, job, memoryStore, scheduling } from './scheduling.js';

const minute = 60_000;
const hour = 60 * minute;
const nightly = job('nightly', '0 3 * * *');

describe('at its time', () => {
  it('is overdue from the first due time after its last success, until it succeeds again', async () => {
    const clock = clockAt('2026-05-01T02:00:00Z');
    let result: JobResult = { outcome: 'failed', exitCode: 1, message: 'no answer' };
    const { scheduler, pass } = scheduling([job('nightly', '0 3 * * *', { catchUp: false })], {
      clock,
      run: async () => result,
    });
    const overdueSince = () => scheduler.view().jobs[0]?.overdueSince;
    await scheduler.start();
    expect(overdueSince()).toBeNull();
    await pass(2 * hour);
    // It failed at three: that run is the first that is known of.
    expect(overdueSince()).toBeNull();
    await pass(48 * hour);
    expect(overdueSince()).toBe('2026-05-02T03:00:00.000Z');
    result = done;
    await pass(24 * hour);
    expect([scheduler.view().jobs[0]?.lastSuccessAt, overdueSince()]).toEqual([
      '2026-05-04T03:00:00.000Z',
      null,
    ]);
    await scheduler.stop();
  });

  it('goes on after a job that failed, a listener that threw, and a memory that cannot be written', async () => {
    const clock = clockAt('2026-05-01T00:30:00Z');
    const run: RunJob = () =>
      Promise.reject(new RefusedError('the key is refused', { hint: 'Get another.' }));
    const memory = { load: () => Promise.resolve(null), save: () => Promise.reject(new Error('disk full')) };
    const heard: string[] = [];
    const onEnd = ({ message }: { message: string }) => {
      heard.push(message);
      throw new Error('listener');
    };
    const { scheduler, pass } = scheduling([job('hourly', '@hourly')], { clock, run, memory, onEnd });
    await scheduler.start();
    await pass(2 * hour);
    expect(heard).toEqual(Array(3).fill('the key is refused. Get another.'));
    expect(scheduler.view().history[0]).toMatchObject({ outcome: 'failed', exitCode: 5 });
    await scheduler.stop();
  });
});

describe('a job that the API does not answer', () => {
  const outage = new OutageError('the API has been unavailable for 1 min', { hint: 'Run again later.' });
  const remembers = (due: string) => memoryStore({ jobs: { nightly: settled(due) }, history: [] });

  it('is tried again after pauses that double up to the longest, until it is due again', async () => {
    const clock = clockAt('2026-05-01T02:59:00Z');
    const memory = remembers('2026-04-30T03:00:00.000Z');
    let isDown = true;
    const run: RunJob = async () => {
      if (isDown) throw outage;
      return done;
    };
    const { scheduler, records, pass } = scheduling([nightly], { clock, memory, run });
    await scheduler.start();
    await pass(4 * hour);
    expect(records.map(({ trigger, startedAt }) => `${trigger} ${startedAt?.slice(11, 16)}`)).toEqual([
      'schedule 03:00',
      'retry 03:01',
      'retry 03:03',
      'retry 03:07',
      'retry 03:15',
      'retry 03:31',
      'retry 04:03',
      'retry 05:03',
      'retry 06:03',
    ]);
    const since = 'no answer since 2026-05-01 03:00:00Z';
    expect(records[0]?.message).toBe(
      `${outage.message}. Run again later; ${since}; the next try is at 2026-05-01 03:01:00Z`,
    );
    expect(records.at(-1)?.message).toContain(`${since}; the next try is at 2026-05-01 07:03:00Z`);
    expect(scheduler.view().jobs[0]).toMatchObject({
      nextAt: '2026-05-01T07:03:00.000Z',
      unavailableSince: '2026-05-01T03:00:00.000Z',
    });
    await pass(20.05 * hour);
    // The try that would come at 03:03, after the one at 02:03, is left to the schedule; the next one comes after the same pause.
    expect(brief(records).slice(-2)).toEqual([
      'nightly retry unavailable -',
      'nightly schedule unavailable 03:00',
    ]);
    expect(scheduler.view().jobs[0]?.nextAt).toBe('2026-05-02T04:00:00.000Z');
    isDown = false;
    await pass(hour);
    expect(brief(records).at(-1)).toBe('nightly retry done -');
    expect(scheduler.view().jobs[0]?.unavailableSince).toBeNull();
    await scheduler.stop();
  });

  it('counts from anew once the API has answered it, and is unavailable since the first failed attempt', async () => {
    const clock = clockAt('2026-05-01T02:59:00Z');
    const memory = remembers('2026-04-30T03:00:00.000Z');
    const run: RunJob = async (_job, { trigger, progress, outage: tell }) => {
      if (trigger === 'schedule') throw outage;
      progress({ phase: 'lists', done: 0, total: null });
      await clock.sleep(10 * minute);
      tell({ forMs: 2 * minute, leftMs: 0, reason: '503' });
      throw outage;
    };
    const { scheduler, records, pass } = scheduling([nightly], { clock, memory, run });
    await scheduler.start();
    await pass(5 * minute);
    expect(scheduler.view().jobs[0]?.unavailableSince).toBeNull();
    await pass(7 * minute);
    expect(records.map(({ unavailableSince }) => unavailableSince)).toEqual([
      '2026-05-01T03:00:00.000Z',
      '2026-05-01T03:09:00.000Z',
    ]);
    expect(scheduler.view().jobs[0]?.nextAt).toBe('2026-05-01T03:12:00.000Z');
    await scheduler.stop();
  });

  it('is tried again after a restart, and not any more once a try ended otherwise', async () => {
    const clock = clockAt('2026-05-01T02:59:00Z');
    const memory = remembers('2026-04-30T03:00:00.000Z');
    const failing: RunJob = () => Promise.reject(outage);
    const first = scheduling([nightly], { clock, memory, run: failing });
    await first.scheduler.start();
    await first.pass(2 * minute);
    await first.scheduler.stop();
    clock.skip(hour);
    const second = scheduling([nightly], { clock, memory });
    await second.scheduler.start();
    await second.pass(5 * hour);
    expect(brief(second.records)).toEqual(['nightly retry done -']);
    expect(second.scheduler.view().jobs[0]?.nextAt).toBe('2026-05-02T03:00:00.000Z');
    await second.scheduler.stop();
  });

  it('is not tried again after any other failure, or in serve --once', async () => {
    const clock = clockAt('2026-05-01T02:59:00Z');
    const refused: RunJob = () => Promise.reject(new RefusedError('no'));
    const memory = remembers('2026-04-30T03:00:00.000Z');
    const { scheduler, records, pass } = scheduling([nightly], { clock, memory, run: refused });
    await scheduler.start();
    await pass(5 * hour);
    expect(records).toHaveLength(1);
    await scheduler.stop();
    const once = scheduling([nightly], { clock, run: () => Promise.reject(outage) });
    expect(await once.scheduler.runOnce()).toMatchObject([
      { trigger: 'once', outcome: 'failed', message: `${outage.message}. ${outage.hint}` },
    ]);
  });
});

describe('what was missed', () => {
  it('is announced before it runs: when it was due, and what it does now', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
    const memory = memoryStore({ jobs: { nightly: settled('2026-05-01T03:00:00.000Z') }, history: [] });
    const jobs = [nightly, job('new', '0 4 * * *', { run: 'sync+push' })];
    const { scheduler } = scheduling(jobs, { clock: clockAt('2026-05-20T10:00:00Z'), memory, log });
    await scheduler.start();
    await scheduler.stop();
    const [missed, started] = lines;
    expect(missed).toMatch(/^nightly runs once .* its run of 2026-05-20 03:00:00Z was missed: it reads/);
    expect(started).toBe('nightly starts');
    expect(lines.find((line) => line.startsWith('new runs'))).toMatch(
      /never ran before: .* sends the changes/,
    );
  });

  it('is left alone with catchUp off, and recorded, except before the very first run', async () => {
    const clock = clockAt('2026-05-20T10:00:00Z');
    const memory = memoryStore({ jobs: { nightly: settled('2026-05-01T03:00:00.000Z') }, history: [] });
    const jobs = [nightly, job('new', '0 4 * * *')].map((one) => ({ ...one, catchUp: false }));
    const { scheduler, records, pass } = scheduling(jobs, { clock, memory });
    await scheduler.start();
    await pass(hour);
    expect(brief(records)).toEqual(['nightly catch-up skipped 03:00']);
    await scheduler.stop();
  });

  it('is not made out of a clock that is set back: a little and nothing runs twice, far and nothing stands still', async () => {
    const clock = clockAt('2026-05-20T10:30:00Z');
    const { scheduler, records, pass } = scheduling([job('hourly', '@hourly')], { clock });
    await scheduler.start();
    await pass(31 * minute);
    clock.wallAheadMs -= 2 * minute;
    await pass(30 * minute);
    expect(brief(records)).toEqual(['hourly catch-up done 10:00', 'hourly schedule done 11:00']);
    clock.wallAheadMs -= 365 * 24 * hour;
    await pass(hour);
    expect(records).toHaveLength(3);
    await scheduler.stop();
  });
});

describe('a memory that a clock far ahead wrote', () => {
  it('has the job run once after the next start, and not at each one', async () => {
    const clock = clockAt('2026-05-20T10:30:00Z');
    const memory = memoryStore({ jobs: { nightly: settled('2026-06-20T03:00:00.000Z') }, history: [] });
    const starts = [];
    for (let start = 0; start < 3; start++)
      starts.push((await scheduling([nightly], { clock, memory }).scheduler.runOnce()).length);
    expect(starts).toEqual([1, 0, 0]);
  });
});

describe('one at a time', () => {
  const long: RunJob = (one, { stop }) =>
    one.name === 'long' ? clock.sleep(90 * minute, stop).then(() => done) : Promise.resolve(done);
  let clock = clockAt('2026-05-20T00:00:00Z');
  const waits = job('waits', '30 1 * * *');
  const often = job('often', '15,45 1 * * *');
  const together = job('together', '0 1 * * *');

  it('lets a job wait, but not twice, and says why; what is due together runs in turn', async () => {
    clock = clockAt('2026-05-20T00:59:00Z');
    const first = job('long', '0 1 * * *');
    const known = settled('2026-05-19T23:59:59.000Z');
    const jobs = { long: known, waits: known, often: known, together: known };
    const memory = memoryStore({ jobs, history: [] });
    const planned = [first, waits, often, together];
    const { scheduler, records, pass } = scheduling(planned, { clock, run: long, memory });
    await scheduler.start();
    await pass(61 * minute);
    expect(scheduler.view()).toMatchObject({ running: { job: 'long' } });
    expect(scheduler.view().waiting.map((run) => run.job)).toEqual(['together', 'often', 'waits']);
    await pass(hour);
    expect(brief(records)).toEqual([
      'often schedule skipped 01:45',
      'long schedule done 01:00',
      'together schedule done 01:00',
      'often schedule done 01:15',
      'waits schedule done 01:30',
    ]);
    expect(records[0]?.message).toBe('a run of it has been waiting since 2026-05-20T01:15:00.000Z');
    await scheduler.stop();
  });

  it('takes what somebody asks for, once', async () => {
    clock = clockAt('2026-05-20T04:00:00Z');
    const known = settled('2026-05-20T03:59:59.000Z');
    const memory = memoryStore({ jobs: { long: known, waits: known }, history: [] });
    const jobs = [job('long', '0 1 * * *'), waits];
    const { scheduler, records, pass } = scheduling(jobs, { clock, memory, run: long });
    await scheduler.start();
    expect(await scheduler.ask('nobody')).toBe('unknown');
    expect(await scheduler.ask('long')).toBe('accepted');
    expect(await scheduler.ask('long')).toBe('busy');
    expect(await scheduler.ask('waits')).toBe('accepted');
    expect(await scheduler.ask('waits')).toBe('busy');
    await pass(2 * hour);
    expect(brief(records)).toEqual(['long manual done -', 'waits manual done -']);
    await scheduler.stop();
    expect(await scheduler.ask('long')).toBe('stopping');
  });

  it.each(['a shutdown', 'a kill'])(
    'runs at the next start what somebody asked for, after %s',
    async (end) => {
      clock = clockAt('2026-05-20T04:00:00Z');
      const known = settled('2026-05-20T03:59:59.000Z');
      const memory = memoryStore({ jobs: { long: known, waits: known }, history: [] });
      const jobs = [job('long', '0 1 * * *', { catchUp: false }), waits];
      const first = scheduling(jobs, { clock, memory, run: long });
      await first.scheduler.start();
      for (const { name } of jobs) expect(await first.scheduler.ask(name)).toBe('accepted');
      await first.pass(minute);
      if (end === 'a shutdown') {
        await first.scheduler.stop();
        expect(brief(first.records)).toEqual(['long manual interrupted -']);
      }
      await clock.run(clock.sleep(minute));
      const second = scheduling(jobs, { clock, memory });
      await second.scheduler.start();
      await second.pass(minute);
      expect(brief(second.records)).toEqual(['long retry done -', 'waits retry done -']);
      await second.scheduler.stop();
      const third = scheduling(jobs, { clock, memory });
      await third.scheduler.start();
      await third.pass(minute);
      expect(third.records).toEqual([]);
      await third.scheduler.stop();
    },
  );

  it('holds jobs back while other work has the warehouse, and the other way round', async () => {
    clock = clockAt('2026-05-20T00:59:00Z');
    const known = settled('2026-05-20T00:00:00.000Z');
    const memory = memoryStore({ jobs: { long: known }, history: [] });
    const { scheduler, records, pass } = scheduling([job('long', '0 1 * * *')], { clock, run: long, memory });
    await scheduler.start();
    const work = scheduler.exclusively('an import', () => clock.sleep(5 * minute).then(() => 'imported'));
    await expect(scheduler.exclusively('another', () => Promise.resolve())).rejects.toThrow('an import');
    expect(await clock.run(work)).toBe('imported');
    await pass(minute);
    expect(scheduler.view().running?.since).toBe('2026-05-20T01:04:00.000Z');
    const refused = scheduler.exclusively('an import', () => Promise.resolve());
    await expect(refused).rejects.toThrow(LockedError);
    await expect(refused).rejects.toThrow('long has been running since');
    await scheduler.stop();
    expect(brief(records)).toEqual(['long schedule interrupted 01:00']);
  });

  it('lets other work wait for its turn, which comes before that of any job; a shutdown ends the waiting', async () => {
    clock = clockAt('2026-05-20T00:00:00Z');
    const { scheduler, records, pass } = scheduling([job('long', '@yearly'), job('next', '@yearly')], {
      clock,
      run: long,
    });
    for (const name of ['long', 'next']) await scheduler.ask(name);
    const order: string[] = [];
    const visit = (name: string) =>
      scheduler.exclusively(name, async () => void order.push(`${name} after ${records.length}`), {
        wait: true,
      });
    const visits = Promise.all([visit('one'), visit('two')]);
    expect(order).toEqual([]);
    await pass(2 * hour);
    await visits;
    expect(order).toEqual(['one after 1', 'two after 1']);
    expect(brief(records)).toEqual(['long manual done -', 'next manual done -']);
    await scheduler.ask('long');
    const refused = visit('three');
    const stopping = scheduler.stop();
    await expect(refused).rejects.toThrow('shutting down');
    await stopping;
    expect(order).toHaveLength(2);
  });
});

it('runOnce runs what is due in order, and nothing else', async () => {
  const clock = clockAt('2026-05-20T10:00:00Z');
  const memory = memoryStore({ jobs: { nightly: settled('2026-05-20T03:00:00.000Z') }, history: [] });
  const jobs = [nightly, job('never-ran', '0 4 * * *', { catchUp: false }), job('hourly', '@hourly')];
  const { scheduler } = scheduling(jobs, { clock, memory });
  expect(brief(await clock.run(scheduler.runOnce()))).toEqual([
    'never-ran once done 04:00',
    'hourly once done 10:00',
  ]);
  const again = scheduling(jobs, { clock, memory });
  expect(await clock.run(again.scheduler.runOnce())).toEqual([]);
});

function settled(due: string) {
  return { handledDue: due, lastSuccessAt: null };
}
