import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchOf, type Document } from '../../../src/load/batch.js';
import { readModels } from '../../../src/load/models.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { contents, doc, empty, oneWarehouse } from '../../support/open-warehouse.js';
import { propertyRuns } from '../../support/runs.js';

/** Every kind of document that a model reads from the loader, with the parents and bodies that it may come with. */
const models = readModels().documents;
const kinds = [...new Set(models.flatMap(({ documents }) => documents))];
const nested = new Set(
  models.filter(({ scope }) => scope.document === 'parent_id').flatMap(({ documents }) => documents),
);
const alsoNested = ['messages', 'topic_groups', 'company_groups', 'person_groups'];
const histories = ['topic_history', 'company_history', 'person_history'];
const hasParent = (kind: string) => nested.has(kind) || alsoNested.includes(kind) || histories.includes(kind);

const word = fc.constantFrom('a', 'b', null);
const body = fc.record(
  {
    title: word,
    name: word,
    displayName: word,
    messageCount: fc.constantFrom(1, 2),
    company: fc.constantFrom(null, { id: 'c1', name: 'one' }, { id: 'c2' }),
    draft: fc.constantFrom({ title: 'd1', sourceRefs: [{ id: 's', type: 'topic' }] }, { title: 'd2' }),
    archive: fc.constantFrom(null, { reason: 'r' }),
    relevantMembers: fc.constant([{ memberId: 'm' }]),
    group: fc.constantFrom({ title: 'g' }, {}),
    topic: fc.constantFrom(null, { topicId: 't1' }, { topicId: 't2', topicTitle: 'two' }),
    reactions: fc.constantFrom([], [{ identifier: 'up', count: 1 }]),
    sourceStats: fc.constantFrom([], [{ source: 'slack', messageCount: 1 }]),
    platform: fc.constant('slack'),
    identities: fc.constant([{ platform: 'slack', platformId: 'U2' }]),
    deletedAt: fc.constantFrom(null, '2026-01-01T00:00:00Z'),
    mergedIntoId: word,
    mergedInto: fc.constantFrom(null, {
      targetTopic: { id: 'x' },
      targetPerson: { id: 'y' },
      targetCompany: { id: 'z' },
    }),
    changes: fc.constant({ priority: 'high' }),
  },
  { requiredKeys: [] },
);
const answer = fc
  .record({
    kind: fc.constantFrom(...kinds),
    id: fc.constantFrom('1', '2'),
    parent: fc.constantFrom('p', 'q'),
    body,
  })
  .map(
    ({ kind, id, parent, body: said }) =>
      (second: number): Document =>
        // An account is one document, as the staging names it.
        doc(kind, id, second, { ...said, platformId: `U${id}` }, hasParent(kind) ? parent : undefined),
  );
const days = fc.array(fc.array(answer, { minLength: 6, maxLength: propertyRuns(10, 30) }), {
  minLength: 2,
  maxLength: propertyRuns(2, 4),
});

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

test('every table, loaded day by day, equals the rebuilt one, and its keys are unique', async () => {
  await fc.assert(
    fc.asyncProperty(days, async (batches) => {
      await empty(warehouse);
      let second = 0;
      for (const [day, answers] of batches.entries()) {
        const documents = answers.map((make) => {
          second += 1;
          return make(second);
        });
        await loadBatch(warehouse, batchOf(`2026010${day + 1}T000000000Z-0001`, { documents }));
      }
      await warehouse.refreshDerived();
      const loaded = await contents(warehouse);
      expect(Object.keys(loaded).length).toBeGreaterThan(3);
      await warehouse.rebuild();
      expect(await contents(warehouse)).toEqual(loaded);
      expect(await warehouse.checkKeys()).toEqual([]);
    }),
    { numRuns: propertyRuns(1, 30) },
  );
});
