import { expect, test } from 'vitest';
import { batchOf, type Coverage, type Drift, type Rejection, type Scan } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

const asked = (second: number, parts: Partial<Coverage> = {}): Coverage => ({
  endpoint: 'topic',
  entityId: 't1',
  fetchedAt: at(second),
  answerNo: second,
  fingerprint: `f${second}`,
  status: 200,
  error: null,
  reason: null,
  ...parts,
});
const failed = { status: 503, error: 'unavailable' };

test('coverage: a failure counts, and leaves what the last settled answer said', async () => {
  const state = async (...coverage: Coverage[]) => {
    await loadBatch(warehouse, batchOf(runId, { coverage }));
    const [row] = await warehouse.all(
      'SELECT fetched_at, fingerprint, status, error, reason, attempts FROM ops.coverage',
    );
    return row;
  };
  expect(await state(asked(0, failed))).toEqual({
    fetched_at: null,
    fingerprint: null,
    status: 503,
    error: 'unavailable',
    reason: null,
    attempts: 1,
  });
  expect(await state(asked(1))).toMatchObject({
    fetched_at: at(1),
    fingerprint: 'f1',
    error: null,
    attempts: 0,
  });
  expect(await state(asked(2, failed), asked(3, { status: null, error: 'timeout' }))).toMatchObject({
    fetched_at: at(1),
    fingerprint: 'f1',
    status: null,
    error: 'timeout',
    attempts: 2,
  });
  // A 404 settles it, though it is no good answer.
  expect(await state(asked(5, { status: 404, error: 'NOT_FOUND', reason: 'archived' }))).toMatchObject({
    fetched_at: at(5),
    fingerprint: 'f5',
    status: 404,
    reason: 'archived',
    attempts: 3,
  });
  expect(await state(asked(6), asked(7, failed))).toMatchObject({
    fetched_at: at(6),
    fingerprint: 'f6',
    attempts: 1,
  });
  expect(await warehouse.all('SELECT count(*) AS n FROM ops.coverage')).toEqual([{ n: 1 }]);
});

test('rejections: a repeated one is not new, and a record that loads resolves them', async () => {
  const rejection = (second: number, parts: Partial<Rejection> = {}): Rejection => ({
    endpoint: 'authors',
    parentId: null,
    id: 'a1',
    path: 'isBot',
    reason: 'not a boolean',
    body: '{"isBot":"maybe"}',
    seenAt: at(second),
    ...parts,
  });
  const rejected = async (...rejections: Rejection[]) =>
    (await loadBatch(warehouse, batchOf(runId, { rejections }))).rejections.new;
  expect(await rejected(rejection(0), rejection(1))).toBe(1);
  expect(await rejected(rejection(2))).toBe(0);
  expect(await rejected(rejection(3, { id: null }), rejection(3, { body: '{"isBot":"other"}' }))).toBe(1);
  expect(await rejected(rejection(4, { id: null, body: '{}' }))).toBe(0);

  await loadBatch(warehouse, batchOf(runId, { documents: [doc('authors', 'a1', 10)] }));
  const rows = await warehouse.all(
    'SELECT id, first_seen_at, last_seen_at, seen_count, resolved_at FROM ops.rejected_records ORDER BY id, seen_count DESC',
  );
  expect(rows).toEqual([
    { id: 'a1', first_seen_at: at(0), last_seen_at: at(3), seen_count: 4, resolved_at: at(10) },
    { id: null, first_seen_at: at(3), last_seen_at: at(4), seen_count: 2, resolved_at: null },
  ]);
  // It is rejected again: not news, and no longer settled.
  expect(await rejected(rejection(20))).toBe(0);
  expect(
    await warehouse.all("SELECT resolved_at FROM ops.rejected_records WHERE id = 'a1' ORDER BY seen_count"),
  ).toEqual([{ resolved_at: null }]);
  // In another run it is bad in another way, which is all that is still wrong with it.
  const { rejections: found } = await loadBatch(
    warehouse,
    batchOf('another run', {
      rejections: [rejection(21, { path: 'id' }), rejection(21, { path: 'displayName' })],
    }),
  );
  expect(found.new).toBe(0);
  expect(await warehouse.all("SELECT path FROM ops.rejected_records WHERE id = 'a1' ORDER BY path")).toEqual([
    { path: 'displayName' },
    { path: 'id' },
  ]);
});

