import { expect, test } from 'vitest';
import { open } from '../support.js';

test('a key that is repeated or null is found', async () => {
  const warehouse = await open();
  await warehouse.run(`
    INSERT INTO topics (id) VALUES ('t1'), ('t1'), (NULL);
    INSERT INTO topic_versions (topic_id, valid_from) SELECT 't1', TIMESTAMPTZ '2026-01-01' FROM range(2);
    INSERT INTO ops.rejected_records (endpoint, path, reason, body_hash) VALUES ('a', 'b', 'c', 'd')`);
  expect(await warehouse.checkKeys()).toEqual([
    { table: 'main.topics', key: ['id'], repeated: 1, nulls: 1 },
    { table: 'main.topic_versions', key: ['topic_id', 'valid_from'], repeated: 1, nulls: 0 },
  ]);
  await warehouse.close();
});

test('a derived table that does not fit is computed in parts, with the same rows', async () => {
  const warehouse = await open(undefined, { memoryLimit: '4MB' });
  await warehouse.run(`
    INSERT INTO raw.documents (endpoint, id, parent_id, body, body_hash, fetched_at, answer_no, run_id)
    SELECT 'person_groups', 'g' || n // 20, 'p' || n % 20, '{}', 'h', TIMESTAMPTZ '2026-01-01', 1, 'r' FROM range(22000) r(n)`);
  const expected = 'SELECT id AS group_id, parent_id AS person_id FROM raw.documents';
  const differing = () =>
    warehouse.all(`SELECT count(*) AS rows FROM (
      (FROM (${expected}) EXCEPT ALL SELECT group_id, person_id FROM group_people) UNION ALL
      (SELECT group_id, person_id FROM group_people EXCEPT ALL FROM (${expected})))`);
  expect(await warehouse.refreshDerived()).toEqual({
    group_people: { new: 22_000, changed: 0, removed: 0 },
  });
  expect(await differing()).toEqual([{ rows: 0 }]);

  await warehouse.run(`DELETE FROM raw.documents WHERE id = 'g7';
    UPDATE group_people SET via = 'author' WHERE group_id = 'g8';
    INSERT INTO raw.documents BY NAME SELECT * REPLACE ('new' AS id) FROM raw.documents WHERE id = 'g9' LIMIT 1`);
  expect(await warehouse.refreshDerived()).toEqual({ group_people: { new: 1, changed: 20, removed: 20 } });
  expect(await differing()).toEqual([{ rows: 0 }]);

  await warehouse.close();
});
