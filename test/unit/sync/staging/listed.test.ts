import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { resources } from '../../../../src/contract/resources.js';
import { batchOf, type Document } from '../../../../src/load/batch.js';
import type { Warehouse } from '../../../../src/load/warehouse.js';
import { Known } from '../../../../src/run/known.js';
import { stageList } from '../../../../src/sync/staging/answers.js';
import { ListedItems } from '../../../../src/sync/staging/listed.js';
import { Staging } from '../../../../src/sync/staging/staging.js';
import { at, contents, doc, empty, oneWarehouse } from '../../../support/open-warehouse.js';
import { propertyRuns } from '../../../support/runs.js';

let all: Warehouse;
let news: Warehouse;
oneWarehouse((warehouse) => {
  all = warehouse;
});
oneWarehouse((warehouse) => {
  news = warehouse;
});

const topics = {
  name: 'topics',
  item: z.object({}),
  key: ['id'],
  embeds: 'authors_and_persons',
} as const;

interface Topic {
  readonly id: string;
  readonly title: string;
  readonly persons: readonly { readonly id: string; readonly displayName: string }[];
}

const title = fc.constantFrom('a', 'b');
const id = fc.constantFrom('1', '2');
const topic: fc.Arbitrary<Topic> = fc
  .record({ id, title, people: fc.subarray(['p1', 'p2']), name: title })
  .map(({ people, name, ...one }) => ({
    ...one,
    persons: people.map((person) => ({ id: person, displayName: name })),
  }));

/** Another answer about a topic, or that a person is gone. */
const other = fc
  .record({
    kind: fc.constantFrom('topic', 'topic_presence', 'topic_people', 'removed'),
    id,
    title,
    person: fc.constantFrom('p1', 'p2'),
  })
  .map(({ kind, id, title, person }) => (no: number) => {
    if (kind === 'removed')
      return { removed: [{ endpoint: 'topic_persons', id: person, parentId: id, answerNo: no }] };
    if (kind === 'topic_people') return { documents: [doc(kind, person, no, { name: title }, id)] };
    const deletedAt = title === 'a' ? '2026-01-01T00:00:00Z' : null;
    return { documents: [doc(kind, id, no, kind === 'topic' ? { title } : { deletedAt })] };
  });

/** The pages of a list, which are asked for together and may arrive in the opposite order; then other answers. */
const night = fc.record({
  pages: fc.array(topic, { maxLength: 4 }),
  isReversed: fc.boolean(),
  others: fc.array(other, { maxLength: 2 }),
});
const nights = fc.array(fc.array(night, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 });

const nothingKnown = { entity: () => undefined };

/** One warehouse, and what a process knows of it. */
class Worker {
  documents: Document[] = [];
  #known = new Known(resources);
  #listed = new ListedItems(nothingKnown);

  constructor(
    readonly warehouse: Warehouse,
    private readonly knows: boolean,
  ) {}

  /** A run starts. */
  async start(): Promise<void> {
    this.#known = new Known(resources, await this.warehouse.readKnown());
    this.#listed = new ListedItems(this.knows ? this.#known : nothingKnown);
  }

  async list(runId: string, page: Topic, no: number): Promise<void> {
    const staging = new Staging({ at: at(no), no });
    stageList(staging, topics, [page], this.#listed);
    this.documents.push(...staging.documents);
    await this.warehouse.append(batchOf(runId, staging));
  }

  async merge(): Promise<void> {
    const merged = await this.warehouse.merge();
    if (merged) this.#known.apply(merged.known);
  }
}

/** Every table, without which of two answers with the same content a document is said to be from, and what a run knows. */
async function tablesOf({ warehouse }: Worker): Promise<unknown> {
  const { 'raw.documents': _, 'ops.entities': _known, ...tables } = await contents(warehouse);
  const documents = await warehouse.all(
    'SELECT endpoint, id, parent_id, body FROM raw.documents ORDER BY ALL',
  );
  const entities = await warehouse.all('SELECT * EXCLUDE (item_hash) FROM ops.entities ORDER BY ALL');
  return { ...tables, documents, entities };
}

test('what is left out would have changed nothing', async () => {
  let leftOut = 0;
  const property = fc.asyncProperty(nights, async (runs) => {
    const workers = [new Worker(all, false), new Worker(news, true)] as const;
    for (const { warehouse } of workers) await empty(warehouse);
    for (const [run, parts] of runs.entries()) {
      const runId = `2026010${run + 1}T000000000Z-0001`;
      for (const worker of workers) await worker.start();
      for (const [part, { pages, isReversed, others }] of parts.entries()) {
        const from = 1 + run * 100 + part * 30;
        for (const worker of workers) {
          for (const [nth, page] of pages.entries())
            await worker.list(runId, page, from + (isReversed ? 9 - nth : nth));
          await worker.merge();
          for (const [nth, answer] of others.entries())
            await worker.warehouse.append(batchOf(runId, answer(from + 10 + nth)));
          await worker.merge();
        }
      }
      const [whole, least] = await Promise.all(workers.map(tablesOf));
      expect(least).toEqual(whole);
    }
    leftOut += workers[0].documents.length - workers[1].documents.length;
  });
  const page = { id: '1', title: 'a', persons: [{ id: 'p1', displayName: 'n' }] };
  const same = [{ pages: [page], isReversed: false, others: [] }];
  await fc.assert(property, { numRuns: propertyRuns(1, 30), examples: [[[same, same]]] });
  expect(leftOut).toBeGreaterThan(0);
});

test('a listing without news is not stored, and is after another answer about it', async () => {
  const page = { id: '1', title: 'a', persons: [] };
  await empty(news);
  const worker = new Worker(news, true);
  const listed = async (no: number) => {
    await worker.start();
    worker.documents = [];
    await worker.list('20260101T000000000Z-0001', page, no);
    await worker.merge();
    return worker.documents.length;
  };
  expect([await listed(1), await listed(11)]).toEqual([1, 0]);
  await news.append(
    batchOf('20260101T000000000Z-0001', { documents: [doc('topic', '1', 20, { title: 'b' })] }),
  );
  await worker.merge();
  expect([await listed(31), await listed(41)]).toEqual([1, 0]);
});

test('a page that is older than one that was left out is left out too', () => {
  const known = { entity: () => ({ itemHash: 5 }) };
  const listed = new ListedItems(known as unknown as Known);
  expect(listed.isStored('topics', '1', 5, 12)).toBe(true);
  expect(listed.isStored('topics', '1', 6, 11)).toBe(true);
  expect(listed.isStored('topics', '1', 6, 13)).toBe(false);
  expect(listed.isStored('topics', '1', 5, 14)).toBe(false);
});
