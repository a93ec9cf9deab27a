import { beforeEach, describe, expect, test } from 'vitest';
import { due, look, notDue } from '../../../src/sync/due.js';
import { explainDue } from '../../../src/sync/explain-due.js';
import { batchOf, type Coverage } from '../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { oneWarehouse, runId } from '../warehouse/support.js';
import { children, daysAgo, item, now } from './due-support.js';

const settings = { sync: { recheck: 1, personGroups: 'without_company' }, serve: { freshness: 26 } } as const;
const own = children.filter(({ name }) => name === 'topic');

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

/** Topics that were fetched so many days ago. */
async function fetched(days: Readonly<Record<string, number>>): Promise<void> {
  const documents = Object.keys(days).map((id) => item('topics', id, { updatedAt: '2026-02-27T00:00:00Z' }));
  await loadBatch(warehouse, batchOf(runId, { documents }));
  const coverage = (await due(warehouse, own, settings, now)).map(({ entityId, fingerprint }): Coverage => {
    const good = { answerNo: 1, status: 200, error: null, reason: null };
    const fetchedAt = daysAgo(days[entityId] ?? 0);
    return { endpoint: 'topic', entityId, fetchedAt, fingerprint, ...good };
  });
  await loadBatch(warehouse, batchOf(runId, { coverage }));
}

/** Checks of topics at four days, of which so many found a difference. */
const checks = (count: number, differing: number) =>
  warehouse.run(`INSERT INTO ops.audits BY NAME
    SELECT 'topic' AS resource, 4.0 AS age_days, range < ${differing} AS differs FROM range(${count})`);

describe('ages', () => {
  beforeEach(() => fetched({ old: 11, middle: 4.9, young: 0.6 }));
  const dueNow = async () =>
    (await due(warehouse, own, settings, now)).map(({ entityId, isEarly }) => [entityId, isEarly]);

  test('stay as they are without checks, and when these found little', async () => {
    expect(await dueNow()).toEqual([['old', false]]);
    await checks(400, 4);
    expect(await dueNow()).toEqual([['old', false]]);
  });

  test('get shorter with what checks found; what is due for that alone comes last', async () => {
    await checks(400, 200);
    expect(await dueNow()).toEqual([
      ['old', false],
      ['middle', true],
    ]);
  });

  test('are explained', async () => {
    expect((await explainDue(warehouse, own, 'young', settings, now))[0]).toMatchObject({
      ...{ isDue: false, maxAgeDays: 10, measured: null },
    });
    await checks(400, 200);
    const [young] = await explainDue(warehouse, own, 'young', settings, now);
    // 200 changes in 200 times four days and 200 times two, and three in as many hundred days, as the age assumes.
    const daysBetween = 1_500 / 203;
    expect(young).toMatchObject({ isDue: false, measured: { checks: 400 } });
    expect(young?.measured?.daysBetween).toBeCloseTo(daysBetween, 6);
    expect(young?.maxAgeDays).toBe(10 / 8);
    const none = { ...settings, serve: { freshness: { stale: 0 } } };
    expect((await explainDue(warehouse, own, 'young', none, now))[0]).toMatchObject({
      maxAgeDays: 10,
      measured: null,
    });
  });
});

describe('what may be checked', () => {
  const strata = async (entityIds: readonly string[]) => {
    const found = (await notDue(warehouse, own, settings, now, entityIds)).map(({ entityId }) => entityId);
    const { current } = await look(warehouse, own, settings, now);
    expect(current.map(({ entityId }) => entityId).filter((id) => entityIds.includes(id))).toEqual(found);
    return found;
  };

  test('is not due, and was answered well', async () => {
    await fetched({ old: 11, middle: 4.9, young: 0.6 });
    expect(await strata(['old', 'middle', 'young'])).toEqual(['middle', 'young']);
    expect(await strata(['young'])).toEqual(['young']);
  });

  test.each([
    ['failed when it was asked for last', "error = 'timed out'"],
    ['is in doubt, and asked again later', "reason = 'again: short', attempts = 9"],
  ])('is nothing that %s', async (_, state) => {
    await fetched({ middle: 4.9 });
    await warehouse.run(`UPDATE ops.coverage SET ${state}`);
    expect(await due(warehouse, own, settings, now)).toEqual([]);
    expect(await strata(['middle'])).toEqual([]);
  });

  test('is nothing of what is deleted', async () => {
    await fetched({ middle: 4.9 });
    const gone = item('topic_presence', 'middle', { deletedAt: '2026-02-28T00:00:00Z' });
    await loadBatch(warehouse, batchOf(runId, { documents: [gone] }));
    expect(await strata(['middle'])).toEqual([]);
  });
});
