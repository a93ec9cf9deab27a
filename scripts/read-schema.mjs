import { DuckDBInstance } from '@duckdb/node-api';

/**
 * What the comments of tables, views, macros and columns say, in the order in which the statements create them; tables that a
 * migration makes come last. Read from an empty database.
 * @param {readonly string[]} statements those of `schemaOf` (src/load/views.ts)
 * @returns {Promise<{ relations: Record<string, string>[], columns: Record<string, string>[] }>}
 */
export async function readSchema(statements) {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  const all = async (/** @type {string} */ query) =>
    /** @type {Record<string, string>[]} */ ((await connection.runAndReadAll(query)).getRowObjectsJson());
  const relations = await all(`FROM (
    SELECT 'tables' AS of, schema_name AS schema, table_name AS name, comment, NULL AS sql, table_oid AS place
      FROM duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT 'views', schema_name, view_name, comment, sql, view_oid FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT 'macros', schema_name, format('{}({})', function_name, array_to_string(parameters, ', ')), comment, NULL, function_oid
      FROM duckdb_functions() WHERE NOT internal AND function_type = 'table_macro'
    ) ORDER BY name LIKE '%_versions', place`);
  const columns = await all(`
    SELECT schema_name AS schema, table_name, column_name AS name, comment,
           replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type
      FROM duckdb_columns() WHERE NOT internal ORDER BY column_index`);
  connection.closeSync();
  instance.closeSync();
  return { relations, columns };
}
