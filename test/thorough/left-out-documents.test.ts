import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/api/json-text.js';
import { entries } from '../../src/contract/resources.js';
import { landAnswer, landList } from '../../src/sync/landing/answers.js';
import { landGroups } from '../../src/sync/landing/conversations.js';
import { Landing } from '../../src/sync/landing/landing.js';
import { SeenContent, type StoredHash } from '../../src/sync/landing/seen-content.js';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { literals, sqlFile, substitute } from '../../src/warehouse/sql.js';
import type { Warehouse } from '../../src/warehouse/warehouse.js';
import { open, runId } from '../unit/warehouse/support.js';

describe('conversations that are left out', () => {
  interface Group {
    end: number;
    topic: string;
    title: string;
    text: string;
    companies: string[];
  }
  const kinds = literals(['topic_groups', 'company_groups']);
  const sql = substitute(sqlFile('sync/stored_conversations'), { kinds });
  const tables = ['groups', 'topic_groups', 'group_companies', 'messages'];

  const answer = (world: ReadonlyMap<string, Group>, list: string) => {
    const isTopic = list.startsWith('t');
    const members = [...world].filter(([, one]) =>
      isTopic ? one.topic === list : one.companies.includes(list),
    );
    const items = members.map(([id, { end, topic, title, text }]) => ({
      group: { id, endTimestamp: new Date(end * 1_000).toISOString(), ...(isTopic && { title }) },
      ...(!isTopic && { topic: { topicId: topic, topicTitle: `About ${topic}` } }),
      messages: [{ id: `m-${id}`, content: text, author: { id: 'a', displayName: 'A' } }],
    }));
    return { isTopic, items: parseJson(Buffer.from(JSON.stringify(items))) as unknown[] };
  };

  // One conversation changes often, there and back: what is left out matters only then.
  const change = fc.oneof(
    { weight: 6, arbitrary: fc.record({ end: fc.integer({ min: 1, max: 2 }) }) },
    { weight: 2, arbitrary: fc.record({ topic: fc.constantFrom('t1', 't2') }) },
    { weight: 1, arbitrary: fc.record({ title: fc.constantFrom('One', 'Two') }) },
    { weight: 1, arbitrary: fc.record({ text: fc.constantFrom('Hello', 'Bye') }) },
    { weight: 1, arbitrary: fc.record({ companies: fc.subarray(['c1', 'c2']) }) },
  );
  const night = fc.array(
    fc.record({
      list: fc.constantFrom('t1', 'c1', 'c2'),
      changes: fc.oneof(
        { weight: 1, arbitrary: fc.constant([]) },
        fc.array(change, { minLength: 1, maxLength: 2 }),
      ),
    }),
    { minLength: 2, maxLength: 6 },
  );

  test('leave the same tables as storing them all would', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(night, { minLength: 2, maxLength: 3 }), async (nights) => {
        const [all, some] = [await open(), await open()];
        const world = new Map<string, Group>(
          ['g1', 'g2'].map((id) => [
            id,
            { end: 1, topic: 't1', title: 'One', text: 'Hello', companies: ['c1', 'c2'] },
          ]),
        );
        let no = 0;
        for (const [number, requests] of nights.entries()) {
          const seen = { all: new SeenContent(), some: new SeenContent() };
          const parents = requests.map(({ list }) => list);
          seen.some.conversationsBefore(await some.all<StoredHash>(sql, { parents }));
          for (const { list, changes } of requests) {
            for (const to of changes) Object.assign(world.get('g1') as Group, to);
            no += 1;
            for (const [target, content] of [
              [all, seen.all],
              [some, seen.some],
            ] as const) {
              const { isTopic, items } = answer(world, list);
              const landing = new Landing(
                { at: new Date(Date.UTC(2026, 0, 1) + no * 1_000), no },
                undefined,
                content,
              );
              const child = isTopic
                ? { name: 'topic_groups', ...entries.topic_groups }
                : { name: 'company_groups', ...entries.company_groups };
              landing.members(child.name, list, landGroups(landing, child, list, items));
              if (target === some) landing.leaveOutStored(child.name);
              await target.load(batchOf(`${runId}-${number}`, landing));
            }
          }
        }
        for (const table of tables) {
          const rows = (one: Warehouse) =>
            one.all(`SELECT * EXCLUDE (synced_at, run_id) FROM ${table} ORDER BY ALL`);
          expect(await rows(some)).toEqual(await rows(all));
        }
        await Promise.all([all.close(), some.close()]);
      }),
      { numRuns: 30 },
    );
  });
});

