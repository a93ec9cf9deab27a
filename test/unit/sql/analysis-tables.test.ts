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

test('a record of the history is that of the change that was sent then and asked for its value, whoever is named', async () => {
  const change = (
    id: string,
    value: string,
    [sent, answered]: readonly [string, string | null],
    by = 'NULL',
    [status, code] = ['applied', ''],
  ) => {
    const time = (at: string | null) => (at === null ? 'NULL' : `'2026-03-01 ${at}Z'`);
    const set = `'{"priority": "${value}"}'`;
    return `('${id}', 'topic', 't', '${status}', '${code}', ${set}, ${set}, ${time(sent)}, ${time(answered)}, ${by}, ${by})`;
  };
  const record = (id: string, at: string, changes: string, user = 'NULL', of = 't', day = '01') =>
    `('${id}', 'topic', '${of}', 'UPDATE', '2026-03-${day} ${at}Z', 'user', ${user}, '${changes}')`;
  await warehouse.run(`
    INSERT INTO ops.changes (id, entity_type, topic_id, status, error_code, wanted, body, first_sent_at, settled_at, requested_by, requested_reason)
    VALUES ${[
      change('c1', 'high', ['09:59:59', '10:00:03'], "'kim'"),
      change('c2', 'low', ['10:19:59', '10:20:01']),
      change('c3', 'high', ['10:30:01', '10:30:05'], "'lee'"),
      change('c4', 'high', ['11:05:00', '11:05:09'], "'pat'"),
      change('c5', 'low', ['11:39:59', '11:40:02'], "'may'", ['failed', 'BAD_REQUEST']),
      change('c6', 'low', ['11:39:59', '11:40:02'], "'may'", ['cancelled', 'conflict']),
      change('c7', 'low', ['11:39:59', '11:40:02'], "'may'", ['conflict', 'http_409']),
      change('c8', 'high', ['12:00:00', '12:30:00'], "'joy'", ['conflict', 'conflict']),
      change('c9', 'low', ['13:00:00', null], "'ray'", ['sending', '']),
      change('c10', 'default', ['14:00:00', null], "'ned'", ['sending', '']),
    ].join(', ')};
    INSERT INTO history (id, entity_type, entity_id, operation, changed_at, changed_by, user_id, changes) VALUES ${[
      record('before', '08:00:00', '{"priority": "high"}'),
      record('other field', '10:00:00', '{"title": "x"}'),
      record('of c1', '10:00:00', '{"priority": "high", "updatedAt": "x"}'),
      record('of c2', '10:20:00', '{"priority": "low"}'),
      record('of c3, by the keys owner', '10:30:02', '{"priority": "high"}', "'u1'"),
      record('another value', '11:05:05', '{"priority": "low"}'),
      record('later than c4', '11:20:00', '{"priority": "high"}'),
      record('of an agent', '11:40:00', '{"priority": "low"}'),
      record('of c8', '12:10:00', '{"priority": "high"}'),
      record('after the key of c10 was forgotten', '14:00:03', '{"priority": "default"}', "'u1'", 't', '02'),
      record('of c9', '13:30:00', '{"priority": "low"}', "'u1'"),
      record('elsewhere', '10:00:00', '{"priority": "high"}', 'NULL', 'other'),
    ].join(', ')}`);
  await warehouse.refreshDerived();
  const found = await warehouse.all(
    'SELECT * EXCLUDE (synced_at, run_id) FROM history_requests ORDER BY history_id',
  );
  expect(
    found.map((row) => `${row.change_id} ${row.history_id} ${row.requested_by} ${row.requested_reason}`),
  ).toEqual([
    'c1 of c1 kim kim',
    'c2 of c2 null null',
    'c3 of c3, by the keys owner lee lee',
    'c8 of c8 joy joy',
    'c9 of c9 ray ray',
  ]);
});
