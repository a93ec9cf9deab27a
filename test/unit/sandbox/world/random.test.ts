import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../../src/sandbox/world/random.js';

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
});
