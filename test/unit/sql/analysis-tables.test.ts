import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { open } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await open();
});
afterAll(() => warehouse.close());

test('a conversation is in a topic from the first answer that has it to the first that has not', async () => {
  const listed = async (day: number, groups: Readonly<Record<string, string>>) => {
    const values = Object.entries(groups).map(([group, topic]) => `('${topic}', '${group}')`);
    await warehouse.run(`
      MERGE INTO topic_groups USING (VALUES ${values.join(', ')}) AS now (topic_id, group_id) USING (topic_id, group_id)
       WHEN NOT MATCHED THEN INSERT (topic_id, group_id, synced_at) VALUES (topic_id, group_id, TIMESTAMPTZ '2026-03-0${day}')
       WHEN NOT MATCHED BY SOURCE THEN DELETE;
      DELETE FROM ops.coverage;
      INSERT INTO ops.coverage (endpoint, entity_id, fetched_at)
      SELECT 'topic_groups', id, TIMESTAMPTZ '2026-03-0${day}' FROM topics`);
    await warehouse.refreshDerived();
  };
  await warehouse.run(`INSERT INTO topics (id, created_at) VALUES
    ('a', TIMESTAMPTZ '2026-01-01'), ('b', TIMESTAMPTZ '2026-01-01'), ('late', TIMESTAMPTZ '2026-01-01')`);
  await listed(1, { g1: 'a', g2: 'b' });
  await listed(2, { g1: 'a', g2: 'b', g3: 'a', g4: 'late' });
  await listed(3, { g1: 'b', g2: 'b', g3: 'a', g4: 'late' });
  await warehouse.run(
    `UPDATE topics SET deleted_at = TIMESTAMPTZ '2026-03-05', merged_into_id = 'b' WHERE id = 'a'`,
  );
  await listed(6, { g1: 'b', g2: 'b', g3: 'b', g4: 'late' });
  // It says the same when it is computed again.
  await warehouse.refreshDerived();
  const rows =
    await warehouse.all(`SELECT concat_ws(' ', group_id, topic_id, day(first_seen_at), coalesce(day(last_seen_at)::VARCHAR, '-'),
    coalesce(previous_topic_id, '-'), reason) AS said FROM topic_group_versions ORDER BY group_id, first_seen_at`);
  expect(rows.map(({ said }) => said)).toEqual([
    'g1 a 1 3 - or_earlier',
    'g1 b 3 - a moved',
    'g2 b 1 - - or_earlier',
    'g3 a 2 5 - new',
    'g3 b 6 - a merged',
    'g4 late 2 - - or_earlier',
  ]);
});

test('a record of the history is that of the change that asked for its value, and of no user', async () => {
  const change = (id: string, value: string, seen: string, by = 'NULL', [status, code] = ['applied', '']) =>
    `('${id}', 'topic', 't', '${status}', '${code}', '{"priority": "${value}"}', '{"priority": "${value}"}', '2026-05-01 10:00:00Z',
      '{"priority": "default", "updated_at": "2026-03-01T${seen}:00.000Z"}', ${by}, ${by})`;
  const record = (id: string, at: string, changes: string, user = 'NULL', of = 't') =>
    `('${id}', 'topic', '${of}', 'UPDATE', '2026-03-01 ${at}Z', 'user', ${user}, '${changes}')`;
  await warehouse.run(`
    INSERT INTO ops.changes (id, entity_type, topic_id, status, error_code, wanted, body, first_sent_at, remote_before, requested_by, requested_reason)
    VALUES ${[
      change('c1', 'high', '09:00', "'kim'"),
      change('c2', 'low', '10:05'),
      change('c3', 'high', '10:25', "'lee'"),
      change('c4', 'high', '11:00', "'pat'"),
      change('c5', 'low', '11:30', "'may'", ['failed', 'BAD_REQUEST']),
      change('c6', 'low', '11:30', "'may'", ['cancelled', 'conflict']),
      change('c7', 'low', '11:30', "'may'", ['conflict', 'http_409']),
      change('c8', 'high', '12:00', "'joy'", ['conflict', 'conflict']),
    ].join(', ')};
    INSERT INTO history (id, entity_type, entity_id, operation, changed_at, changed_by, user_id, changes) VALUES ${[
      record('before', '08:00:00', '{"priority": "high"}'),
      record('other field', '09:30:00', '{"title": "x"}'),
      record('of c1', '10:00:00', '{"priority": "high", "updatedAt": "x"}'),
      record('of c2', '10:20:00', '{"priority": "low"}'),
      record('a user', '10:30:00', '{"priority": "high"}', "'u1'"),
      record('another value', '11:10:00', '{"priority": "low"}'),
      record('later', '11:20:00', '{"priority": "high"}'),
      record('of an agent', '11:40:00', '{"priority": "low"}'),
      record('of c8', '12:10:00', '{"priority": "high"}'),
      record('elsewhere', '10:00:00', '{"priority": "high"}', 'NULL', 'other'),
    ].join(', ')}`);
  await warehouse.refreshDerived();
  expect(
    await warehouse.all('SELECT * EXCLUDE (synced_at, run_id) FROM history_requests ORDER BY history_id'),
  ).toEqual([
    { history_id: 'of c1', change_id: 'c1', requested_by: 'kim', requested_reason: 'kim' },
    { history_id: 'of c2', change_id: 'c2', requested_by: null, requested_reason: null },
    { history_id: 'of c8', change_id: 'c8', requested_by: 'joy', requested_reason: 'joy' },
  ]);
});
