import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Folders } from '../support/signalhouse.js';
import { killPoints } from './kill-points.js';
import { Killing } from './killing.js';

/**
 * What a kill costs: no file, and few requests. KILL_RUNS=50 is for a night: every point, and so many moments. Without it,
 * one point of each kind that has broken something before.
 */
const { KILL_RUNS, KILL_SEED = '3' } = process.env;
const moments = fc.sample(
  fc.record({
    from: fc.constantFrom('nothing' as const, 'yesterday' as const),
    /** The share of its time that the run is given. */
    share: fc.double({ min: 0.02, max: 1, noNaN: true }),
  }),
  { numRuns: Number(KILL_RUNS ?? 0), seed: Number(KILL_SEED) },
);

const folders = new Folders();
let own: Folders;
let killing: Killing;
beforeAll(async () => {
  killing = await Killing.in(folders);
});
beforeEach(() => {
  own = new Folders();
});
afterEach(() => own.remove());
afterAll(async () => {
  await killing.sandbox.stop();
  folders.remove();
});

describe.each(killPoints.filter(({ always }) => always || KILL_RUNS))(
  'kill -9 in a $command from $from, $name',
  ({ command, from, at, publishes, compacts }) => {
    it('breaks no file, loses nothing, and nothing committed is fetched again', async () => {
      const victim = killing.directory(from, own.make());
      const { signal, code, stderr } = await victim.killed(command, at, compacts);
      // A program that ends otherwise has never come to that point: its name is out of date.
      expect({ signal, code, stderr }).toMatchObject({ signal: 'SIGKILL' });
      expect(await victim.wounds(publishes ? 'new' : 'old')).toEqual([]);
      expect(await victim.recover()).toEqual([]);
    });
  },
);

describe.each(moments)('kill -9 at any moment, from $from, $share', ({ from, share }) => {
  it('breaks no file, loses nothing, and nothing committed is fetched again', async () => {
    const { ms } = await killing.undisturbed(from);
    const victim = killing.directory(from, own.make());
    const { signal, code } = await victim.killedAfter(share * ms);
    // A run may have ended by then, but it does not fail.
    expect(signal === 'SIGKILL' || code === 0).toBe(true);
    expect(await victim.wounds('either')).toEqual([]);
    expect(await victim.recover()).toEqual([]);
  });
});
