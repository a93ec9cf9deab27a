import { describe, expect, test } from 'vitest';
import { arrivalNow, systemClock } from '../../../src/base/clock.js';
import { person } from '../../../src/contract/people.js';
import type { ChildName } from '../../../src/contract/resources.js';
import { batchOf, type Coverage, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { clampTimes } from '../../../src/sync/ages.js';
import type { Context, SyncSettings } from '../../../src/sync/context.js';
import { taskOf } from '../../../src/sync/due.js';
import { fetchChild } from '../../../src/sync/fetch-child.js';
import { SeenContent } from '../../../src/sync/staging/seen-content.js';
import type { Task } from '../../../src/sync/task.js';
import { loadBatch } from '../../support/load-batch.js';
import { oneWarehouse, runId } from '../../support/open-warehouse.js';
import { plainTopic } from '../../support/plain-api.js';
import { children, daysAgo, dueIn, inputFrom, item, now } from './due-support.js';

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

describe('what documents say of what is due', () => {
  test('what a clock that was ahead fetched in the future is swept as if it was fetched when that was noticed', async () => {
    await load([item('topics', 't')]);
    await fetch(['topic'], { fetchedAt: daysAgo(-400) });
    expect(await dueOf('topic')).toEqual([]);
    await clampTimes({ runId, store: warehouse, clock: { ...systemClock, now: () => now.getTime() } });
    const later = (days: number) => due(warehouse, of('topic'), settings, daysAgo(-days));
    expect(await later(1)).toEqual([]);
    expect(brief(await later(11))).toEqual(['t sweep']);
  });

  test('what a clock that was ahead fetched keeps its mark until one of its values changes', async () => {
    await load([{ ...item('topics', 't'), fetchedAt: daysAgo(-400) }]);
    const marks = () => warehouse.all('SELECT synced_at, run_id FROM topics');
    const before = await marks();
    await clampTimes({ runId: '2', store: warehouse, clock: { ...systemClock, now: () => now.getTime() } });
    expect(await marks()).toEqual(before);
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
    await load([{ ...item('topic_persons', '1'), parentId: 'talk', answerNo: 1 }]);
    expect(brief(await dueOf('topic_people', 'person'))).toEqual([]);
    await load([{ ...item('topic_persons', '2'), parentId: 'talk', answerNo: 3 }]);
    expect(brief(await dueOf('topic_people', 'person'))).toEqual(['talk changed']);
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

  test('the conversations of a company, of whose people one lost the account that wrote in them', async () => {
    const accounts = ['U1', 'U2'].map((id) => ({
      ...item('person_identities', `slack:${id}`),
      parentId: '1',
    }));
    const wrote = (account: string) => [
      item('authors', `a${account}`, { sourceName: 'slack', sourceAuthorId: account }),
      { ...item('messages', `m${account}`, { author: { id: `a${account}` } }), parentId: `g${account}` },
    ];
    await load([
      ...['7', '8'].map((id) => item('companies', id)),
      item('people', '1', { company: { id: '7' } }),
      ...accounts,
      ...wrote('U1'),
      { ...item('company_groups', 'gU1'), parentId: '7' },
    ]);
    await fetch(['company_groups']);
    const has = (answerNo: number, ...ids: string[]) =>
      loadBatch(
        warehouse,
        batchOf(runId, {
          sets: [
            { endpoint: 'person_identities', parentId: '1', ids, fetchedAt: now, answerNo, isWhole: true },
          ],
          coverage: [covered('person_identities', '1', { answerNo })],
        }),
      );
    await has(3, 'slack:U1');
    expect(await dueOf('company_groups')).toEqual([]);
    await has(4);
    expect(brief(await dueOf('company_groups'))).toEqual(['7 changed']);
  });

  test('no detail of a person whom the list has whole, whoever works where', async () => {
    const whole = Object.fromEntries(Object.keys(person.shape).map((field) => [field, null]));
    await load(['1', '2'].map((id) => item('people', id, { ...whole, id })));
    await load([{ ...item('person_companies', '7'), parentId: '1' }, item('people', '3', { id: '3' })]);
    expect(brief(await dueOf('person'))).toEqual(['3 never']);
  });
});

describe('a detail', () => {
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
        heldBack: new Map(),
        lost: new Map(),
        gone: null,
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
});