test('rejections: a record counts once in a run, however often answers have it', async () => {
  const seen = { endpoint: 'authors', parentId: null, reason: 'odd', body: '{}', seenAt: at(0) };
  const rejected = async (run: string, ...paths: readonly (readonly [id: string, path: string])[]) => {
    const rejections = paths.map(([id, path]) => ({ ...seen, id, path }));
    const { rejections: found } = await loadBatch(warehouse, batchOf(run, { rejections }));
    return [found.new, found.known];
  };
  expect(await rejected(runId, ['a', 'isBot'], ['a', 'isBot'], ['a', 'sourceName'])).toEqual([1, 0]);
  expect(await rejected(runId, ['a', 'isBot'], ['b', 'isBot'], ['b', 'isBot'])).toEqual([1, 0]);
  expect(await rejected('another run', ['a', 'isBot'], ['a', 'isBot'])).toEqual([0, 1]);
  expect(await rejected('another run', ['a', 'isBot'], ['c', 'isBot'])).toEqual([1, 0]);
});

test('rejections without an id: a later run that gets everything resolves what it does not reject again', async () => {
  const seen = { path: 'id', reason: 'has no usable id', body: '{}', id: null, seenAt: at(0) };
  const rejections: Rejection[] = [
    { ...seen, endpoint: 'topic_people', parentId: 't1' },
    { ...seen, endpoint: 'topic_people', parentId: 't2' },
    { ...seen, endpoint: 'topics', parentId: null },
    { ...seen, endpoint: 'people', parentId: null },
  ];
  const whole = (second: number) => ({
    sets: [
      {
        endpoint: 'topic_people',
        parentId: 't1',
        ids: [],
        fetchedAt: at(second),
        answerNo: second,
        isWhole: true,
      },
    ],
    scans: [scanOf('topics', true), scanOf('people', false)],
  });
  const settled = async () =>
    (
      await warehouse.all<{ name: string }>(
        `SELECT concat_ws(' ', endpoint, parent_id) AS name FROM ops.rejected_records
          WHERE resolved_at IS NOT NULL ORDER BY name`,
      )
    ).map(({ name }) => name);
  // The last page of a list comes after the one that was rejected.
  await loadBatch(warehouse, batchOf(runId, { rejections }));
  await loadBatch(warehouse, batchOf(runId, whole(1)));
  expect(await settled()).toEqual([]);
  await loadBatch(warehouse, batchOf('another run', { rejections, ...whole(2) }));
  expect(await settled()).toEqual([]);
  await loadBatch(warehouse, batchOf('a third run', whole(3)));
  expect(await settled()).toEqual(['topic_people t1', 'topics']);
});

function scanOf(endpoint: string, verified: boolean): Scan {
  return {
    endpoint,
    verified,
    startedAt: at(0),
    endedAt: at(5),
    attempts: 1,
    pages: 1,
    items: 1,
    distinctIds: 1,
    totalCount: 1,
    pageBase: 1,
    pageSize: 100,
    form: 'paged',
    note: null,
    missing: 0,
    tombstoned: 0,
  };
}

test('drift is summed up by endpoint, path and kind, and returned when it is new', async () => {
  const drift = (second: number, path: string, count: number): Drift => ({
    endpoint: 'topics',
    path,
    kind: 'unknown_field',
    example: `e${second}`,
    count,
    seenAt: at(second),
  });
  const load = async (...found: Drift[]) =>
    (await loadBatch(warehouse, batchOf(runId, { drift: found }))).newDrift;
  expect(await load(drift(0, 'mood', 2), drift(1, 'mood', 3))).toEqual([{ ...drift(0, 'mood', 5) }]);
  expect(await load(drift(2, 'mood', 1), drift(2, 'tone', 1))).toEqual([drift(2, 'tone', 1)]);
  expect(
    await warehouse.all(
      'SELECT path, example, occurrences, first_seen_at, last_seen_at FROM ops.schema_drift ORDER BY path',
    ),
  ).toEqual([
    { path: 'mood', example: 'e0', occurrences: 6, first_seen_at: at(0), last_seen_at: at(2) },
    { path: 'tone', example: 'e2', occurrences: 1, first_seen_at: at(2), last_seen_at: at(2) },
  ]);
});
