import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { loadConfig } from '../../../src/config/load.js';
import type { ChildName } from '../../../src/contract/resources.js';
import type { SyncSettings } from '../../../src/sync/context.js';
import {
  allowedPerDay,
  byUrgency,
  clampTimes,
  countDue,
  due,
  sweepNote,
  sweepPerDay,
  type Task,
} from '../../../src/sync/due.js';
import { batchOf, type Coverage, type Document } from '../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { oneWarehouse, runId } from '../warehouse/support.js';
import { children, daysAgo, item, now } from './due-support.js';

const settings: SyncSettings = {
  rateLimit: { requests: 120, windowMs: 60_000 },
  sync: {
    recheck: 1,
    personGroups: 'without_company',
    deletes: { maxShare: 0.2, maxRows: 20 },
    publishEveryMinutes: 0,
  },
  retention: { recordsDays: 400 },
};

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

function load(documents: readonly Document[], coverage: readonly Coverage[] = []): Promise<unknown> {
  return loadBatch(warehouse, batchOf(runId, { documents, coverage }));
}

const of = (...names: ChildName[]) => children.filter(({ name }) => names.some((one) => one === name));
const dueOf = (...endpoints: ChildName[]) => due(warehouse, of(...endpoints), settings, now);
const brief = (tasks: readonly Task[]) => tasks.map(({ entityId, reason }) => `${entityId} ${reason}`);

/** The fingerprint that an item has now. */
async function fingerprints(endpoint: ChildName): Promise<Map<string, string>> {
  await warehouse.run('DELETE FROM ops.coverage');
  const tasks = await dueOf(endpoint);
  return new Map(tasks.map(({ entityId, fingerprint }) => [entityId, fingerprint]));
}

function covered(endpoint: ChildName, entityId: string, more: Partial<Coverage>): Coverage {
  const good = {
    fetchedAt: daysAgo(1),
    answerNo: 1,
    fingerprint: null,
    status: 200,
    error: null,
    reason: null,
  };
  return { endpoint, entityId, ...good, ...more };
}

