import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import type { RebuildProgress } from '../../../../src/warehouse/load/rebuild.js';
import { loadBatch } from '../../../support/load-batch.js';
import { contents, doc, open, runId } from '../support.js';

test('rebuild corrects typed tables from the documents alone; a key that is repeated or null is found', async () => {
  const warehouse = await open();
  const documents = [
    doc('topics', 't1', 0, { title: 'One' }),
    doc('person_groups', 'g1', 0, { group: { id: 'g1' } }, 'p1'),
    doc('messages', 'm1', 0, { content: 'hello' }, 'g1'),
  ];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.refreshDerived();
  const before = await contents(warehouse);
  const runs = await warehouse.startRun({ command: 'rebuild', startedAt: new Date(), programVersion: '1' });

  await warehouse.run(
    "UPDATE topics SET title = 'spoilt'; DELETE FROM messages; INSERT INTO authors (id) VALUES ('ghost'); DELETE FROM group_people",
  );
  expect(await contents(warehouse)).not.toEqual(before);
  const steps: RebuildProgress[] = [];
  const done = await warehouse.rebuild((step) => steps.push(step));
  expect(await contents(warehouse)).toEqual(before);
  expect(done.documents).toBe(3);
  expect(done.rows).toMatchObject({ topics: 1, messages: 1, authors: 0, groups: 1, group_people: 1 });
  expect(steps.map(({ table }) => table)).toEqual(expect.arrayContaining(Object.keys(done.rows)));
  expect(steps.map(({ done: count, total }) => count < total)).not.toContain(false);
  expect(await warehouse.all('SELECT run_id FROM ops.runs')).toEqual([{ run_id: runs }]);

  expect(await warehouse.checkKeys()).toEqual([]);
  await warehouse.run(`
    INSERT INTO topics FROM topics;
    INSERT INTO topics (id) VALUES (NULL);
    INSERT INTO raw.documents FROM raw.documents WHERE endpoint = 'messages';
    INSERT INTO topic_versions FROM topic_versions;
    INSERT INTO ops.rejected_records (endpoint, path, reason, body_hash) VALUES ('a', 'b', 'c', 'd')`);
  expect(await warehouse.checkKeys()).toEqual(
    expect.arrayContaining([
      { table: 'main.topics', key: ['id'], repeated: 1, nulls: 1 },
      { table: 'main.topic_versions', key: ['topic_id', 'valid_from'], repeated: 1, nulls: 0 },
      { table: 'raw.documents', key: ['endpoint', 'parent_id', 'id'], repeated: 1, nulls: 0 },
    ]),
  );
  await warehouse.close();
});

test('a derived table that does not fit is computed in parts, with the same rows', async () => {
  // A part has one input row for each 200 bytes of the limit: 40,000 of these 45,000.
  const warehouse = await open(undefined, { memoryLimit: '8MB' });
  await warehouse.run(`
    INSERT INTO raw.documents (endpoint, id, parent_id, body, body_hash, fetched_at, answer_no, run_id)
    SELECT 'person_groups', 'g' || n // 20, 'p' || n % 20, '{}', 'h', TIMESTAMPTZ '2026-01-01', 1, 'r' FROM range(45000) r(n)`);
  const expected = 'SELECT id AS group_id, parent_id AS person_id FROM raw.documents';
  const differing = () =>
    warehouse.all(`SELECT count(*) AS rows FROM (
      (FROM (${expected}) EXCEPT ALL SELECT group_id, person_id FROM group_people) UNION ALL
      (SELECT group_id, person_id FROM group_people EXCEPT ALL FROM (${expected})))`);
  expect(await warehouse.refreshDerived()).toEqual({
    group_people: { new: 45_000, changed: 0, removed: 0 },
  });
  expect(await differing()).toEqual([{ rows: 0 }]);

  await warehouse.run(`DELETE FROM raw.documents WHERE id = 'g7';
    UPDATE group_people SET via = 'author' WHERE group_id = 'g8';
    INSERT INTO raw.documents BY NAME SELECT * REPLACE ('new' AS id) FROM raw.documents WHERE id = 'g9' LIMIT 1`);
  expect(await warehouse.refreshDerived()).toEqual({ group_people: { new: 1, changed: 20, removed: 20 } });
  expect(await differing()).toEqual([{ rows: 0 }]);

  await warehouse.close();
});
