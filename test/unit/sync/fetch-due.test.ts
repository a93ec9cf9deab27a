import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunObserver } from '../../../src/base/observer.js';
import { resources } from '../../../src/contract/resources.js';
import type { Context } from '../../../src/sync/context.js';
import { type Task, wholeChild } from '../../../src/sync/due.js';
import { PhaseTracker, pruneStale } from '../../../src/sync/fetch-due.js';
import { batchOf, type Coverage } from '../../../src/warehouse/load/batch.js';
import type { Part } from '../../../src/warehouse/load/batcher.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, open, runId } from '../warehouse/support.js';

type Told = ['phase', string, number | null] | ['progress', number, number | null] | ['end', string];

function listener(): { told: Told[]; observer: RunObserver } {
  const told: Told[] = [];
  const observer: RunObserver = {
    phase: (name, total) => void told.push(['phase', name, total]),
    progress: (done, total) => void told.push(['progress', done, total]),
    phaseEnd: (result) => void told.push(['end', result]),
    note: () => undefined,
  };
  return { told, observer };
}

const task = (endpoint: string, reason: Task['reason'], entityId = 'x'): Task => {
  const child = resources.children.find(({ name }) => name === endpoint);
  if (!child) throw new Error(endpoint);
  return { ...wholeChild, child, entityId, reason, fingerprint: '' };
};

describe('PhaseTracker', () => {
  test('a phase is an endpoint and a reason; its end says how it went', () => {
    const { told, observer } = listener();
    const tasks = [task('topic', 'never'), task('topic', 'never'), task('topic', 'changed')];
    const tracker = new PhaseTracker(observer, tasks);
    const [first, second, third] = tasks as [Task, Task, Task];
    tracker.done(first, 'fetched');
    tracker.done(second, 'absent');
    tracker.done(third, 'failed');
    tracker.end();
    expect(told).toEqual([
      ['phase', 'topic (new)', 2],
      ['progress', 1, 2],
      ['progress', 2, 2],
      ['end', '1 fetched, 1 not found'],
      ['phase', 'topic (changed)', 1],
      ['progress', 1, 1],
      ['end', '0 fetched, 1 failed'],
    ]);
  });

  test('a run that stops says how much is left', () => {
    const { told, observer } = listener();
    const tasks = [task('topic', 'never'), task('topic', 'never')];
    const tracker = new PhaseTracker(observer, tasks);
    tracker.done(tasks[0] as Task, 'fetched');
    tracker.end();
    tracker.end();
    expect(told.filter(([kind]) => kind === 'end')).toEqual([['end', '1 fetched, 1 left']]);
  });
});

describe('pruneStale', () => {
  let warehouse: Warehouse;
  beforeAll(async () => {
    warehouse = await open();
  });
  afterAll(() => warehouse.close());

  const covered = (endpoint: string, entityId: string, second: number): Coverage => ({
    endpoint,
    entityId,
    fetchedAt: at(second),
    answerNo: second,
    fingerprint: 'f',
    counters: '{}',
    status: 200,
    error: null,
    reason: null,
  });

  async function removedIn(personGroups: 'without_company' | 'all'): Promise<Part> {
    let added: Part = {};
    const context = {
      config: { sync: { personGroups } },
      store: warehouse,
      clock: { now: () => at(100).getTime() },
      batcher: {
        flush: async () => undefined,
        add: async (part: Part) => {
          added = part;
        },
      },
    };
    await pruneStale(context as unknown as Context);
    return added;
  }

  test('removes conversations that came with the company since the person joined, and employees who are elsewhere', async () => {
    const people = ['moved', 'early', 'joined', 'unlisted', 'unsettled', 'alone'];
    await loadBatch(
      warehouse,
      batchOf(runId, {
        documents: [
          doc('people', 'moved', 5, { company: { id: 'c' } }),
          doc('people', 'early', 5, { company: { id: 'd' } }),
          doc('people', 'joined', 5, { company: { id: 'c' } }),
          doc('people', 'unlisted', 5, { company: { id: 'e' } }),
          doc('people', 'unsettled', 5, { company: { id: 'f' } }),
          ...['c', 'd', 'f'].map((id) => doc('companies', id, 1)),
          doc('person_companies', 'c', 1, {}, 'moved'),
          doc('person_companies', 'd', 1, {}, 'early'),
          doc('person_companies', 'c', 4, {}, 'joined'),
          doc('person_companies', 'e', 1, {}, 'unlisted'),
          doc('person_companies', 'f', 1, {}, 'unsettled'),
          doc('people', 'alone', 5, { company: null }),
          ...people.map((id) => doc('person_groups', `of ${id}`, 1, {}, id)),
          doc('company_employees', 'moved', 1, {}, 'a'),
          doc('company_employees', 'moved', 6, {}, 'c'),
          doc('company_employees', 'alone', 1, {}, 'a'),
          // Said after the person's own row: who knows better is not known.
          doc('company_employees', 'early', 9, {}, 'a'),
          doc('company_employees', 'stranger', 1, {}, 'a'),
        ],
        coverage: [
          ...people.map((id) => covered('person_groups', id, 2)),
          covered('company_groups', 'c', 3),
          covered('company_groups', 'd', 1),
          covered('company_groups', 'e', 3),
          { ...covered('company_groups', 'f', 3), counters: null },
        ],
      }),
    );
    const { removed, coverage } = await removedIn('without_company');
    expect(removed?.map(({ endpoint, id, parentId }) => `${endpoint} ${id} of ${parentId}`)).toEqual([
      'company_employees alone of a',
      'company_employees moved of a',
      'person_groups of moved of moved',
    ]);
    expect(coverage).toMatchObject([{ endpoint: 'person_groups', entityId: 'moved', fingerprint: null }]);

    const all = await removedIn('all');
    expect(all.removed?.filter(({ endpoint }) => endpoint === 'person_groups')).toEqual([]);
  });
});