describe('due', () => {
  test("a history: a topic's updatedAt counts, unless it is the time of its last message", async () => {
    const known = { title: 'a title', updatedAt: '2026-02-01', timeRangeEnd: '2026-01-31' };
    await load([item('topics', 'same', known)]);
    const fingerprint = (await fingerprints('topic_history')).get('same') ?? '';
    const now = {
      same: known,
      touched: { ...known, updatedAt: '2026-02-02' },
      'with a message': { ...known, updatedAt: '2026-02-03', timeRangeEnd: '2026-02-03' },
      'with a message, touched after it': { ...known, updatedAt: '2026-02-04', timeRangeEnd: '2026-02-03' },
      'with a message and another title': {
        ...{ title: 'another', updatedAt: '2026-02-03', timeRangeEnd: '2026-02-03' },
      },
    };
    await load(
      Object.entries(now).map(([id, said]) => item('topics', id, said)),
      Object.keys(now).map((id) => covered('topic_history', id, { fingerprint })),
    );
    expect(brief(await dueOf('topic_history')).sort()).toEqual([
      'touched changed',
      'with a message and another title changed',
      'with a message, touched after it changed',
    ]);
  });

  test('children that were never fetched, changed, or are too old; nothing else', async () => {
    const topics = ['new', 'same', 'changed', 'old', 'changed and old', 'refused', 'unanswered'];
    await load(topics.map((id) => item('topics', id, { updatedAt: `of ${id}` })));
    const fingerprint = await fingerprints('topic');
    const as = (id: string, more: Partial<Coverage> = {}) =>
      covered('topic', id, { fingerprint: fingerprint.get(id) ?? '', ...more });
    await load(
      [],
      [
        as('same'),
        as('changed', { fingerprint: 'another' }),
        as('old', { fetchedAt: daysAgo(11) }),
        as('changed and old', { fingerprint: 'another', fetchedAt: daysAgo(11) }),
        as('refused', { status: 404, error: 'no such topic', reason: 'NOT_FOUND' }),
        as('unanswered', { fingerprint: null, status: null, error: 'timed out' }),
      ],
    );
    const tasks = await dueOf('topic');
    expect(brief(tasks)).toEqual([
      'new never',
      // What failed last time comes after its equals, so that one broken entity cannot keep the others waiting.
      'unanswered never',
      'changed and old changed',
      'changed changed',
      'old sweep',
    ]);
    // Reading only what is new will do where all of it was read not too long ago.
    expect(Object.fromEntries(tasks.map(({ entityId, wholeAt }) => [entityId, wholeAt]))).toEqual({
      new: null,
      unanswered: null,
      changed: daysAgo(1),
      'changed and old': null,
      old: null,
    });
  });

  test('what was in doubt is due in the next run, then after one night, two, four and so on', async () => {
    const reasons = ['again: contradicted', 'again: incomplete', 'again: rejected'];
    // Each is a topic that was asked for so often, the last time so many days ago.
    const cases = [
      ...reasons.flatMap((reason) => [
        { reason, tries: 1, days: 0, isDue: true },
        ...[1, 2, 4].flatMap((wait, index) => [
          { reason, tries: index + 2, days: wait * 0.7, isDue: false },
          { reason, tries: index + 2, days: wait, isDue: true },
        ]),
      ]),
      // The first of two readings is no try.
      { reason: 'again: unconfirmed', tries: 4, days: 0, isDue: true },
      { reason: 'gone', tries: 1, days: 0, isDue: false },
    ].map((one, index) => ({ ...one, id: `${index} ${one.reason}, ${one.tries} times, ${one.days} days` }));
    await load(cases.map(({ id }) => item('topics', id, { updatedAt: '1' })));
    const known = await fingerprints('topic_groups');
    for (let tried = 0; tried < 4; tried += 1) {
      const asked = cases
        .filter(({ tries }) => tries > tried)
        .map(({ id, reason, days }) =>
          covered('topic_groups', id, {
            ...{ fingerprint: known.get(id) ?? '', reason, fetchedAt: daysAgo(days) },
            error: reason.endsWith('contradicted') ? 'names less' : null,
          }),
        );
      await load([], asked);
    }
    const expected = cases.flatMap(({ id, isDue }) => (isDue ? `${id} changed` : [])).sort();
    expect(brief(await dueOf('topic_groups')).sort()).toEqual(expected);
    // What could not be stored is not asked for again by the run that could not.
    const again = await due(warehouse, of('topic_groups'), settings, now, { runId });
    expect(brief(again).filter((line) => line.includes('rejected'))).toEqual([]);
    // Their age bounds that.
    await warehouse.run('UPDATE ops.coverage SET attempts = 40, fetched_at = $1', [daysAgo(11)]);
    expect(new Set((await dueOf('topic_groups')).map(({ reason }) => reason))).toEqual(new Set(['sweep']));
  });

  test('a change field that has another value, appears, vanishes or becomes null; no other field', async () => {
    const before = { title: 'x', messageCount: 3, similarity: 0.1, linkedTicket: { url: 'a?sig=1' } };
    const { messageCount: _, ...without } = before;
    const later = {
      same: { ...before, similarity: 0.7, linkedTicket: { url: 'a?sig=2' } },
      'another value': { ...before, messageCount: 4 },
      appeared: { ...before, eventCount: 1 },
      vanished: without,
      'became null': { ...before, messageCount: null },
    };
    await load(Object.keys(later).map((id) => item('topics', id, before)));
    const known = await fingerprints('topic_groups');
    await load(
      Object.entries(later).map(([id, body]) => item('topics', id, body)),
      Object.keys(later).map((id) => covered('topic_groups', id, { fingerprint: known.get(id) ?? '' })),
    );
    const changed = ['another value', 'appeared', 'became null', 'vanished'].map((id) => `${id} changed`);
    expect(brief(await dueOf('topic_groups')).sort()).toEqual(changed);
  });

  test('what a clock that was ahead fetched in the future is swept as if it was fetched when that was noticed', async () => {
    await load([item('topics', 't')]);
    const fingerprint = (await fingerprints('topic')).get('t') ?? '';
    await load([], [covered('topic', 't', { fingerprint, fetchedAt: daysAgo(-400) })]);
    expect(await dueOf('topic')).toEqual([]);
    await clampTimes({ store: warehouse, clock: { ...systemClock, now: () => now.getTime() } });
    const later = (days: number) => due(warehouse, of('topic'), settings, daysAgo(-days));
    expect(await later(1)).toEqual([]);
    expect(brief(await later(11))).toEqual(['t sweep']);
  });

  test('the sweep is spread between half and all of the age', async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`);
    await load(ids.map((id) => item('topics', id)));
    const fingerprint = await fingerprints('topic');
    await load(
      [],
      ids.map((id) => covered('topic', id, { fingerprint: fingerprint.get(id) ?? '' })),
    );
    const swept = async (days: number) => {
      await warehouse.run('UPDATE ops.coverage SET fetched_at = $1', [daysAgo(days)]);
      return (await dueOf('topic')).length;
    };
    expect(await swept(4.9)).toBe(0);
    const halfway = await swept(7.5);
    expect(halfway).toBeGreaterThan(90);
    expect(halfway).toBeLessThan(210);
    expect(await swept(10.1)).toBe(300);
  });

  test('nothing is due of an item that is deleted; the conversations of a migrated topic answer as its detail does', async () => {
    await load([
      ...['there', 'gone', 'unavailable'].map((id) => item('topics', id)),
      item('topic_presence', 'gone', { deletedAt: '2026-01-01T00:00:00Z' }),
      item('topic_presence', 'unavailable', { detailUnavailableReason: 'archived_in_v1_to_v2_migration' }),
    ]);
    const found = brief(await dueOf('topic', 'topic_groups', 'topic_people'));
    expect(found.filter((line) => line.startsWith('gone'))).toEqual([]);
    expect(found.filter((line) => line.startsWith('unavailable'))).toHaveLength(2);
  });

  test('of an item that left its list: when it left, when its detail changes, and when it is old; not its detail', async () => {
    const lists = (count: number) => item('topics', 'left', { eventCount: count });
    const detail = (count: number) => item('topic', 'left', { eventCount: count });
    const left = item('topic_presence', 'left', { deletedAt: null, unlistedSince: '2026-01-01T00:00:00Z' });
    const found = () => dueOf('topic', 'topic_groups');
    const fetched = async (more: Partial<Coverage> = {}) => {
      const [{ fingerprint = '' } = {}] = await dueOf('topic_groups');
      await load([], [covered('topic_groups', 'left', { fingerprint, ...more })]);
    };
    await load([lists(1), detail(1)]);
    await fetched();
    expect(brief(await dueOf('topic_groups'))).toEqual([]);
    await load([left]);
    expect(brief(await found())).toEqual(['left changed']);
    await fetched();
    expect(await found()).toEqual([]);
    await load([detail(2)]);
    const [task] = await found();
    expect(task).toMatchObject({ entityId: 'left', reason: 'changed' });
    // What its list counted says nothing any more about what an answer should have.
    expect(JSON.parse(task?.counters ?? '{}')).toMatchObject({
      '$.eventCount': '2',
      '$.totalGroupCount': null,
    });
    await fetched({ fetchedAt: daysAgo(15) });
    expect(brief(await found())).toEqual(['left sweep']);
  });

  test('what went with a tombstone is fetched again where it is back', async () => {
    const covers = (endpoint: ChildName, id: string, fingerprint: string | undefined) =>
      covered(endpoint, id, { fingerprint: fingerprint ?? '', answerNo: 2 });
    await load([item('topics', 'talk'), item('people', '1'), item('people', '2')]);
    const [people, persons] = [await fingerprints('topic_people'), await fingerprints('person')];
    await load(
      [
        // The answers about the topic and about the person 1 came before that about the person 2.
        { ...item('topic_persons', '1'), parentId: 'talk', answerNo: 1 },
        { ...item('person_companies', '7'), parentId: '1', answerNo: 1 },
        { ...item('person_companies', '8'), parentId: '2', answerNo: 3 },
      ],
      [
        covers('topic_people', 'talk', people.get('talk')),
        ...['1', '2'].map((id) => covers('person', id, persons.get(id))),
      ],
    );
    expect(brief(await dueOf('topic_people', 'person'))).toEqual(['2 changed']);
    await load([
      { ...item('topic_persons', '2'), parentId: 'talk', answerNo: 3 },
      { ...item('company_employees', '2'), parentId: '8', answerNo: 3 },
    ]);
    expect(brief(await dueOf('topic_people', 'person'))).toEqual(['talk changed']);
    await load([
      item('company_presence', '9', { deletedAt: '2026-01-01T00:00:00Z' }),
      { ...item('person_companies', '9'), parentId: '1', answerNo: 4 },
    ]);
    expect(brief(await dueOf('person'))).toEqual([]);
  });

  test('conversations of people: only of people without a listed company, once that is known', async () => {
    const people = [
      item('people', 'alone', { company: null }),
      item('people', 'employed', { company: { id: 'c' } }),
      item('people', 'elsewhere', { company: { id: 'not listed' } }),
      item('people', 'unsaid'),
    ];
    await load([...people, item('companies', 'c')]);
    const own = async (companyGroupsCome: boolean) =>
      brief(await due(warehouse, of('person_groups'), settings, now, { companyGroupsCome })).sort();
    expect(await own(true)).toEqual(['alone never', 'elsewhere never']);
    await load([item('person', 'unsaid', { company: null })]);
    expect(await own(true)).toEqual(['alone never', 'elsewhere never', 'unsaid never']);
    // Nothing more comes of the company in this run.
    expect(await own(false)).toEqual(['alone never', 'elsewhere never', 'employed never', 'unsaid never']);
    const asked = async (personGroups: SyncSettings['sync']['personGroups']) => {
      const wanted = { ...settings, sync: { ...settings.sync, personGroups } };
      return (await due(warehouse, of('person_groups'), wanted, now)).length;
    };
    expect([await asked('all'), await asked('never')]).toEqual([4, 0]);
  });

  test('only ids of digits where the path takes no others; no detail where the list item has every field', async () => {
    await load([item('people', '12'), item('people', 'p-1')]);
    expect(brief(await dueOf('person_history'))).toEqual(['12 never']);
    const whole = Object.fromEntries(
      (of('channel')[0]?.skippedWhenListHas ?? []).map((field) => [field, null]),
    );
    await load([item('channels', 'whole', { ...whole, id: 'whole' }), item('channels', 'part')]);
    expect(brief(await dueOf('channel'))).toEqual(['part never']);
  });
});

describe('countDue', () => {
  test('counts what due lists, and estimates the pages of conversations', async () => {
    await load([
      item('companies', 'small', { messageCount: 3, personCount: 1 }),
      item('companies', 'large', { messageCount: 4_000 }),
      ...Array.from({ length: 250 }, (_, index) => ({
        ...item('company_groups', `g${index}`),
        parentId: 'known',
      })),
      item('companies', 'known', { messageCount: 1 }),
    ]);
    const asked = of('company', 'company_groups', 'topic');
    const tasks = await due(warehouse, asked, settings, now);
    const lines = countDue(tasks, asked);
    expect(lines).toEqual([
      { endpoint: 'company', never: 3, changed: 0, sweep: 0, due: 3, requests: 3 },
      // One page; 1,000 conversations by the messages; 250 that are known.
      { endpoint: 'company_groups', never: 3, changed: 0, sweep: 0, due: 3, requests: 1 + 10 + 3 },
    ]);
    expect(tasks.reduce((sum, { requests }) => sum + requests, 0)).toBe(17);
  });
});

describe('the order', () => {
  const task = fc.record({
    child: fc.constantFrom(...children),
    entityId: fc.constantFrom('a', 'b', 'c'),
    reason: fc.constantFrom('never', 'changed', 'sweep') as fc.Arbitrary<Task['reason']>,
    fingerprint: fc.constant(''),
    hasFailed: fc.boolean(),
    attempts: fc.constant(0),
    updatedAt: fc.constant(null),
    isUnanswered: fc.constant(false),
    isEarly: fc.boolean(),
    vip: fc.boolean(),
    lastActivity: fc.constantFrom('', '2026-01-01', '2026-02-01'),
    wholeAt: fc.constant(null),
    counters: fc.constant(null),
    storedCounters: fc.constant(null),
    lastReason: fc.constant(null),
    requests: fc.constant(1),
  });

  test('never before changed before sweep, what is old by measurement alone last, then by weight, what failed last, VIPs, and last activity', () => {
    fc.assert(
      fc.property(fc.array(task), (tasks) => {
        const rank = { never: 0, changed: 1, sweep: 2, check: 3, idle: 4 };
        const place = (one: Task) => [
          rank[one.reason],
          one.isEarly ? 1 : 0,
          one.child.weight,
          one.hasFailed ? 1 : 0,
          one.vip ? 0 : 1,
          -(one.lastActivity === '' ? 0 : Date.parse(one.lastActivity)),
        ];
        const sorted = [...tasks].sort(byUrgency);
        for (let index = 1; index < sorted.length; index += 1) {
          const [before, after] = [place(sorted[index - 1] as Task), place(sorted[index] as Task)];
          const first = before.findIndex((value, at) => value !== after[at]);
          if (first >= 0) expect(before[first]).toBeLessThan(after[first] as number);
        }
      }),
    );
  });
});

describe('the sweep', () => {
  const defaults = loadConfig({ env: {} });

  test('costs per day, for each child, its items divided by three quarters of its age', () => {
    const topic = children.filter(({ name }) => name === 'topic');
    expect(sweepPerDay({ topics: 2_100 }, topic, defaults)).toBeCloseTo(2_100 / (10 * 0.75));
    const both = children.filter(({ name }) => name === 'topic' || name === 'company');
    expect(sweepPerDay({ topics: 2_100 }, both, defaults)).toBeCloseTo(2_100 / (10 * 0.75));
    expect(sweepPerDay({}, children, defaults)).toBe(0);
  });

  test('one run a day may make as many requests as its caps and its rate allow', () => {
    expect(allowedPerDay({}, defaults)).toBe(120 * 1_440);
    expect(allowedPerDay({ maxMinutes: 50 }, defaults)).toBe(6_000);
    expect(allowedPerDay({ maxMinutes: 50, maxRequests: 100 }, defaults)).toBe(100);
  });

  test('says which ages it can keep when it cannot keep those in the settings', () => {
    expect(sweepNote(100, 100)).toBeNull();
    expect(sweepNote(250, 100)).toContain('a sync.recheck 2.5 times as large');
    expect(sweepNote(250, 0)).toContain('no requests remain after the lists');
  });
});
