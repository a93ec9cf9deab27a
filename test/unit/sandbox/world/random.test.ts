import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random, Zipf } from '../../../../src/sandbox/world/random.js';

describe('Random', () => {
  it('gives the same numbers in every version', () => {
    const random = new Random(1, 'golden');
    expect([random.bits(), random.whole(1, 100), random.uuid(), random.digits(12)]).toMatchInlineSnapshot(`
      [
        2304645406,
        92,
        "a88f41d8-085c-4caa-9dc5-09070d851c2c",
        "558066349542",
      ]
    `);
  });

  it('repeats for the same key and differs for another', () => {
    fc.assert(
      fc.property(fc.integer(), fc.string(), fc.integer(), (seed, name, index) => {
        const draw = (...key: (string | number)[]) => {
          const random = new Random(...key);
          return Array.from({ length: 4 }, () => random.bits());
        };
        expect(draw(seed, name, index)).toEqual(draw(seed, name, index));
        expect(draw(seed, name, index)).not.toEqual(draw(seed, name, index + 1));
        expect(draw(seed, name, index)).not.toEqual(draw(seed, `${name}x`, index));
      }),
    );
  });

  it('spreads evenly, also over keys that differ in one digit', () => {
    const buckets = new Array<number>(10).fill(0);
    for (let i = 0; i < 20_000; i++) {
      const bucket = new Random(7, 'spread', i).whole(0, 9);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    for (const count of buckets) expect(Math.abs(count - 2000)).toBeLessThan(250);
  });

  it('makes UUIDs of version 4, all different', () => {
    const random = new Random(1, 'uuids');
    const made = Array.from({ length: 5000 }, () => random.uuid());
    for (const id of made)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(made).size).toBe(made.length);
  });

  it('samples without repetition, and never more than exist', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer()), fc.integer({ min: -1, max: 30 }), (items, count) => {
        const taken = new Random(1, 'sample', count).sample(items, count);
        expect(taken).toHaveLength(Math.min(items.length, Math.max(0, count)));
        expect(new Set(taken).size).toBe(taken.length);
        for (const item of taken) expect(items).toContain(item);
      }),
    );
  });

  it('draws by weight, and never an item of weight 0', () => {
    const random = new Random(3, 'weights');
    const drawn = Array.from({ length: 3000 }, () => random.weighted({ never: 0, often: 9, rare: 1 }));
    expect(drawn).not.toContain('never');
    expect(drawn.filter((key) => key === 'rare').length).toBeGreaterThan(200);
    expect(drawn.filter((key) => key === 'rare').length).toBeLessThan(420);
  });
});

describe('Zipf', () => {
  it('draws the first far more often than the last, and every item at some time', () => {
    const random = new Random(5, 'skew');
    const items = Array.from({ length: 20 }, (_, i) => i);
    const skewed = new Zipf(items, 1);
    const counts = new Array<number>(20).fill(0);
    for (let i = 0; i < 10_000; i++) {
      const item = skewed.draw(random);
      counts[item] = (counts[item] ?? 0) + 1;
    }
    expect(counts[0]).toBeGreaterThan(10 * (counts[19] ?? 0));
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  it('refuses to draw from an empty list', () => {
    expect(() => new Zipf([], 1).draw(new Random(1))).toThrow(RangeError);
  });
});
