import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/base/clock.js';
import { silentLog } from '../../../../src/base/log.js';
import type { RunRecord } from '../../../../src/serve/schedule/record.js';
import { type RunJob, Scheduler } from '../../../../src/serve/schedule/scheduler.js';
import { Turns } from '../../../../src/serve/schedule/turns.js';
import { propertyRuns } from '../../../support/runs.js';
import { done, job, memoryStore } from './scheduling.js';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-05-01T00:00:00Z');

/** Time for a crowd: whoever wakes at the same moment wakes together. */
class CrowdClock implements Clock {
  #now = 0;
  readonly #sleepers = new Map<number, Set<() => void>>();
  now = () => start + this.#now;
  monotonic = () => this.#now;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const at = this.#now + Math.max(0, Math.ceil(ms));
    const together = this.#sleepers.get(at) ?? new Set();
    this.#sleepers.set(at, together);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const wake = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        together.delete(wake);
        reject(signal?.reason);
      };
      together.add(wake);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  async passUntil(end: number): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const next = Math.min(...this.#sleepers.keys());
      if (next > end) return;
      this.#now = next;
      const woken = this.#sleepers.get(next) ?? [];
      this.#sleepers.delete(next);
      for (const wake of woken) wake();
    }
  }
}

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Fleet {
  readonly organizations: number;
  readonly parallel: number;
  /** A usual night of one of them. */
  readonly minutes: number;
  /** One in so many has a first pull that takes a week. */
  readonly newcomers: number;
  readonly seed: number;
}

/** Three nights of all, each as long as chance says; a first pull works until it is told to stop. */
async function nights({ organizations, parallel, minutes, newcomers, seed }: Fleet) {
  const clock = new CrowdClock();
  const turns = new Turns(parallel, clock);
  const random = randomFrom(seed);
  let atWork = 0;
  let most = 0;
  const fleet = Array.from({ length: organizations }, (_, index) => {
    const isNew = index % newcomers === 0;
    const worked = { ms: 0 };
    const records: RunRecord[] = [];
    const run: RunJob = async (_job, { stop }) => {
      atWork += 1;
      most = Math.max(most, atWork);
      const from = clock.monotonic();
      const ms = isNew ? 168 * hour : minutes * minute * (0.5 + random());
      await clock.sleep(ms, stop).catch(() => undefined);
      worked.ms += clock.monotonic() - from;
      atWork -= 1;
      return stop.aborted ? { ...done, outcome: 'stopped' } : done;
    };
    const cron = `${Math.floor(random() * 60)} ${1 + Math.floor(random() * 4)} * * *`;
    const scheduler = new Scheduler({
      ...{ jobs: [job('nightly', cron, { catchUp: false })], run, turns, clock, log: silentLog },
      ...{
        memory: memoryStore(),
        shutdownSeconds: 25,
        lookMs: hour,
        onEnd: (record) => records.push(record),
      },
    });
    return { scheduler, records, worked, isNew };
  });
  for (const { scheduler } of fleet) await scheduler.start();
  await clock.passUntil(72 * hour);
  return { fleet, most };
}

describe('the nights of many organizations', () => {
  const fleets: readonly Fleet[] = [
    { organizations: 30, parallel: 2, minutes: 10, newcomers: 10, seed: 1 },
    { organizations: 30, parallel: 2, minutes: 10, newcomers: 10, seed: 2 },
    { organizations: 1_000, parallel: 8, minutes: 2, newcomers: 100, seed: 3 },
  ];
  it.each(fleets.slice(0, propertyRuns(1, 3)))(
    '$organizations of them, $parallel at a time: each is run, and none starves (seed $seed)',
    async (one) => {
      const { fleet, most } = await nights(one);
      expect(most).toBe(one.parallel);
      let latest = 0;
      for (const { records, isNew } of fleet.filter(({ isNew }) => !isNew)) {
        expect(isNew).toBe(false);
        expect(records.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
        for (const { dueAt, endedAt } of records)
          latest = Math.max(latest, Date.parse(endedAt) - Date.parse(dueAt ?? ''));
      }
      // The places are never idle while somebody waits, so that all nights and a turn of each newcomer bound the wait.
      const newcomers = fleet.filter(({ isNew }) => isNew);
      const all = (one.organizations * one.minutes * 1.5 * minute + newcomers.length * hour) / one.parallel;
      expect(latest).toBeLessThan(all + hour);
      // Long pulls share what the nights leave.
      const worked = newcomers.map(({ worked }) => worked.ms);
      expect(Math.min(...worked)).toBeGreaterThan(0.5 * Math.max(...worked));
      expect(Math.min(...worked)).toBeGreaterThan(5 * hour);
    },
  );
});

it('a run that makes room goes on behind those who waited, also after a restart', async () => {
  const clock = new CrowdClock();
  const turns = new Turns(1, clock);
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
  await clock.passUntil(minute);
  expect(first.view()).toMatchObject({ running: null, waiting: [{ job: 'nightly' }] });
  await clock.passUntil(2.25 * hour);
  expect(order).toEqual(['long catch-up', 'first catch-up', 'second catch-up', 'long retry']);
  expect(long.view().history[0]).toMatchObject({
    outcome: 'stopped',
    message: expect.stringContaining('made room'),
  });
  await long.stop();
  const again = schedulerOf('again', minute, memory);
  await again.start();
  await clock.passUntil(2.5 * hour);
  expect(order.at(-1)).toBe('again retry');
});
