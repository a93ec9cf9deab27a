import { describe, expect, test } from 'vitest';
import type { Batch, Document, Loaded } from '../../../src/warehouse/batch.js';
import { Batcher } from '../../../src/warehouse/batcher.js';

const nothing: Loaded = {
  documents: { new: 0, changed: 0, removed: 0 },
  rows: {},
  newRejections: 0,
  newDrift: [],
};
const document = (id: string): Document => ({
  endpoint: 'topics',
  id,
  parentId: null,
  body: '{}',
  fetchedAt: new Date(0),
});
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function batcher(
  load: (batch: Batch) => Promise<Loaded>,
  limits = { documents: 3, answers: 100, seconds: 60 },
) {
  return new Batcher({ runId: 'r', limits, load, onLoaded: () => undefined });
}

describe('Batcher', () => {
  test('commits in order, one batch at a time, and loses nothing', async () => {
    const committed: string[][] = [];
    let under = 0;
    const subject = batcher(async (batch) => {
      expect(++under).toBe(1);
      await turn();
      committed.push(batch.documents.map(({ id }) => id));
      under -= 1;
      return nothing;
    });
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => subject.add({ documents: [document(String(index))] })),
    );
    await subject.flush();
    expect(committed.flat()).toEqual(Array.from({ length: 40 }, (_, index) => String(index)));
  });

  test('holds back whoever adds to a full batch while another is being committed', async () => {
    let release = () => {};
    const subject = batcher(
      () =>
        new Promise((resolve) => {
          release = () => resolve(nothing);
        }),
      { documents: 1, answers: 100, seconds: 60 },
    );
    await subject.add({ documents: [document('first')] });
    await turn();
    let added = false;
    const second = subject.add({ documents: [document('second')] }).then(() => {
      added = true;
    });
    await turn();
    expect(added).toBe(false);
    release();
    await second;
    expect(added).toBe(true);
  });

  test('a commit that fails is thrown to whoever adds afterwards, and to the flush', async () => {
    const subject = batcher(() => Promise.reject(new Error('disk full')), {
      documents: 1,
      answers: 1,
      seconds: 60,
    });
    await subject.add({ documents: [document('a')] });
    await turn();
    await expect(subject.add({ documents: [document('b')] })).rejects.toThrow('disk full');
    await expect(subject.flush()).rejects.toThrow('disk full');
  });

  test('is full by answers too, and takes requests along without being filled by them', async () => {
    const batches: Batch[] = [];
    const load = async (batch: Batch) => {
      batches.push(batch);
      return nothing;
    };
    const subject = batcher(load, { documents: 100, answers: 2, seconds: 60 });
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
});
