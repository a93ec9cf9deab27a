import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../../src/api/attempt.js';
import type { Merged } from '../../../src/load/batch.js';
import { RunTally } from '../../../src/run/tally.js';

const attempt = (more: Partial<Attempt> = {}): Attempt => ({
  endpoint: 'topics',
  method: 'GET',
  path: '/topics',
  startedAt: new Date(0),
  ms: 5,
  bytes: 10,
  attempt: 1,
  status: 200,
  errorKind: undefined,
  requestId: undefined,
  serverDate: undefined,
  ...more,
});
const merged = (rejections: Merged['rejections']): Merged => ({
  documents: { new: 0, changed: 0, removed: 0 },
  rows: {},
  outdated: 0,
  rejections,
  newDrift: [],
  known: { entities: [], coverage: [] },
});

describe('RunTally', () => {
  test('how far the clock is ahead is the median of the attempts whose response had a date', () => {
    const tally = new RunTally();
    tally.attempt(attempt());
    expect(tally.clockAheadMs).toBeNull();
    const at = (ahead: number) =>
      attempt({ startedAt: new Date(100_500 + ahead), ms: 0, serverDate: new Date(100_000) });
    for (const ahead of [3_600_000, 10, 86_400_000]) tally.attempt(at(ahead));
    expect(tally.clockAheadMs).toBe(3_600_000);
    for (const ahead of [-20, 30]) tally.attempt(at(ahead));
    expect(tally.clockAheadMs).toBe(30);
  });

  test('counts every attempt, by endpoint, the most asked first', () => {
    const tally = new RunTally();
    tally.attempt(attempt());
    tally.attempt(attempt({ endpoint: 'topic', status: 429 }));
    tally.attempt(attempt({ endpoint: 'topic', status: undefined, errorKind: 'reset' }));
    expect(tally.requests).toEqual({ total: 3, rateLimited: 1, byEndpoint: { topic: 2, topics: 1 } });
    expect(Object.keys(tally.requests.byEndpoint)).toEqual(['topic', 'topics']);
  });

  test('tells rejections that are news from those that are not, with ten examples at most', () => {
    const tally = new RunTally();
    tally.merged(merged({ new: 0, known: 1, examples: [] }));
    expect(tally.rejected).toEqual({ new: 0, known: 1, examples: [] });
    const examples = Array.from({ length: 14 }, (_, index) => ({
      endpoint: 'topics',
      id: `t${index}`,
      path: index === 0 ? '' : 'title',
      reason: 'is wrong',
    }));
    tally.merged(merged({ new: 14, known: 0, examples }));
    expect(tally.rejected).toMatchObject({ new: 14, known: 1 });
    expect(tally.rejected.examples).toHaveLength(10);
    expect(tally.rejected.examples.slice(0, 2)).toEqual([
      { endpoint: 'topics', entityId: 't0', message: 'the item: is wrong', hint: null },
      { endpoint: 'topics', entityId: 't1', message: 'title: is wrong', hint: null },
    ]);
  });
});
