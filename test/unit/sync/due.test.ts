import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { arrivalNow, systemClock } from '../../../src/base/clock.js';
import { loadConfig } from '../../../src/config/load.js';
import { person } from '../../../src/contract/people.js';
import type { ChildName } from '../../../src/contract/resources.js';
import { allowedPerDay, clampTimes, sweepNote, sweepPerDay } from '../../../src/sync/ages.js';
import type { Context, SyncSettings } from '../../../src/sync/context.js';
import { taskOf } from '../../../src/sync/due.js';
import { fetchChild } from '../../../src/sync/fetch-child.js';
import { SeenContent } from '../../../src/sync/staging/seen-content.js';
import { byUrgency, cost, type Task, wholeChild } from '../../../src/sync/task.js';
import { batchOf, type Coverage, type Document } from '../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { plainTopic } from '../../support/plain-api.js';
import { oneWarehouse, runId } from '../warehouse/support.js';
import { children, daysAgo, dueIn, inputFrom, item, now, whyIn } from './due-support.js';

const settings: SyncSettings = {
  rateLimit: { requests: 120, windowMs: 60_000 },
  sync: {
    recheck: 1,
    personGroups: 'without_company',
    deletes: { maxShare: 0.2, maxRows: 20 },
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
const due = async (...asked: Parameters<typeof dueIn>) => (await dueIn(...asked)).tasks;
const dueOf = (...endpoints: ChildName[]) => due(warehouse, of(...endpoints), settings, now);
const brief = (tasks: readonly Task[]) => tasks.map(({ entityId, reason }) => `${entityId} ${reason}`);

/** The fingerprint that an item has now. */
async function fingerprints(endpoint: ChildName): Promise<Map<string, string>> {
  await warehouse.run('DELETE FROM ops.coverage');
  const tasks = await dueOf(endpoint);
  return new Map(tasks.map(({ entityId, fingerprint }) => [entityId, fingerprint]));
}

/** Marks what is due of these as fetched, with what its parent shows now. */
async function fetch(endpoints: readonly ChildName[], more: Partial<Coverage> = {}): Promise<void> {
  const tasks = await dueOf(...endpoints);
  const good = { answerNo: 2, ...more };
  await load(
    [],
    tasks.map(({ child, entityId, fingerprint }) => covered(child.name, entityId, { fingerprint, ...good })),
  );
}

function covered(endpoint: string, entityId: string, more: Partial<Coverage>): Coverage {
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
            fingerprint: known.get(id) ?? '',
            reason,
            fetchedAt: daysAgo(days),
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
    await fetch(['topic_groups'], { answerNo: 1 });
    await load(Object.entries(later).map(([id, body]) => item('topics', id, body)));
    const changed = ['another value', 'appeared', 'became null', 'vanished'].map((id) => `${id} changed`);
    expect(brief(await dueOf('topic_groups')).sort()).toEqual(changed);
  });

  test('what a clock that was ahead fetched in the future is swept as if it was fetched when that was noticed', async () => {
    await load([item('topics', 't')]);
    await fetch(['topic'], { fetchedAt: daysAgo(-400) });
    expect(await dueOf('topic')).toEqual([]);
    await clampTimes({ store: warehouse, clock: { ...systemClock, now: () => now.getTime() } });
    const later = (days: number) => due(warehouse, of('topic'), settings, daysAgo(-days));
    expect(await later(1)).toEqual([]);
    expect(brief(await later(11))).toEqual(['t sweep']);
  });

  test('the sweep is spread between half and all of the age', async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`);
    await load(ids.map((id) => item('topics', id)));
    await fetch(['topic']);
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

  test('of an item that left its list: when it left, when its detail changes, and when it is old; not its detail', async () => {
    const lists = (count: number) => item('topics', 'left', { eventCount: count });
    const detail = (count: number) => item('topic', 'left', { eventCount: count });
    const left = item('topic_presence', 'left', { deletedAt: null, unlistedSince: '2026-01-01T00:00:00Z' });
    const found = () => dueOf('topic', 'topic_groups');
    const fetched = (more: Partial<Coverage> = {}) => fetch(['topic_groups'], { answerNo: 1, ...more });
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
    await load([item('topics', 'talk'), item('people', '1'), item('people', '2')]);
    await fetch(['topic_people', 'person']);
    await load([
      // The answers about the topic and about the person 1 came before that about the person 2.
      { ...item('topic_persons', '1'), parentId: 'talk', answerNo: 1 },
      { ...item('person_companies', '7'), parentId: '1', answerNo: 1 },
      { ...item('person_companies', '8'), parentId: '2', answerNo: 3 },
    ]);
    expect(brief(await dueOf('topic_people', 'person'))).toEqual(['2 changed']);
    await load([
      { ...item('topic_persons', '2'), parentId: 'talk', answerNo: 3 },
      { ...item('company_employees', '2'), parentId: '8', answerNo: 3 },
    ]);
    expect(brief(await dueOf('topic_people', 'person'))).toEqual(['2 changed', 'talk changed']);
    await fetch(['topic_people', 'person'], { answerNo: 4 });
    await load([
      item('company_presence', '9', { deletedAt: '2026-01-01T00:00:00Z' }),
      { ...item('person_companies', '9'), parentId: '1', answerNo: 5 },
    ]);
    expect(brief(await dueOf('person'))).toEqual([]);
  });

  test('the people of a company that is gone, whose list does not say where they are now', async () => {
    await load(['1', '2'].map((id) => item('people', id)));
    const fingerprint = await fingerprints('person');
    const covers = (id: string, answerNo: number) =>
      covered('person', id, { fingerprint: fingerprint.get(id) ?? '', answerNo });
    await load(
      [
        ...['7', '8'].map((id) => item('companies', id)),
        item('company_presence', '7', { deletedAt: '2026-01-01T00:00:00Z' }),
        item('person', '1', { company: { id: '7' } }),
        item('person', '2', { company: { id: '8' } }),
      ],
      [covers('1', 2), covers('2', 2), covered('company', '7', { status: 404, answerNo: 3 })],
    );
    expect(brief(await dueOf('person'))).toEqual(['1 changed']);
    // It is asked once, whatever the answer says.
    await load([], [covers('1', 4)]);
    expect(await dueOf('person')).toEqual([]);
  });

  test('a template whose schedule changed: its list and its detail are combined, and would mix two kinds of schedules', async () => {
    const listed = (schedule: object) => item('automation_templates', 'weekly', { schedule });
    await load([listed({ type: 'cron', expr: '0 3 * * *' })]);
    await fetch(['automation_template'], { answerNo: 1 });
    expect(await dueOf('automation_template')).toEqual([]);
    await load([{ ...listed({ type: 'rrule', rrule: 'FREQ=DAILY' }), answerNo: 2 }]);
    expect(brief(await dueOf('automation_template'))).toEqual(['weekly changed']);
  });

  test('the history of a company after a push of what its list does not show', async () => {
    await load([item('companies', '7'), item('company', '7')]);
    await fetch(['company_history']);
    expect(await dueOf('company_history')).toEqual([]);
    await load([{ ...item('company', '7', { connections: { phone: '1' } }), answerNo: 3 }]);
    expect(await dueOf('company_history')).toEqual([]);
    await warehouse.run(`INSERT INTO ops.runs (run_id, command) VALUES ('${runId}', 'push')`);
    await load([{ ...item('company', '7', { connections: { phone: '2' } }), answerNo: 4 }]);
    expect(brief(await dueOf('company_history'))).toEqual(['7 changed']);
  });

  test('the accounts of two people who exchanged some, when a topic shows it', async () => {
    const ids = ['1', '2', '3'];
    await load(ids.map((id) => item('people', id)));
    const owns = (id: string) => ({ ...item('person_identities', `slack:U${id}`), parentId: id });
    const seen = (id: string, of: string, answerNo: number) => {
      const body = { identities: [{ platform: 'slack', platformId: `U${of}` }] };
      return { ...item('topic_people', id, body), parentId: 'talk', answerNo };
    };
    await fetch(['person_identities']);
    await load([...ids.map(owns), seen('1', '1', 1), seen('3', '3', 3)]);
    expect(await dueOf('person_identities')).toEqual([]);
    await load([seen('1', '2', 3)]);
    expect(brief(await dueOf('person_identities'))).toEqual(['1 changed', '2 changed']);
  });

  test('a detail that the list has whole: of one person of each company whose employees are not stored', async () => {
    const whole = Object.fromEntries(Object.keys(person.shape).map((field) => [field, null]));
    const people = ['1', '2', '3'].map((id) => item('people', id, { ...whole, id }));
    const employs = (id: string, company: string) => ({ ...item('person_companies', company), parentId: id });
    await load([...people, employs('1', '7'), employs('2', '7')]);
    expect(brief(await dueOf('person'))).toEqual(['1 never']);
    await load(['1', '2'].map((id) => ({ ...item('company_employees', id), parentId: '7' })));
    await fetch(['person']);
    expect(brief(await dueOf('person'))).toEqual([]);
    // Somebody joins.
    await load([{ ...employs('3', '7'), answerNo: 3 }]);
    expect(brief(await dueOf('person'))).toEqual(['3 never']);
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
});

test('cost counts what due lists, and estimates the pages of conversations', async () => {
  await load([
    item('companies', 'small', { messageCount: 3, personCount: 1 }),
    item('companies', 'large', { messageCount: 4_000 }),
    item('companies', 'known', { messageCount: 1 }),
  ]);
  await load([], [covered('company_groups', 'known', { counters: '{"named":"250"}' })]);
  const asked = of('company', 'company_groups', 'topic');
  const tasks = await due(warehouse, asked, settings, now);
  const lines = cost(tasks, asked);
  expect(lines).toEqual([
    { endpoint: 'company', never: 3, changed: 0, sweep: 0, due: 3, requests: 3 },
    // One page; 1,000 conversations by the messages; 250 that are known.
    { endpoint: 'company_groups', never: 3, changed: 0, sweep: 0, due: 3, requests: 1 + 10 + 3 },
  ]);
  expect(tasks.reduce((sum, { requests }) => sum + requests, 0)).toBe(17);
});

test('the order: never, changed, sweep; what is old by measurement alone last; then weight, failures, VIPs and last activity', () => {
  const [heavy, light] = children.toSorted((a, b) => b.weight - a.weight).filter((_, at) => at < 2);
  const of = (reason: Task['reason'], more: Partial<Task> = {}): Task => {
    return { ...wholeChild, child: light!, entityId: 'x', reason, fingerprint: '', ...more };
  };
  const inOrder = [
    of('never', { vip: true, lastActivity: '2026-02-01' }),
    of('never', { vip: true, lastActivity: '2026-01-01' }),
    of('never', { lastActivity: '2026-02-01' }),
    of('never', { hasFailed: true, vip: true }),
    of('never', { child: heavy!, vip: true }),
    of('changed', { vip: true }),
    of('sweep', { hasFailed: true }),
    of('sweep', { isEarly: true, vip: true }),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(inOrder, { minLength: inOrder.length }), (tasks) => {
      expect(tasks.toSorted(byUrgency)).toEqual(inOrder);
    }),
  );
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

const own = of('topic');
/** With what serve says of the ages, as explain has it. */
const serving = { ...settings, serve: { freshness: 26 } } as const;

/** Topics that were fetched so many days ago. */
async function fetched(days: Readonly<Record<string, number>>): Promise<void> {
  const documents = Object.keys(days).map((id) => item('topics', id, { updatedAt: '2026-02-27T00:00:00Z' }));
  await load(documents);
  const tasks = await due(warehouse, own, serving, now);
  const at = ({ entityId, fingerprint }: Task) =>
    covered('topic', entityId, { fingerprint, fetchedAt: daysAgo(days[entityId] ?? 0) });
  await load([], tasks.map(at));
}

/** Checks of topics at four days, of which so many found a difference. */
const checks = (count: number, differing: number) =>
  warehouse.run(`INSERT INTO ops.audits BY NAME
    SELECT 'topic' AS resource, 4.0 AS age_days, range < ${differing} AS differs FROM range(${count})`);

describe('ages of what was checked', () => {
  beforeEach(() => fetched({ old: 11, middle: 4.9, young: 0.6 }));
  const dueNow = async () =>
    (await due(warehouse, own, serving, now)).map(({ entityId, isEarly }) => [entityId, isEarly]);

  test('stay as they are without checks, and when these found little', async () => {
    expect(await dueNow()).toEqual([['old', false]]);
    await checks(400, 4);
    expect(await dueNow()).toEqual([['old', false]]);
  });

  test('get shorter with what checks found; what is due for that alone comes last', async () => {
    await checks(400, 200);
    expect(await dueNow()).toEqual([
      ['old', false],
      ['middle', true],
    ]);
  });

  test('are explained', async () => {
    expect((await whyIn(warehouse, own, 'young', serving, now))[0]).toMatchObject({
      isDue: false,
      maxAgeDays: 10,
      measured: null,
    });
    await checks(400, 200);
    const [young] = await whyIn(warehouse, own, 'young', serving, now);
    // 200 changes in 200 times four days and 200 times two, and three in as many hundred days, as the age assumes.
    const daysBetween = 1_500 / 203;
    expect(young).toMatchObject({ isDue: false, measured: { checks: 400 } });
    expect(young?.measured?.daysBetween).toBeCloseTo(daysBetween, 6);
    expect(young?.maxAgeDays).toBe(10 / 8);
    const none = { ...serving, serve: { freshness: { stale: 0 } } };
    expect((await whyIn(warehouse, own, 'young', none, now))[0]).toMatchObject({
      maxAgeDays: 10,
      measured: null,
    });
  });
});

describe('what may be checked', () => {
  const strata = async (entityIds: readonly string[]) => {
    const { current } = await dueIn(warehouse, own, serving, now);
    return current
      .map(({ entityId }) => entityId)
      .filter((id) => entityIds.includes(id))
      .sort();
  };

  test('is not due, and was answered well', async () => {
    await fetched({ old: 11, middle: 4.9, young: 0.6 });
    expect(await strata(['old', 'middle', 'young'])).toEqual(['middle', 'young']);
    expect(await strata(['young'])).toEqual(['young']);
  });

  test.each([
    ['failed when it was asked for last', "error = 'timed out'"],
    ['is in doubt, and asked again later', "reason = 'again: short', attempts = 9"],
  ])('is nothing that %s', async (_, state) => {
    await fetched({ middle: 4.9 });
    await warehouse.run(`UPDATE ops.coverage SET ${state}`);
    expect(await due(warehouse, own, serving, now)).toEqual([]);
    expect(await strata(['middle'])).toEqual([]);
  });

  test('is due where a check found it older than its list, until the third time', async () => {
    const updatedAt = '2026-02-27T00:00:00Z';
    // Stored so many syncs ago that it would protect itself from nothing else.
    const [t, long] = [
      { updatedAt, title: 'stored' },
      { updatedAt, title: 'stored', id: 'long' },
    ];
    await load([item('topics', 't', t), item('topics', 'long', long), item('topic', 'long', long)]);
    await warehouse.run(
      `INSERT INTO ops.runs (run_id, command) SELECT 'x' || n, 'sync' FROM range(4) AS t (n)`,
    );
    const fingerprint = (await fingerprints('topic')).get('t')!;
    await load([], [covered('topic', 't', { fingerprint })]);
    const later = new Date(now.getTime() + 5 * 86_400_000);
    const dueLater = async () =>
      due(warehouse, of('topic'), settings, later, { runId: '20260302T000000000Z-0001' });
    const answered = async (id = 't') => {
      const known = await inputFrom(warehouse, of('topic'), settings);
      const task =
        (await dueLater()).find(({ entityId }) => entityId === id) ??
        taskOf(known, now, of('topic')[0]!, id, 'check');
      const context = {
        api: {
          call: async () => ({
            body: plainTopic(1, { id, updatedAt: '2026-02-26T00:00:00Z' }),
            status: 200,
            arrivedAt: arrivalNow({ now: () => now.getTime() }),
          }),
        },
        batcher: { add: async (parts: object) => void (await loadBatch(warehouse, batchOf(runId, parts))) },
        store: warehouse,
        clock: systemClock,
        lagging: new Set(),
        doubts: new Map(),
        seenContent: new SeenContent(),
      } as unknown as Context;
      await fetchChild(context, task as Task);
      return brief((await dueLater()).filter(({ entityId }) => entityId === id));
    };
    const stored = `SELECT body ->> '$.title' AS title FROM raw.documents WHERE endpoint = 'topic' AND id = 'long'`;
    expect(await answered('long')).toEqual(['long changed']);
    expect(await warehouse.all(stored)).toEqual([{ title: 'stored' }]);
    expect([await answered(), await answered(), await answered()]).toEqual(Array(3).fill(['t changed']));
    expect(await answered()).toEqual([]);
  });

  test('is nothing of what is deleted', async () => {
    await fetched({ middle: 4.9 });
    const gone = item('topic_presence', 'middle', { deletedAt: '2026-02-28T00:00:00Z' });
    await load([gone]);
    expect(await strata(['middle'])).toEqual([]);
  });
});
