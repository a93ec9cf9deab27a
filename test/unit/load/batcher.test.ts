import { describe, expect, test, vi } from 'vitest';
import type { Batch, Document } from '../../../src/load/batch.js';
import { Batcher, type BatchLimits } from '../../../src/load/batcher.js';

const document = (id: string): Document => ({
  endpoint: 'topics',
  id,
  parentId: null,
  body: '{}',
  fetchedAt: new Date(0),
  answerNo: 1,
});
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function batcher(append: (batch: Batch) => Promise<void>, limits: BatchLimits) {
  return new Batcher({ runId: 'r', limits, append, merge: async () => {} });
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
        { megabytes: 1e-6, answers: 100, seconds: 5 },
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
    const subject = batcher(load, { megabytes: 1, answers: 2, seconds: 60 });
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

  test('is full by size too, and a larger answer is a batch of its own', async () => {
    const sizes: number[][] = [];
    const load = async (batch: Batch) => {
      sizes.push(batch.documents.map(({ body }) => body.length));
    };
    const subject = batcher(load, { megabytes: 0.001, answers: 100, seconds: 60 });
    const of = (...lengths: number[]) => ({
      documents: lengths.map((length) => ({ ...document('d'), body: 'x'.repeat(length) })),
    });
    await subject.add(of(400));
    await subject.add(of(500, 600, 2_000, 10));
    await subject.add(of(300));
    await subject.add(of(900));
    await subject.flush();
    expect(sizes).toEqual([[400], [500, 600, 2_000, 10], [300], [900]]);
  });
});
