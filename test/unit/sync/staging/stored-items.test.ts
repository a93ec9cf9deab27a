import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resources } from '../../../../src/contract/resources.js';
import type { Context } from '../../../../src/sync/context.js';
import { leaveOutStored } from '../../../../src/sync/staging/stored-items.js';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import type { Part } from '../../../../src/warehouse/load/batcher.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../../support/load-batch.js';
import { propertyRuns } from '../../../support/runs.js';
import { contents, doc, empty, members, oneWarehouse } from '../../warehouse/support.js';

let all: Warehouse;
let news: Warehouse;
oneWarehouse((warehouse) => {
  all = warehouse;
});
oneWarehouse((warehouse) => {
  news = warehouse;
});

const title = fc.constantFrom('a', 'b');
const id = fc.constantFrom('1', '2');

/** What an answer brings: a topic of the list with its people, a detail, a presence, or a person who is gone. */
type Answer = (no: number) => Part;
const answer: fc.Arbitrary<Answer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ id, title, people: fc.subarray(['p1', 'p2']), name: title }).map(listed),
  },
  fc
    .record({ id, title })
    .map((one) => (no: number) => ({ documents: [doc('topic', one.id, no, { title: one.title })] })),
  fc
    .record({ id, deletedAt: fc.constantFrom(null, '2026-01-01T00:00:00Z') })
    .map(({ id, deletedAt }) => (no: number) => ({
      documents: [doc('topic_presence', id, no, { deletedAt })],
    })),
  fc.record({ id, person: fc.constantFrom('p1', 'p2') }).map(({ id, person }) => (no: number) => ({
    removed: [{ endpoint: 'topic_persons', id: person, parentId: id, answerNo: no }],
  })),
  fc
    .record({ id, person: fc.constantFrom('p1', 'p2'), name: title })
    .map(({ id, person, name }) => (no: number) => ({
      documents: [doc('topic_people', person, no, { name }, id)],
    })),
);

function listed({
  id,
  title,
  people,
  name,
}: {
  id: string;
  title: string;
  people: string[];
  name: string;
}): Answer {
  return (no) => ({
    documents: [
      doc('topics', id, no, { title }),
      ...people.map((person) => doc('topic_persons', person, no, { name }, id)),
    ],
    sets: [members('topic_persons', id, no, people)],
  });
}

/** Answers in the order in which they are staged, each with how much later or earlier it arrived. */
const run = fc.array(fc.record({ answer, late: fc.integer({ min: -2, max: 2 }) }), { maxLength: 6 });

/** Stores the parts of a run; `merges` says after which it is merged. */
async function store(
  warehouse: Warehouse,
  runId: string,
  parts: readonly Part[],
  each: (part: Part) => Part,
) {
  for (const [at, part] of parts.entries()) {
    await warehouse.append(batchOf(runId, each(part)));
    if (at === 2) await warehouse.merge();
  }
  await warehouse.merge();
}

test('what is left out would have changed nothing, in whatever order answers come', async () => {
  let leftOut = 0;
  const property = fc.asyncProperty(fc.array(run, { minLength: 2, maxLength: 4 }), async (runs) => {
    await empty(all);
    await empty(news);
    for (const [night, answers] of runs.entries()) {
      const runId = `2026010${night + 1}T000000000Z-0001`;
      const parts = answers.map((one, at) => one.answer(night * 100 + 10 + 2 * at + one.late));
      await store(all, runId, parts, (part) => part);
      const batcher = { filter: (part: Part) => part };
      await leaveOutStored({ store: news, batcher, resources } as unknown as Context);
      await store(news, runId, parts, (part) => {
        const kept = batcher.filter(part);
        leftOut += (part.documents?.length ?? 0) - (kept.documents?.length ?? 0);
        return kept;
      });
      expect(await contents(news)).toEqual(await contents(all));
    }
  });
  await fc.assert(property, { numRuns: propertyRuns(4, 60), endOnFailure: true });
  expect(leftOut).toBeGreaterThan(0);
}, 120_000);

test('a listing without news is not stored', async () => {
  const again = listed({ id: '1', title: 'a', people: ['p1', 'p2'], name: 'n' });
  const empty = listed({ id: '2', title: 'a', people: [], name: 'n' });
  await loadBatch(news, batchOf('20260101T000000000Z-0001', again(1)));
  await loadBatch(news, batchOf('20260101T000000000Z-0001', empty(2)));
  const batcher = { filter: (part: Part) => part };
  await leaveOutStored({ store: news, batcher, resources } as unknown as Context);
  for (const part of [again(11), empty(12)])
    expect(batcher.filter(part)).toMatchObject({ documents: [], sets: [] });
});
