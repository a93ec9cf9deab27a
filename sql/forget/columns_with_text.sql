-- The tables with text, and their columns with text and with JSON.
SELECT schema_name AS schema, table_name AS "table",
  list(column_name) AS names,
  coalesce(list(column_name) FILTER (data_type = 'JSON'), []) AS json
FROM duckdb_columns()
JOIN duckdb_tables() USING (database_name, schema_name, table_name)
WHERE database_name = current_database() AND schema_name IN ('main', 'ops') AND NOT temporary
  AND data_type IN ('VARCHAR', 'JSON')
GROUP BY ALL
ORDER BY ALL
