import { expect, test } from 'vitest';
import { resources } from '../../../src/contract/resources.js';
import { batchOf, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { sqlFile } from '../../../src/store/sql.js';
import type { Context } from '../../../src/sync/context.js';
import type { Staging } from '../../../src/sync/staging/staging.js';
import { tombstone, tripsFuse } from '../../../src/sync/tombstones.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

const limits = { maxShare: 0.2, maxRows: 20 };

test.each([
  [{ missing: 0, stored: 0, returned: 0 }, false, 'nothing stored, nothing returned'],
  [{ missing: 5, stored: 5, returned: 0 }, true, 'empty where there were rows, however few'],
  [{ missing: 20, stored: 40, returned: 20 }, false, 'half of them, but not more than 20'],
  [{ missing: 21, stored: 1_000, returned: 979 }, false, 'more than 20, but not a fifth'],
  [{ missing: 201, stored: 1_000, returned: 799 }, true, 'more than 20 and more than a fifth'],
  [{ missing: 200, stored: 1_000, returned: 800 }, false, 'a fifth is allowed'],
])('the deletion limit %j: %s (%s)', (count, trips) => {
  expect(tripsFuse(count, limits)).toBe(trips);
});

test('what belongs to an item goes with it, whether it has its own id or that of the item; its conversations go later, and what is said about it stays', async () => {
  const documents: Document[] = ['1', '2'].flatMap((id) => [
    ...['companies', 'company', 'company_activity', 'company_merges'].map((kind) => doc(kind, id, 1)),
    ...['company_groups', 'company_identities', 'company_history', 'company_employees'].map((kind) =>
      doc(kind, `x${id}`, 1, {}, id),
    ),
    doc('person_companies', id, 1, {}, `p${id}`),
  ]);
  await loadBatch(warehouse, batchOf(runId, { documents }));
  const staged: Staging[] = [];
  const batcher = { add: async (one: Staging) => void staged.push(one) };
  const context = { store: warehouse, resources, batcher } as unknown as Context;
  const list = resources.lists.find(({ name }) => name === 'companies');
  if (!list) throw new Error('there is no list of companies');
  const gone = { id: '1', arrivedAt: { at: at(2), no: 2 }, reason: undefined, outranked: [] };
  await tombstone(context, list, 'company_presence', gone);
  expect(
    staged.flatMap(({ removed }) => removed.map(({ endpoint, id }) => `${endpoint} ${id}`)).sort(),
  ).toEqual(['company_activity 1', 'company_employees x1', 'company_identities x1', 'person_companies 1']);
});

test('what was merged twice is merged into what its last merge names, whatever the offsets of the times', async () => {
  const merges = (id: string, mergedAt: string) =>
    doc('company_merges', id, 1, { merges: [{ id: 'm', mergedAt, sourceCompanies: [{ id: '1' }] }] });
  const documents = [
    doc('company_presence', '1', 1, { deletedAt: '2026-01-02T00:00:00Z' }),
    merges('2', '2026-01-02T01:00:00+05:30'),
    merges('3', '2026-01-01T22:00:00Z'),
  ];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  const sources = '$.sourceCompanies[*].id';
  const of = {
    list: 'companies',
    presence: 'company_presence',
    merges: 'company_merges',
    sources,
    target: '$.mergedInto.x',
  };
  expect(await warehouse.all(sqlFile('sync/merged'), of)).toMatchObject([{ merged_into_id: '3' }]);
});

test('what was merged into the same target twice has the id and the time of its last merge', async () => {
  const merge = (id: string, mergedAt: string) => ({
    id,
    mergedAt,
    sourceCompanies: [{ id: '1', name: 'One' }],
  });
  const merges = [merge('z', '2026-01-01T00:00:00Z'), merge('a', '2026-02-01T00:00:00Z')];
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('company_merges', '2', 1, { merges })] }));
  const rows = await warehouse.all<{ merge_id: string; merged_at: Date }>(sqlFile('models/merges'));
  expect(rows.map((row) => [row.merge_id, row.merged_at.toISOString()])).toEqual([
    ['a', '2026-02-01T00:00:00.000Z'],
  ]);
});
