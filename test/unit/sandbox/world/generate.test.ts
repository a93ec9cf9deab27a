import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSizes, generate } from '../../../../src/sandbox/world/generate.js';
import { contentOf, contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const world = generate(defaultSizes);
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

describe('a generated organization', () => {
  const topics = [...world.topics.values()];
  const messages = [...world.messages.values()];
  const groups = [...world.groups.values()];
  const people = [...world.people.values()];
  const companies = [...world.companies.values()];
  const authors = [...world.authors.values()];
  const texts = messages.map(({ content }) => content);

  it('contains no contradictions', () => {
    expect(contradictions(world)).toEqual([]);
  });

  /** What other tests rely on: each case is there. */
  it.each<[string, boolean]>([
    ['topics that were archived in the migration', topics.some((t) => t.migrated && !t.isV2)],
    ['topics with a successor', topics.some((t) => t.successorTopicId !== null)],
    ['topics of no type', topics.some((t) => t.issueType === null)],
    ['topics with a ticket', topics.some((t) => t.linkedTicket !== null)],
    ['topics in each state', new Set(topics.map((t) => t.lifecycleState)).size === 6],
    ['topics of each priority', new Set(topics.map((t) => t.priority)).size === 5],
    ['the organization as a company', companies.filter((c) => c.isOrgCompany).length === 1],
    ['people without a company', people.some((p) => p.companyId === null)],
    ['people with several accounts', people.some((p) => p.authorIds.length > 1)],
    [
      'staff, bots and VIPs',
      (['isStaff', 'isBot', 'isVip'] as const).every((is) => people.some((p) => p[is])),
    ],
    ['authors who are nobody', authors.some((a) => a.personId === null)],
    ['authors without a name', authors.some((a) => a.displayName === null)],
    ['authors of each source', new Set(authors.map((a) => a.sourceName)).size === 5],
    ['conversations without a topic', groups.some((g) => g.topicId === null)],
    ['archived conversations', groups.some((g) => g.archivedAt !== null)],
    ['edited messages', messages.some((m) => m.editedAt !== null)],
    ['deleted messages', messages.some((m) => m.deletedAt !== null)],
    ['reactions that are no emoji', messages.some((m) => m.reactions.some((r) => r.unicode === null))],
    [
      'replies to another conversation',
      messages.some((m) => (world.messages.get(m.replyToId ?? '')?.groupId ?? m.groupId) !== m.groupId),
    ],
    ['very long texts', texts.filter((text) => text.length > 20_000).length > 2],
    ...[/<script>/, /```/, /\u{1F389}/u, /[\u3040-\u30ff]/, /[\u0590-\u05ff]/, /[\u0600-\u06ff]/].map(
      (pattern): [string, boolean] => [`texts with ${pattern}`, texts.some((text) => pattern.test(text))],
    ),
    ...['=', '+', '-', '@'].map((start): [string, boolean] => [
      `titles that start with ${start}`,
      topics.some((t) => t.title.startsWith(start)),
    ]),
  ])('has %s', (_, isThere) => {
    expect(isThere).toBe(true);
  });

  it('has no text that no program can store, and none with a place that was not filled in', () => {
    expect(contentOf(world)).not.toMatch(/\\ud[89a-f]/);
    const place = /\{(subject|area|n|day|team|version|browser|ticket|code|time)\}/i;
    expect(texts.filter((text) => place.test(text))).toEqual([]);
  });
});