describe('people of a topic that are left out', () => {
  interface Person {
    title: string;
    isListed: boolean;
    isOwn: boolean;
  }
  const sql = sqlFile('sync/stored_persons');
  const change = fc.record({
    id: fc.constantFrom('p1', 'p2', 'p3'),
    to: fc.oneof(
      fc.record({ title: fc.constantFrom('CTO', 'CEO') }),
      fc.record({ isListed: fc.boolean() }),
      fc.record({ isOwn: fc.boolean() }),
    ),
  });
  const step = fc.record({ changes: fc.array(change, { maxLength: 2 }) });
  // A run reads the topics list once or several times, and then perhaps the topic's own list.
  const night = fc.record({
    listed: fc.array(step, { minLength: 1, maxLength: 3 }),
    own: fc.array(step, { maxLength: 1 }),
  });
  const peopleOf = (world: ReadonlyMap<string, Person>, of: 'isListed' | 'isOwn') =>
    [...world].flatMap(([id, person]) => (person[of] ? [{ id, title: person.title }] : []));
  const parsed = (value: unknown) => parseJson(Buffer.from(JSON.stringify(value))) as never;
  const where = { endpoint: 'topic_people', method: 'GET' as const, path: '/topics/t/people' };

  test('leave the same table as storing them all would', async () => {
    const [all, some] = [await open(), await open()];
    let no = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(night, { minLength: 2, maxLength: 4 }), async (nights) => {
        // A topic of its own each time: to open a warehouse takes longer than all the rest.
        const topic = `t${no}`;
        const world = new Map<string, Person>(
          ['p1', 'p2', 'p3'].map((id) => [id, { title: 'CTO', isListed: true, isOwn: true }]),
        );
        for (const [number, { listed, own }] of nights.entries()) {
          const seen = { all: new SeenContent(), some: new SeenContent() };
          seen.some.storedBefore(await some.all<StoredHash>(sql));
          const steps = [
            ...listed.map((one) => ({ ...one, isOwn: false })),
            ...own.map((one) => ({ ...one, isOwn: true })),
          ];
          for (const { changes, isOwn } of steps) {
            for (const { id, to } of changes) Object.assign(world.get(id) as Person, to);
            no += 1;
            for (const [target, content] of [
              [all, seen.all],
              [some, seen.some],
            ] as const) {
              if (isOwn) content.forgetAll();
              const landing = new Landing(
                { at: new Date(Date.UTC(2026, 0, 1) + no * 1_000), no },
                undefined,
                content,
              );
              if (isOwn) {
                const child = { name: 'topic_people', ...entries.topic_people } as never;
                landAnswer(landing, child, topic, parsed({ people: peopleOf(world, 'isOwn') }), where);
              } else {
                const list = { name: 'topics', ...entries.topics } as never;
                landList(landing, list, [
                  parsed({ id: topic, title: 'T', persons: peopleOf(world, 'isListed') }),
                ]);
              }
              await target.load(batchOf(`${runId}-${number}`, landing));
            }
          }
        }
        const rows = (one: Warehouse) =>
          one.all(
            'SELECT * EXCLUDE (synced_at, run_id) FROM topic_people WHERE topic_id = $topic ORDER BY ALL',
            { topic },
          );
        expect(await rows(some)).toEqual(await rows(all));
      }),
      { numRuns: 60 },
    );
    await Promise.all([all.close(), some.close()]);
  });
});
