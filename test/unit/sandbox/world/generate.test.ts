import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSizes, generate } from '../../../../src/sandbox/world/generate.js';
import { smallSizes } from '../small-world.js';
import { contentOf, contradictions } from './integrity.js';

const world = generate({ ...defaultSizes, messages: 3_000 });
describe('generate', () => {
  it('gives the same bytes for the same seed, and different bytes for another', () => {
    const hash = (seed: number) =>
      createHash('sha256')
        .update(contentOf(generate({ ...smallSizes, seed })))
        .digest('hex');
    expect(hash(1)).toBe(hash(1));
    expect(hash(1)).not.toBe(hash(2));
  });

  it('has the topic that the README explains, once', () => {
    const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
    const [, title = 'none'] = /explain topic "([^"]+)"/.exec(readme) ?? [];
    const titles = [...generate(defaultSizes).topics.values()].map((topic) => topic.title ?? '');
    expect(titles.filter((one) => one.includes(title))).toHaveLength(1);
  });

  it('works for organizations of any small size, including empty ones', () => {
    const size = (max: number) => fc.integer({ min: 0, max });
    const sizes = fc.record({
      seed: fc.integer(),
      topics: size(20),
      people: size(25),
      companies: size(8),
      messages: size(120),
      channels: size(5),
      stories: size(4),
      templates: size(10),
      weeks: fc.integer({ min: 1, max: 60 }),
      now: fc.constant(defaultSizes.now),
    });
    fc.assert(
      fc.property(sizes, (drawn) => {
        const made = generate(drawn);
        expect(contradictions(made)).toEqual([]);
        expect(made.topics.size).toBe(drawn.topics);
        expect(made.people.size).toBe(drawn.people);
        expect(made.companies.size).toBe(drawn.companies);
        const canSpeak = drawn.people > 0 && drawn.channels > 0 && made.messages.size > 0;
        expect(made.messages.size).toBe(canSpeak ? drawn.messages : 0);
      }),
      { numRuns: 20 },
    );
  });
});

it('a generated organization contains no contradictions, and no text that no program can store or whose places were not filled in', () => {
  expect(contradictions(world)).toEqual([]);
  expect(contentOf(world)).not.toMatch(/\\ud[89a-f]/);
  const place = /\{(subject|area|n|day|team|version|browser|ticket|code|time)\}/i;
  const texts = [...world.messages.values()].map(({ content }) => content);
  expect(texts.filter((text) => place.test(text))).toEqual([]);
});
