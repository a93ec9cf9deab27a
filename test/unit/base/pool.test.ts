import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pool } from '../../../src/base/pool.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('pool', () => {
  test('works on every item, never exceeds its concurrency, and starts in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 6 }), async (count, width) => {
        const started: number[] = [];
        let under = 0;
        let most = 0;
        await pool(
          Array.from({ length: count }, (_, index) => index),
          width,
          async (index) => {
            started.push(index);
            most = Math.max(most, ++under);
            for (let wait = index % 3; wait >= 0; wait -= 1) await turn();
            under -= 1;
          },
        );
        expect(started).toEqual(Array.from({ length: count }, (_, index) => index));
        expect(most).toBe(Math.min(count, width));
      }),
      { numRuns: 40 },
    );
  });

  test('after the first error no item starts; the error is thrown once the running items have settled', async () => {
    const settled: number[] = [];
    const work = pool([1, 2, 3, 4, 5, 6], 2, async (item) => {
      await turn();
      if (item === 2) throw new Error('two');
      await turn();
      settled.push(item);
    });
    await expect(work).rejects.toThrow('two');
    expect(settled).toContain(1);
    expect(settled).not.toContain(5);
  });
});
