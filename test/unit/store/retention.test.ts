import { expect, test } from 'vitest';
import { open } from '../../support/open-warehouse.js';

const now = new Date('2026-06-01T00:00:00Z');
const keep = { recordsDays: 100 };
const ago = (days: number) => `TIMESTAMPTZ '${new Date(now.getTime() - days * 86_400_000).toISOString()}'`;

async function filled() {
  const warehouse = await open();
  await warehouse.run(`
    INSERT INTO ops.requests BY NAME SELECT * FROM (VALUES ('old', ${ago(31)}), ('young', ${ago(29)})) t(path, "at");
    INSERT INTO ops.audits BY NAME SELECT * FROM (VALUES ('old', ${ago(91)}), ('young', ${ago(89)})) t(resource, "at");
    INSERT INTO ops.audit BY NAME SELECT * FROM (VALUES ('read', ${ago(101)}), ('read', ${ago(99)}), ('export', ${ago(500)})) t(action, "at");
    INSERT INTO ops.runs BY NAME SELECT * FROM (VALUES
      ('01', 'sync', 'done', ${ago(500)}), ('02', 'sync', 'done', ${ago(400)}), ('03', 'sync', 'failed', ${ago(300)}),
      ('04', 'push', 'done', ${ago(200)}), ('05', 'sync', 'done', ${ago(99)}), ('06', 'rebuild', 'done', ${ago(450)})
    ) t(run_id, command, outcome, started_at);
    INSERT INTO ops.scans BY NAME SELECT * FROM (VALUES
      ('topics', 'v1', true, ${ago(99)}), ('topics', 'v2', true, ${ago(98)}), ('topics', 'u1', false, ${ago(97)}),
      ('topics', 'u2', false, ${ago(96)}), ('people', 'p1', true, ${ago(91)}), ('people', 'p2', true, ${ago(2)})
    ) t(endpoint, run_id, verified, ended_at);
    INSERT INTO ops.changes BY NAME SELECT * FROM (VALUES ('settled', ${ago(150)}), ('open', NULL)) t(id, settled_at);
    INSERT INTO ops.change_attempts BY NAME SELECT * FROM (VALUES
      ('settled', ${ago(150)}), ('settled', ${ago(90)}), ('open', ${ago(150)})) t(change_id, "at");
    -- Of another id each night, and of the last sync.
    INSERT INTO ops.rejected_records BY NAME
      SELECT 'topics' AS endpoint, 'n' || i AS id, ${ago(50)} AS last_seen_at, '04' AS run_id FROM range(1500) t(i)
      UNION ALL SELECT 'topics', 'l' || i, ${ago(1)}, '05' FROM range(1200) t(i)
      UNION ALL SELECT 'people', 'young', ${ago(99)}, '04' UNION ALL SELECT 'people', 'old', ${ago(101)}, '04';
    INSERT INTO ops.schema_drift BY NAME
      SELECT 'topics' AS endpoint, 'unknown_field' AS kind, 'n' || i AS path, ${ago(50)} AS last_seen_at FROM range(500) t(i)
      UNION ALL SELECT 'topics', 'missing_field', 'young', ${ago(99)} UNION ALL SELECT 'topics', 'missing_field', 'old', ${ago(101)};
    INSERT INTO ops.removed_rows VALUES ('topics', ['young'], '04', ${ago(99)}), ('topics', ['old'], '04', ${ago(101)})`);
  return warehouse;
}

test('records older than their retention are removed, except those that the status needs', async () => {
  const warehouse = await filled();
  expect(await warehouse.trim(keep, now)).toEqual({
    requests: 1,
    runs: 2,
    scans: 3,
    audits: 1,
    reads: 1,
    attempts: 1,
    rejected: 1_501,
    drift: 301,
    removed: 1,
  });
  const left = async (sql: string) => (await warehouse.all<{ x: string }>(sql)).map(({ x }) => x);
  expect(await left('SELECT path AS x FROM ops.requests')).toEqual(['young']);
  // The last of each command, and of each way in which it ended.
  expect(await left('SELECT run_id AS x FROM ops.runs ORDER BY 1')).toEqual(['03', '04', '05', '06']);
  expect(await left('SELECT run_id AS x FROM ops.scans ORDER BY 1')).toEqual(['p2', 'u2', 'v2']);
  expect(await left('SELECT change_id AS x FROM ops.change_attempts ORDER BY 1')).toEqual([
    'open',
    'settled',
  ]);
  expect(await left('SELECT id AS x FROM ops.changes')).toHaveLength(2);
  expect(await warehouse.trim(keep, now)).toEqual({
    requests: 0,
    runs: 0,
    scans: 0,
    audits: 0,
    reads: 0,
    attempts: 0,
    rejected: 0,
    drift: 0,
    removed: 0,
  });
  const rejected = await left(
    'SELECT left(id, 1) || count(*) AS x FROM ops.rejected_records GROUP BY left(id, 1) ORDER BY 1',
  );
  expect(rejected).toEqual(['l1200', 'y1']);
  await warehouse.close();
});

test('nothing is removed when one kind fails', async () => {
  const warehouse = await filled();
  await warehouse.run('ALTER TABLE ops.change_attempts RENAME TO elsewhere');
  await expect(warehouse.trim(keep, now)).rejects.toThrow();
  expect(await warehouse.all('SELECT count(*) AS n FROM ops.requests')).toEqual([{ n: 2 }]);
  await warehouse.close();
});
