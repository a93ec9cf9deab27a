import { beforeAll, expect, test } from 'vitest';
import { openStand, type Stand } from './stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});

test('each table, each view and each column has a comment', async () => {
  const silent = await stand.all(`
    SELECT schema_name, table_name, NULL AS column_name FROM duckdb_tables() WHERE comment IS NULL AND NOT internal
    UNION ALL
    SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE comment IS NULL AND NOT internal
    UNION ALL
    SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal`);
  expect(silent).toEqual([]);
});

test('beside each priority stands the number to sort it by', async () => {
  const alone = await stand.all(`
    SELECT table_name, column_name FROM duckdb_columns() AS one
    WHERE NOT internal AND regexp_matches(column_name, '(^|_)priority$') AND NOT EXISTS (
      FROM duckdb_columns() AS other WHERE other.table_name = one.table_name AND other.column_name = one.column_name || '_rank')`);
  expect(alone).toEqual([]);
});

test('no index, key, default or sequence anywhere', async () => {
  const found = await stand.all(`
    SELECT constraint_type AS what FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL'
    UNION ALL SELECT index_name FROM duckdb_indexes()
    UNION ALL SELECT sequence_name FROM duckdb_sequences()
    UNION ALL SELECT column_default FROM duckdb_columns() WHERE column_default IS NOT NULL AND NOT internal`);
  expect(found).toEqual([]);
});
