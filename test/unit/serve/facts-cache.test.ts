import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Facts } from '../../../src/base/facts.js';
import { cacheFacts } from '../../../src/serve/facts-cache.js';
import { SimulatedClock } from '../../support/simulated-clock.js';
import { someFacts } from './serving.js';

/** A cache in simulated time whose readings the test answers. */
function cached() {
  const clock = new SimulatedClock();
  const readings: { resolve: (facts: Facts) => void; reject: (error: Error) => void }[] = [];
  const lines: string[] = [];
  const cache = cacheFacts({
    facts: () => new Promise((resolve, reject) => readings.push({ resolve, reject })),
    log: pino({}, { write: (line) => void lines.push(line) }),
    clock,
    maxAgeMs: 5_000,
  });
  return { cache, clock, readings, lines };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const other: Facts = { ...someFacts, queue: { queued: 99 } };

it('waits for the first facts: what is a little older is shown while newer is read', async () => {
  const { cache, clock, readings } = cached();
  const waiting = [cache.latest(), cache.latest()];
  expect([readings.length, cache.last]).toEqual([1, null]);
  readings[0]!.resolve(someFacts);
  expect(await Promise.all(waiting)).toEqual(Array(2).fill({ facts: someFacts, readAt: clock.now() }));

  clock.skip(4_999);
  await cache.latest();
  expect(readings).toHaveLength(1);
  clock.skip(1);
  expect((await cache.latest())?.facts).toBe(someFacts);
  await cache.latest();
  expect(readings).toHaveLength(2);
  readings[1]!.resolve(other);
  await settle();
  expect((await cache.latest())?.facts).toBe(other);
});

it('waits for facts when nobody has looked for a minute, as after a night, but not for a reading that hangs', async () => {
  const { cache, clock, readings } = cached();
  const first = cache.latest();
  readings[0]!.resolve(someFacts);
  await first;
  for (const hangs of [false, true]) {
    clock.skip(60_000);
    const asked = cache.latest();
    if (!hangs) readings[1]!.resolve(other);
    expect((await (hangs ? clock.run(asked) : asked))?.facts).toBe(other);
    expect(clock.sleeping).toBe(0);
  }
});

it('keeps the last facts when a reading fails, says why, and says it once', async () => {
  const { cache, clock, readings, lines } = cached();
  const first = cache.latest();
  readings[0]!.reject(new Error('no disk'));
  expect([await first, cache.problem]).toEqual([null, 'no disk']);
  for (const reading of [1, 2, 3]) {
    clock.skip(5_000);
    const asked = cache.latest();
    if (reading === 2) readings[reading]!.resolve(someFacts);
    else readings[reading]!.reject(new Error('no disk'));
    await asked;
    await settle();
    expect([cache.last?.facts ?? null, cache.problem]).toEqual(
      [
        [null, 'no disk'],
        [someFacts, null],
        [someFacts, 'no disk'],
      ][reading - 1],
    );
  }
  expect(lines).toHaveLength(2);
});
