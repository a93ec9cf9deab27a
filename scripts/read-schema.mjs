import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const own = fileURLToPath(new URL('../sql/', import.meta.url));

/**
 * What the comments of tables, views, macros and columns say, in the order in which sql/ creates them: read from an empty
 * database that is made from sql/, or from a folder like it.
 * @returns {Promise<{ relations: Record<string, string>[], columns: Record<string, string>[] }>}
 */
export async function readSchema(sql = own) {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const folder of ['migrations', 'views']) {
    for (const file of readdirSync(join(sql, folder)).sort()) {
      await connection.run(readFileSync(join(sql, folder, file), 'utf8'));
    }
  }
  const all = async (/** @type {string} */ query) =>
    /** @type {Record<string, string>[]} */ ((await connection.runAndReadAll(query)).getRowObjectsJson());
  const relations = await all(`
    SELECT 'tables' AS of, schema_name AS schema, table_name AS name, comment, NULL AS sql, table_oid AS place
      FROM duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT 'views', schema_name, view_name, comment, sql, view_oid FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT 'macros', schema_name, format('{}({})', function_name, array_to_string(parameters, ', ')), comment, NULL, function_oid
      FROM duckdb_functions() WHERE NOT internal AND function_type = 'table_macro'
    ORDER BY place`);
  const columns = await all(`
    SELECT schema_name AS schema, table_name, column_name AS name, comment,
           replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type
      FROM duckdb_columns() WHERE NOT internal ORDER BY column_index`);
  connection.closeSync();
  instance.closeSync();
  return { relations, columns };
}
