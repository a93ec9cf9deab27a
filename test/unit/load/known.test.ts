import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchOf, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, empty, members, oneWarehouse, runId } from '../../support/open-warehouse.js';
import { propertyRuns } from '../../support/runs.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

const id = fc.constantFrom('1', '2');
const text = fc.constantFrom('a', 'b');
const time = fc.constantFrom(null, '2026-01-02T00:00:00.000Z');
type Given = readonly [
  id: string,
  document: (second: number) => Partial<Pick<Document, 'endpoint'>> & Document,
];

/** A document of one of two people or topics; a company is told by its link as well. */
const given: fc.Arbitrary<Given> = fc.oneof(
  fc
    .tuple(id, fc.constantFrom('people', 'person', 'topics', 'topic', 'companies'), text)
    .map(
      ([one, kind, name]): Given => [
        one,
        (second) => doc(kind, one, second, { title: name, displayName: name }),
      ],
    ),
  fc
    .tuple(id, fc.constantFrom('people', 'person'), fc.constantFrom(null, '1', '2'))
    .map(
      ([one, kind, company]): Given => [
        one,
        (second) => doc(kind, one, second, { company: company && { id: company } }),
      ],
    ),
  fc
    .tuple(id, fc.constantFrom('person_presence', 'topic_presence'), time, time)
    .map(
      ([one, kind, deletedAt, unlistedSince]): Given => [
        one,
        (second) => doc(kind, one, second, { deletedAt, unlistedSince }),
      ],
    ),
  fc
    .tuple(id, id)
    .map(([one, company]): Given => [one, (second) => doc('person_companies', company, second, {}, one)]),
);

/** Large ones: a merge takes as long for one document as for many. One at least, or a test of few runs may compare nothing. */
const batches = fc.array(fc.array(given, { maxLength: 10 }), { minLength: 1, maxLength: 3 });

test('what merges keep of the items of lists is what would be made of the documents', async () => {
  const rows = () => warehouse.all('FROM ops.entities ORDER BY ALL');
  await fc.assert(
    fc.asyncProperty(batches, async (given) => {
      await empty(warehouse);
      await warehouse.readKnown();
      for (const [at, batch] of given.entries()) {
        const documents = batch.map(([, document], index) => document(at * 10 + index));
        const links = documents.filter(({ endpoint }) => endpoint === 'person_companies');
        const sets = links.map((one) => members(one.endpoint, one.parentId ?? '', one.answerNo, [one.id]));
        const { known } = await loadBatch(warehouse, batchOf(runId, { documents, sets }));
        const kept = await rows();
        await warehouse.run('DELETE FROM appended.made');
        const made = await warehouse.readKnown();
        expect(kept).toEqual(await rows());
        // A run is told of each row that differs.
        for (const row of known.entities) expect(made.entities).toContainEqual(row);
      }
    }),
    { numRuns: propertyRuns(3, 100) },
  );
});
