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
  /** Each with the column that tells the world of a row. */
  const tables = { groups: 'id', topic_groups: 'group_id', group_companies: 'group_id', messages: 'id' };

  const answer = (groups: ReadonlyMap<string, Group>, prefix: string, list: string) => {
    const isTopic = list.startsWith('t');
    const members = [...groups].filter(([, one]) =>
      isTopic ? one.topic === list : one.companies.includes(list),
    );
    const items = members.map(([id, { end, topic, title, text }]) => ({
      group: { id, endTimestamp: new Date(end * 1_000).toISOString(), ...(isTopic && { title }) },
      ...(!isTopic && { topic: { topicId: `${prefix}${topic}`, topicTitle: `About ${topic}` } }),
      messages: [{ id: `${id}-m`, content: text, author: { id: 'a', displayName: 'A' } }],
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
    // To open a warehouse, or to load a batch, takes longer than all the rest: each batch has an answer of several worlds,
    // and all of them share two warehouses.
    const [all, some] = [await open(), await open()];
    let no = 0;
    const worlds = fc.array(fc.array(night, { minLength: 2, maxLength: 3 }), { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(worlds, async (plans) => {
        const start = `w${no}`;
        const made = plans.map((nights, index) => {
          const prefix = `${start}-${index}-`;
          const groups = new Map<string, Group>(
            ['g1', 'g2'].map((id) => [
              `${prefix}${id}`,
              { end: 1, topic: 't1', title: 'One', text: 'Hello', companies: ['c1', 'c2'] },
            ]),
          );
          return { nights, prefix, groups };
        });
        for (let number = 0; number < 3; number += 1) {
          const tonight = made.map((one) => ({ ...one, requests: one.nights[number] ?? [] }));
          const seen = { all: new SeenContent(), some: new SeenContent() };
          const parents = tonight.flatMap(({ prefix, requests }) =>
            requests.map(({ list }) => `${prefix}${list}`),
          );
          seen.some.conversationsBefore(await some.all<StoredHash>(sql, { parents }));
          const steps = Math.max(...tonight.map(({ requests }) => requests.length));
          for (let step = 0; step < steps; step += 1) {
            const asked = tonight.flatMap(({ requests, ...one }) => {
              const request = requests[step];
              return request === undefined ? [] : [{ ...one, ...request }];
            });
            for (const { prefix, groups, changes } of asked)
              for (const to of changes) Object.assign(groups.get(`${prefix}g1`) as Group, to);
            no += 1;
            for (const [target, content] of [
              [all, seen.all],
              [some, seen.some],
            ] as const) {
              const landing = new Landing(
                { at: new Date(Date.UTC(2026, 0, 1) + no * 1_000), no },
                undefined,
                content,
              );
              for (const { prefix, groups, list } of asked) {
                const { isTopic, items } = answer(groups, prefix, list);
                const child = isTopic
                  ? { name: 'topic_groups', ...entries.topic_groups }
                  : { name: 'company_groups', ...entries.company_groups };
                const parent = `${prefix}${list}`;
                landing.members(child.name, parent, landGroups(landing, child, parent, items));
              }
              if (target === some)
                for (const name of ['topic_groups', 'company_groups']) landing.leaveOutStored(name);
              await target.load(batchOf(`${runId}-${number}`, landing));
            }
          }
        }
        for (const [table, id] of Object.entries(tables)) {
          const rows = (one: Warehouse) =>
            one.all(
              `SELECT * EXCLUDE (synced_at, run_id) FROM ${table} WHERE starts_with(${id}, $start) ORDER BY ALL`,
              { start: `${start}-` },
            );
          const stored = await rows(all);
          expect(stored.length).toBeGreaterThan(0);
          expect(await rows(some)).toEqual(stored);
        }
      }),
      { numRuns: 10 },
    );
    await Promise.all([all.close(), some.close()]);
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
    // Each batch has a part of several topics, because to load one takes longer than all the rest.
    const topics = fc.array(fc.array(night, { minLength: 2, maxLength: 4 }), { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(topics, async (plans) => {
        const start = `t${no}-`;
        const made = plans.map((nights, index) => {
          const people = new Map<string, Person>(
            ['p1', 'p2', 'p3'].map((id) => [id, { title: 'CTO', isListed: true, isOwn: true }]),
          );
          return { nights, topic: `${start}${index}`, people };
        });
        for (let number = 0; number < 4; number += 1) {
          const seen = { all: new SeenContent(), some: new SeenContent() };
          seen.some.storedBefore(await some.all<StoredHash>(sql));
          const tonight = made.flatMap(({ nights, ...one }) => {
            const plan = nights[number];
            return plan === undefined ? [] : [{ ...one, ...plan }];
          });
          // The own lists of all topics come after all readings of the topics list.
          const steps = [0, 1, 2, 3].map((step) => {
            const isOwn = step === 3;
            const parts = tonight.flatMap(({ listed, own, ...one }) => {
              const plan = isOwn ? own[0] : listed[step];
              return plan === undefined ? [] : [{ ...one, changes: plan.changes }];
            });
            return { isOwn, parts };
          });
          for (const { isOwn, parts } of steps.filter((step) => step.parts.length > 0)) {
            for (const { people, changes } of parts)
              for (const { id, to } of changes) Object.assign(people.get(id) as Person, to);
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
                for (const { topic, people } of parts)
                  landAnswer(landing, child, topic, parsed({ people: peopleOf(people, 'isOwn') }), where);
              } else {
                const list = { name: 'topics', ...entries.topics } as never;
                const items = parts.map(({ topic, people }) =>
                  parsed({ id: topic, title: 'T', persons: peopleOf(people, 'isListed') }),
                );
                landList(landing, list, items);
              }
              await target.load(batchOf(`${runId}-${number}`, landing));
            }
          }
        }
        const rows = (one: Warehouse) =>
          one.all(
            'SELECT * EXCLUDE (synced_at, run_id) FROM topic_people WHERE starts_with(topic_id, $start) ORDER BY ALL',
            { start },
          );
        expect(await rows(some)).toEqual(await rows(all));
      }),
      { numRuns: 15 },
    );
    await Promise.all([all.close(), some.close()]);
  });
});
