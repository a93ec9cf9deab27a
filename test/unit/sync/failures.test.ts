import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GivenUp } from '../../../src/sync/failures.js';

/** Asks for `count` entities, in order, and returns the numbers of those that were asked for. */
async function asked(count: number, isBroken: (index: number) => boolean, concurrency = 1) {
  const givenUp = new GivenUp();
  const numbers: number[] = [];
  const entities = Array.from({ length: count }, (_, index) => ({
    endpoint: 'topic',
    entityId: String(index),
    index,
  }));
  await givenUp.askEach(entities, concurrency, {
    ask: async ({ index }) => {
      numbers.push(index);
      await new Promise(setImmediate);
      return isBroken(index) ? `${index} is broken` : null;
    },
  });
  return { numbers, givenUp };
}

describe('an endpoint whose entities fail', () => {
  test('is given up after ten in a row and three samples spread over the rest', async () => {
    const { numbers, givenUp } = await asked(100, () => true);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 25, 55, 85]);
    expect(givenUp.failures()).toMatchObject([
      { endpoint: 'topic', entityId: null, message: expect.stringContaining('87 more were not asked for') },
    ]);
  });

  test('costs 13 entities with 20 requests at once, and at most 34 once it has answered', async () => {
    const never = await asked(1_000, () => true, 20);
    expect(never.numbers).toHaveLength(13);
    const once = await asked(1_000, (index) => index > 0, 20);
    expect(once.numbers.length).toBeGreaterThan(13);
    expect(once.numbers.length).toBeLessThanOrEqual(1 + 34);
  });

  test('is not given up while a sample is answered, up to ten times', async () => {
    const one = await asked(100, (index) => index < 60);
    expect(one.numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(one.givenUp.failures()).toEqual([]);
    const many = await asked(10_000, (index) => index < 5_000);
    expect(many.numbers.length).toBeLessThanOrEqual(11 * 10 + 10 * 3);
    expect(many.givenUp.has('topic')).toBe(true);
  });

  test('keeps nobody who asks for it waiting when an error ends the samples', async () => {
    const givenUp = new GivenUp();
    const entities = Array.from({ length: 30 }, (_, index) => ({ endpoint: 'topic', entityId: `${index}` }));
    let count = 0;
    const ask = async () => {
      count += 1;
      const isStopped = count > 10;
      await new Promise(setImmediate);
      if (isStopped) throw new Error('stopped');
      return 'is broken';
    };
    await expect(givenUp.askEach(entities, 20, { ask })).rejects.toThrow('stopped');
  });

  test('is asked for each entity at most once, and for every one unless it is given up', async () => {
    const cases = fc.tuple(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 25 }));
    await fc.assert(
      fc.asyncProperty(cases, async ([broken, concurrency]) => {
        const { numbers, givenUp } = await asked(
          broken.length,
          (index) => broken[index] === true,
          concurrency,
        );
        expect(new Set(numbers).size).toBe(numbers.length);
        if (!givenUp.has('topic')) expect(numbers.length).toBe(broken.length);
      }),
    );
  });
});
