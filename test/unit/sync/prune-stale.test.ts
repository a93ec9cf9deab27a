import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Context } from '../../../src/sync/context.js';
import { pruneStale } from '../../../src/sync/prune-stale.js';
import { batchOf, type Coverage } from '../../../src/warehouse/load/batch.js';
import type { Part } from '../../../src/warehouse/load/batcher.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { at, doc, open, runId } from '../warehouse/support.js';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await open();
});
afterAll(() => warehouse.close());

const covered = (endpoint: string, entityId: string, second: number): Coverage => ({
  endpoint,
  entityId,
  fetchedAt: at(second),
  fingerprint: 'f',
  status: 200,
  error: null,
  reason: null,
});

async function forgotten(personGroups: 'without_company' | 'all'): Promise<Part> {
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

test('conversations of who has a company by now, once the company was asked; employees who are elsewhere', async () => {
  await warehouse.load(
    batchOf(runId, {
      documents: [
        doc('people', 'moved', 5, { company: { id: 'c' } }),
        doc('people', 'early', 5, { company: { id: 'd' } }),
        doc('people', 'alone', 5, { company: null }),
        ...['moved', 'early', 'alone'].map((id) => doc('person_groups', `of ${id}`, 1, {}, id)),
        doc('company_employees', 'moved', 1, {}, 'a'),
        doc('company_employees', 'moved', 6, {}, 'c'),
        doc('company_employees', 'alone', 1, {}, 'a'),
        // Said after the person's own row: who knows better is not known.
        doc('company_employees', 'early', 9, {}, 'a'),
        doc('company_employees', 'stranger', 1, {}, 'a'),
      ],
      coverage: [
        ...['moved', 'early', 'alone'].map((id) => covered('person_groups', id, 2)),
        covered('company_groups', 'c', 3),
        covered('company_groups', 'd', 1),
      ],
    }),
  );
  const { removed, coverage } = await forgotten('without_company');
  expect(removed?.map(({ endpoint, id, parentId }) => `${endpoint} ${id} of ${parentId}`)).toEqual([
    'company_employees alone of a',
    'company_employees moved of a',
    'person_groups of moved of moved',
  ]);
  expect(coverage).toMatchObject([{ endpoint: 'person_groups', entityId: 'moved', fingerprint: null }]);

  const all = await forgotten('all');
  expect(all.removed?.filter(({ endpoint }) => endpoint === 'person_groups')).toEqual([]);
});
