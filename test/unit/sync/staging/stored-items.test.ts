import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resources } from '../../../../src/contract/resources.js';
import { batchOf } from '../../../../src/load/batch.js';
import type { Part } from '../../../../src/load/batcher.js';
import type { Warehouse } from '../../../../src/load/warehouse.js';
import type { Context } from '../../../../src/sync/context.js';
import { leaveOutStored } from '../../../../src/sync/staging/stored-items.js';
import { loadBatch } from '../../../support/load-batch.js';
import { contents, doc, empty, members, oneWarehouse } from '../../../support/open-warehouse.js';
import { propertyRuns } from '../../../support/runs.js';

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
const person = fc.constantFrom('p1', 'p2');

type Answer = (no: number) => Part;

/** A page of the list of topics, with the people of the topic. */
const page: fc.Arbitrary<Answer> = fc
  .record({ id, title, people: fc.subarray(['p1', 'p2']), name: title })
  .map(listed);

/** Another answer about a topic: its detail, whether it exists, its people, and what goes with a person. */
const other: fc.Arbitrary<Answer> = fc
  .record({ kind: fc.constantFrom('topic', 'topic_presence', 'topic_people', 'removed'), id, title, person })
  .map(({ kind, id, title, person }) => (no) => {
    if (kind === 'removed')
      return { removed: [{ endpoint: 'topic_persons', id: person, parentId: id, answerNo: no }] };
    if (kind === 'topic_people') return { documents: [doc(kind, person, no, { name: title }, id)] };
    const deletedAt = title === 'a' ? '2026-01-01T00:00:00Z' : null;
    return { documents: [doc(kind, id, no, kind === 'topic' ? { title } : { deletedAt })] };
  });

interface Listed {
  readonly id: string;
  readonly title: string;
  readonly people: readonly string[];
  readonly name: string;
}

function listed({ id, title, people, name }: Listed): Answer {
  return (no) => ({
    documents: [
      doc('topics', id, no, { title }),
      ...people.map((person) => doc('topic_persons', person, no, { name }, id)),
    ],
    sets: [members('topic_persons', id, no, people)],
  });
}

/** What is staged one after the other. Pages are asked for together: they may arrive in the opposite order. */
const step: fc.Arbitrary<{ answers: readonly Answer[]; isReversed: boolean }> = fc.oneof(
  fc.record({ answers: fc.array(page, { minLength: 1, maxLength: 3 }), isReversed: fc.boolean() }),
  other.map((answer) => ({ answers: [answer], isReversed: false })),
);
const run = fc.array(step, { maxLength: 4 });

/** The parts of a run, numbered as they arrived. */
function partsOf(
  steps: readonly { answers: readonly Answer[]; isReversed: boolean }[],
  from: number,
): Part[] {
  return steps.flatMap(({ answers, isReversed }, at) =>
    answers.map((answer, nth) => answer(from + 10 * at + (isReversed ? 5 - nth : nth))),
  );
}

/** Every table, without which of two answers with the same content a document is said to be from. */
async function tablesOf(warehouse: Warehouse): Promise<unknown> {
  const { 'raw.documents': _, ...tables } = await contents(warehouse);
  const documents = await warehouse.all(
    'SELECT endpoint, id, parent_id, body FROM raw.documents ORDER BY ALL',
  );
  return { ...tables, documents };
}

test('what is left out would have changed nothing', async () => {
  let leftOut = 0;
  const property = fc.asyncProperty(fc.array(run, { minLength: 2, maxLength: 3 }), async (runs) => {
    await empty(all);
    await empty(news);
    for (const [night, steps] of runs.entries()) {
      const runId = `2026010${night + 1}T000000000Z-0001`;
      const batcher = { filter: (part: Part) => part };
      await leaveOutStored({ store: news, batcher, resources } as unknown as Context);
      for (const part of partsOf(steps, 1 + night * 100)) {
        const kept = batcher.filter(part);
        leftOut += (part.documents?.length ?? 0) - (kept.documents?.length ?? 0);
        await all.append(batchOf(runId, part));
        await news.append(batchOf(runId, kept));
      }
      await all.merge();
      await news.merge();
      expect(await tablesOf(news)).toEqual(await tablesOf(all));
    }
  });
  const page = listed({ id: '1', title: 'a', people: ['p1'], name: 'n' });
  const sameTwice = [[{ answers: [page], isReversed: false }], [{ answers: [page], isReversed: false }]];
  await fc.assert(property, { numRuns: propertyRuns(4, 100), examples: [[sameTwice]] });
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
