import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { topicCounts } from '../../../../src/sandbox/world/counts.js';
import { defaultSizes, generate } from '../../../../src/sandbox/world/generate.js';
import { makeStories } from '../../../../src/sandbox/world/stories.js';
import { contentOf, contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const world = generate(defaultSizes);
const topics = [...world.topics.values()];
const messages = [...world.messages.values()];
const people = [...world.people.values()];
const companies = [...world.companies.values()];
const authors = [...world.authors.values()];
const stories = [...world.stories.values()];

const share = <T>(items: readonly T[], holds: (item: T) => boolean) =>
  items.filter(holds).length / items.length;

describe('generate', () => {
  it('gives the same bytes for the same seed, and different bytes for another', () => {
    const hash = (seed: number) =>
      createHash('sha256')
        .update(contentOf(generate({ ...smallSizes, seed })))
        .digest('hex');
    expect(hash(1)).toBe(hash(1));
    expect(hash(1)).not.toBe(hash(2));
  });

  it('gives exactly the requested sizes', () => {
    expect(world.topics.size).toBe(defaultSizes.topics);
    expect(world.people.size).toBe(defaultSizes.people);
    expect(world.companies.size).toBe(defaultSizes.companies);
    expect(world.messages.size).toBe(defaultSizes.messages);
    expect(world.channels.size).toBe(defaultSizes.channels);
    expect(world.stories.size).toBe(defaultSizes.stories);
    expect(world.templates.size).toBe(defaultSizes.templates);
    expect(world.now - defaultSizes.now).toBeLessThan(1000);
  });

  it('contains no contradictions', () => {
    expect(contradictions(world)).toEqual([]);
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
        numRuns: 60,
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

  it('keeps the smaller organization when a larger one is requested', () => {
    const small = generate(smallSizes);
    const large = generate({ ...smallSizes, topics: 60, people: 110 });
    for (const [id, topic] of small.topics) expect(large.topics.get(id)?.title).toBe(topic.title);
    for (const [id, person] of small.people)
      expect(large.people.get(id)?.displayName).toBe(person.displayName);
  });

  it('keeps entities in the order of creation', () => {
    for (const map of [world.topics, world.people, world.companies, world.messages]) {
      const times = [...map.values()].map((entity) => entity.createdAt);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    }
  });
});

describe('a generated organization', () => {
  it('has a few huge topics and many small ones', () => {
    const sizes = topics.map((topic) => topicCounts(world, topic.id).messageCount).sort((a, b) => b - a);
    const top = sizes.slice(0, 20).reduce((sum, size) => sum + size, 0);
    expect(top).toBeGreaterThan(0.25 * messages.length);
    expect(sizes[200]).toBeLessThan(20);
  });

  it('has a few companies with many people', () => {
    const sizes = companies
      .map(({ id }) => people.filter((p) => p.companyId === id).length)
      .sort((a, b) => b - a);
    expect(sizes[0]).toBeGreaterThan(60);
    expect(sizes[60]).toBeLessThan(12);
  });

  it('is busier on weekdays and in office hours', () => {
    const onDay = (day: number) => messages.filter((m) => new Date(m.createdAt).getUTCDay() === day).length;
    expect(onDay(0) + onDay(6)).toBeLessThan(onDay(2));
    const inHours = (from: number, to: number) =>
      share(messages, ({ createdAt }) => {
        const hour = new Date(createdAt).getUTCHours();
        return hour >= from && hour < to;
      });
    expect(inHours(9, 17)).toBeGreaterThan(2 * inHours(0, 6));
  });

  it('has every kind of people, accounts and companies', () => {
    expect(companies.filter((company) => company.isOrgCompany)).toHaveLength(1);
    const own = companies.find((company) => company.isOrgCompany);
    expect(people.some((p) => p.isStaff)).toBe(true);
    for (const person of people) if (person.isStaff) expect([own?.id, null]).toContain(person.companyId);
    expect(people.some((p) => p.isBot)).toBe(true);
    expect(people.some((p) => p.isVip)).toBe(true);
    expect(companies.some((c) => c.isVip)).toBe(true);
    expect(share(people, (p) => p.companyId === null)).toBeGreaterThan(0.1);
    expect(share(people, (p) => p.authorIds.length > 1)).toBeGreaterThan(0.15);
    expect(authors.some((a) => a.personId === null)).toBe(true);
    expect(authors.some((a) => a.displayName === null)).toBe(true);
    expect(authors.some((a) => a.isBot)).toBe(true);
    expect(new Set(authors.map((a) => a.sourceName))).toEqual(
      new Set(['slack', 'discord', 'intercom', 'email', 'github']),
    );
  });

  it('has topics in every state', () => {
    expect(new Set(topics.map((t) => t.graphStatus))).toEqual(new Set(['active', 'archived', 'superseded']));
    expect(new Set(topics.map((t) => t.lifecycleState))).toEqual(
      new Set([null, 'open', 'in_progress', 'completed', 'dismissed', 'unknown']),
    );
    expect(new Set(topics.map((t) => t.priority)).size).toBe(5);
    expect(topics.some((t) => t.migrated && !t.isV2)).toBe(true);
    expect(topics.some((t) => !t.migrated && !t.isV2)).toBe(true);
    expect(topics.some((t) => t.successorTopicId !== null)).toBe(true);
    expect(topics.some((t) => t.graphStatus === 'archived' && !t.migrated && t.archivedReason === null)).toBe(
      true,
    );
    expect(topics.some((t) => t.archivedByUserId !== null)).toBe(true);
    expect(topics.some((t) => t.issueType === null)).toBe(true);
    expect(topics.some((t) => t.linkedTicket !== null)).toBe(true);
    expect(new Set(topics.map((t) => t.title)).size).toBe(topics.length);
  });

  it('has realistic conversations', () => {
    expect([...world.groups.values()].some((g) => g.topicId === null)).toBe(true);
    expect([...world.groups.values()].some((g) => g.archivedAt !== null)).toBe(true);
    expect(messages.some((m) => m.isInternal)).toBe(true);
    expect(messages.some((m) => m.editedAt !== null)).toBe(true);
    expect(messages.some((m) => m.deletedAt !== null)).toBe(true);
    expect(messages.some((m) => m.reactions.some((r) => r.unicode === null))).toBe(true);
    expect(messages.some((m) => m.quoteHighlights.length > 0)).toBe(true);
    expect(messages.some((m) => m.threadId !== null)).toBe(true);
    const repliesElsewhere = messages.filter(
      (m) => m.replyToId !== null && world.messages.get(m.replyToId)?.groupId !== m.groupId,
    );
    expect(repliesElsewhere.length).toBeGreaterThan(0);
    expect(repliesElsewhere.length).toBeLessThan(0.1 * messages.filter((m) => m.replyToId !== null).length);
    for (const reply of messages) {
      const original = world.messages.get(reply.replyToId ?? '');
      if (original !== undefined) expect(original.createdAt).toBeLessThanOrEqual(reply.createdAt);
    }
  });

  it('has text that careless programs handle wrongly, and none that no program can store', () => {
    const all = messages.map((m) => m.content);
    expect(all.filter((text) => text.length > 20_000).length).toBeGreaterThan(2);
    for (const pattern of [
      /<script>/,
      /```/,
      /\u{1F389}/u,
      /[\u3040-\u30ff]/,
      /[\u0590-\u05ff]/,
      /[\u0600-\u06ff]/,
    ]) {
      expect(
        all.some((text) => pattern.test(text)),
        String(pattern),
      ).toBe(true);
    }
    for (const start of ['=', '+', '-', '@']) {
      expect(
        topics.some((t) => t.title.startsWith(start)),
        `a title starting with ${start}`,
      ).toBe(true);
    }
    // A lone surrogate or an unfilled slot would be a bug of the generator.
    const text = contentOf(world);
    expect(text).not.toMatch(/\\ud[89a-f]/);
    expect(
      all.filter((line) => /\{(subject|area|n|day|team|version|browser|ticket|code|time)\}/i.test(line)),
    ).toEqual([]);
  });

  it('has a history that agrees with the present', () => {
    for (const topic of topics) {
      const records = world.history.get(`topic:${topic.id}`) ?? [];
      expect(records[0]).toMatchObject({ operation: 'INSERT', changedAt: topic.createdAt });
      const last = (field: string) => records.findLast((r) => field in r.changes)?.changes[field];
      expect(last('priority')).toBe(topic.priority);
      expect(last('lifecycleState')).toBe(topic.lifecycleState);
    }
    const transitions = [...world.history.values()].flat().filter((r) => r.operation === 'UPDATE');
    expect(new Set(transitions.map((r) => r.changedBy))).toEqual(new Set(['agent', 'system', 'user']));
    for (const type of ['topic', 'company', 'person']) {
      expect(world.merges.some((merge) => merge.entityType === type)).toBe(true);
    }
  });

  it('removes the reasoning of a priority that a user has set', () => {
    for (const topic of topics) {
      const last = world.history.get(`topic:${topic.id}`)?.findLast((r) => 'priority' in r.changes);
      if (last?.changedBy === 'user') expect(topic.priorityReasoning).toBeNull();
    }
  });
});

describe('stories', () => {
  const elementId = z.string().regex(/^[a-zA-Z0-9_-]{1,80}$/);
  const children = z.array(elementId).max(24);
  const element = z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('Stack'),
      props: z.strictObject({
        direction: z.enum(['horizontal', 'vertical']).optional(),
        gap: z.enum(['lg', 'md', 'sm', 'xs']).optional(),
        wrap: z.boolean().optional(),
      }),
      children,
    }),
    z.strictObject({
      type: z.literal('Section'),
      props: z.strictObject({ title: z.string().min(1).max(120), subtitle: z.string().max(220).optional() }),
      children,
    }),
    z.strictObject({
      type: z.literal('Text'),
      props: z.strictObject({
        text: z.string().min(1).max(1200),
        variant: z.enum(['body', 'caption', 'emphasis', 'muted']).optional(),
      }),
      children,
    }),
    z.strictObject({
      type: z.literal('Bullets'),
      props: z.strictObject({ items: z.array(z.string().min(1).max(240)).min(1).max(8) }),
      children,
    }),
  ]);
  const layout = z
    .strictObject({ elements: z.record(elementId, element), root: elementId })
    .refine((made) => {
      const named = [made.root, ...Object.values(made.elements).flatMap((e) => e.children)];
      return named.every((id) => id in made.elements);
    }, 'an element that does not exist is named');
  const sourceRef = z.strictObject({
    id: z.string().min(1).max(160),
    label: z.string().min(1).max(180).optional(),
    type: z.enum(['author', 'company', 'email', 'intercom', 'issue', 'message', 'person', 'slack', 'topic']),
  });
  const draft = z.strictObject({
    detail: z.strictObject({ main: layout, sidebar: layout, title: z.string() }),
    list: layout,
    slug: z.string().regex(/^[a-z0-9-]{1,120}$/),
    sourceRefs: z.array(sourceRef).max(24),
    summary: z.string(),
    title: z.string(),
    version: z.number(),
  });

  it('respect the limits of the document', () => {
    for (const story of stories) {
      expect(draft.safeParse(story.draft).error?.issues ?? []).toEqual([]);
      expect(story.draft.slug).toBe(story.slug);
    }
  });

  it('respect them whatever the titles of their topics are', () => {
    const named = structuredClone(generate(smallSizes));
    for (const topic of named.topics.values()) {
      topic.title = '\u{1F9D1}\u200D\u{1F680}'.repeat(90);
      topic.summary = `x${'\u{1F680}'.repeat(900)}`;
      topic.linkedTicket = {
        displayName: 'LUM-1',
        linkType: 'issue',
        url: `https://tracker.example/${'y'.repeat(300)}`,
      };
    }
    const everywhere = [...named.topics.values()].reduce((a, b) =>
      a.groupIds.length > b.groupIds.length ? a : b,
    );
    for (const group of named.groups.values()) {
      if (group.topicId === null) {
        group.topicId = everywhere.id;
        everywhere.groupIds.push(group.id);
      }
    }
    for (const story of makeStories(named, 60)) {
      expect(draft.safeParse(story.draft).error?.issues ?? []).toEqual([]);
      expect(JSON.stringify(story)).not.toMatch(/\\ud[89a-f]/);
    }
  });

  it('use every kind of element, source and archive', () => {
    const text = JSON.stringify(stories);
    for (const type of ['Stack', 'Section', 'Text', 'Bullets', ...sourceRef.shape.type.options]) {
      expect(text).toContain(`"type":"${type}"`);
    }
    expect(new Set(stories.map((story) => story.archive?.actor.type))).toEqual(
      new Set([undefined, 'agent', 'member']),
    );
    expect(new Set(stories.map((story) => story.isRead)).size).toBe(2);
    for (const story of stories) {
      if (story.viewerMemberId === null) continue;
      expect(story.relevantMembers.map((relevance) => relevance.memberId)).toContain(story.viewerMemberId);
    }
  });
});
