import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSizes, generate } from '../../../../src/sandbox/world/generate.js';
import { planTopics } from '../../../../src/sandbox/world/topics.js';
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
      {
        numRuns: 20,
        // A topic that was created a millisecond after its last message.
        examples: [
          [
            {
              ...{ seed: 1470376496, topics: 5, people: 1, companies: 0, messages: 6, channels: 2 },
              ...{ stories: 0, templates: 0, weeks: 1, now: defaultSizes.now },
            },
          ],
        ],
      },
    );
  });
});

describe('problems that were noticed twice', () => {
  const sizes = { ...defaultSizes, topics: 60, people: 40, companies: 6, messages: 600 };

  it('are the last topics of an organization, in pairs, and leave the others as they are', () => {
    const plan = (duplicates: number) => planTopics({ ...sizes, duplicates }, 60, 3);
    const plans = plan(5);
    const second = plans.filter(({ first }) => first !== undefined);
    expect(second.map(({ index }) => index)).toEqual([51, 53, 55, 57, 59]);
    expect(second.map(({ first }) => plans.findIndex(({ topic }) => topic.id === first))).toEqual([
      ...[50, 52, 54, 56, 58],
    ]);
    expect(plans.slice(0, 50)).toEqual(plan(0).slice(0, 50));
    expect(new Set(plans.map(({ topic }) => topic.title)).size).toBe(63);
    expect(contradictions(generate({ ...sizes, duplicates: 5 }))).toEqual([]);
  });

  it('are one for every 30 topics, none in a small organization, and never more than there are', () => {
    const pairs = (topics: number, duplicates?: number) =>
      planTopics({ ...sizes, duplicates }, topics, 0).filter(({ first }) => first !== undefined).length;
    expect([pairs(49), pairs(60), pairs(400), pairs(400, 0), pairs(400, 1_000), pairs(7, 10)]).toEqual([
      ...[0, 2, 13, 0, 154, 3],
    ]);
  });
});

it('a generated organization contains no contradictions, and no text that no program can store or whose places were not filled in', () => {
  expect(contradictions(world)).toEqual([]);
  expect(contentOf(world)).not.toMatch(/\\ud[89a-f]/);
  const place = /\{(subject|area|n|day|team|version|browser|ticket|code|time)\}/i;
  const texts = [...world.messages.values()].map(({ content }) => content);
  expect(texts.filter((text) => place.test(text))).toEqual([]);
});
