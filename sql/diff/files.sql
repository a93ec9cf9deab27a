-- Every table and column of the two files.
SELECT
  database_name AS file,
  schema_name AS schema,
  table_name AS "table",
  column_name AS name,
  data_type AS type
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE database_name IN ('old', 'new')
ORDER BY schema_name, table_name, column_index
