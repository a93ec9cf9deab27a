import { describe, expect, test, vi } from 'vitest';
import type { Batch, Document } from '../../../../src/warehouse/load/batch.js';
import { Batcher } from '../../../../src/warehouse/load/batcher.js';

const document = (id: string): Document => ({
  endpoint: 'topics',
  id,
  parentId: null,
  body: '{}',
  fetchedAt: new Date(0),
  answerNo: 1,
});
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function batcher(
  append: (batch: Batch, isWhole: boolean) => Promise<void>,
  limits = { megabytes: 1, documents: 3, answers: 100, seconds: 60 },
  merge = async () => {},
) {
  return new Batcher({ runId: 'r', limits, append, merge });
}

describe('Batcher', () => {
  test('after a failed commit nothing keeps the process alive', async () => {
    vi.useFakeTimers();
    try {
      let fail = () => {};
      const subject = batcher(
        () =>
          new Promise((_, reject) => {
            fail = () => reject(new Error('no memory'));
          }),
        { megabytes: 1, documents: 1, answers: 100, seconds: 5 },
      );
      const adding = Array.from({ length: 9 }, (_, index) =>
        subject.add({ documents: [document(String(index))] }),
      );
      const failed = Promise.all(adding.slice(1).map((one) => expect(one).rejects.toThrow('no memory')));
      await adding[0];
      fail();
      await failed;
      expect(vi.getTimerCount()).toBe(0);
      await expect(subject.add({ documents: [document('late')] })).rejects.toThrow('no memory');
      await expect(subject.flush()).rejects.toThrow('no memory');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('is full by the number of answers too, but not by requests', async () => {
    const batches: Batch[] = [];
    const load = async (batch: Batch) => {
      batches.push(batch);
    };
    const subject = batcher(load, { megabytes: 1, documents: 100, answers: 2, seconds: 60 });
    const request = {
      at: new Date(0),
      endpoint: 'topics',
      method: 'GET',
      path: '/topics',
      status: 200,
      ms: 1,
      bytes: 1,
      attempt: 1,
      error: null,
      requestId: null,
    };
    for (let count = 0; count < 5; count += 1) subject.record(request);
    await subject.add({});
    await turn();
    expect(batches).toHaveLength(0);
    await subject.add({});
    await turn();
    expect(batches.map(({ requests }) => requests.length)).toEqual([5]);
  });

  test('an answer larger than a batch goes into several; the last one has the state that records the fetch', async () => {
    const batches: Batch[] = [];
    const ends: boolean[] = [];
    const load = async (batch: Batch, isWhole: boolean) => {
      batches.push(batch);
      ends.push(isWhole);
    };
    const merged: number[] = [];
    const subject = batcher(load, undefined, async () => void merged.push(batches.length));
    const coverage = {
      ...{ endpoint: 'topic_groups', entityId: 't', fetchedAt: new Date(0), answerNo: 1, fingerprint: null },
      ...{ status: 200, error: null, reason: null },
    };
    await subject.add({ documents: [document('before')] });
    const set = { endpoint: 'topics', parentId: 't', ids: [], fetchedAt: new Date(0), answerNo: 1 };
    const documents = Array.from({ length: 8 }, (_, index) => document(String(index)));
    // Of a class, as a landing is, whose drift is no field of its own.
    class Answer {
      readonly documents = documents;
      readonly coverage = [coverage];
      readonly sets = [set];
      get drift() {
        return [
          {
            endpoint: 'topics',
            path: 'x',
            kind: 'unknown_field' as const,
            example: null,
            count: 1,
            seenAt: new Date(0),
          },
        ];
      }
    }
    await subject.add(new Answer());
    await subject.flush();
    expect(batches.flatMap((batch) => batch.documents.map(({ id }) => id))).toEqual([
      'before',
      ...documents.map(({ id }) => id),
    ]);
    for (const batch of batches) expect(batch.documents.length).toBeLessThanOrEqual(3);
    const last = batches.at(-1);
    expect([last?.coverage, last?.sets, last?.drift.length]).toEqual([[coverage], [set], 1]);
    for (const batch of batches.slice(0, -1))
      expect([...batch.coverage, ...batch.sets, ...batch.drift]).toEqual([]);
    expect(batches.length).toBeGreaterThanOrEqual(3);
    // Nothing may be merged between the parts of an answer.
    expect(ends.slice(1)).toEqual(batches.slice(1).map((batch) => batch === last));
    expect(merged).toEqual([batches.length]);
  });

  test('between large answers that follow each other at once, something may be merged', async () => {
    const ends: boolean[] = [];
    const subject = batcher(async (_, isWhole) => {
      await turn();
      ends.push(isWhole);
    });
    const large = () => ({ documents: Array.from({ length: 8 }, (_, index) => document(String(index))) });
    await Promise.all(Array.from({ length: 5 }, () => subject.add(large())));
    await subject.flush();
    expect(ends.filter((isWhole) => isWhole)).toHaveLength(5);
  });

  test('is full by size too, and a larger answer is split at that size', async () => {
    const sizes: number[][] = [];
    const load = async (batch: Batch) => {
      sizes.push(batch.documents.map(({ body }) => body.length));
    };
    const subject = batcher(load, { megabytes: 0.001, documents: 100, answers: 100, seconds: 60 });
    const of = (...lengths: number[]) => ({
      documents: lengths.map((length) => ({ ...document('d'), body: 'x'.repeat(length) })),
    });
    await subject.add(of(400));
    await subject.add(of(500, 600, 2_000, 10));
    await subject.add(of(900));
    await subject.flush();
    expect(sizes).toEqual([[400], [500, 600], [2_000], [10, 900]]);
  });
});
