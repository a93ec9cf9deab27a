-- Every column of every table and view, for completion.
SELECT schema_name, table_name AS name, list(column_name ORDER BY column_index) AS columns
FROM duckdb_columns()
WHERE NOT internal
GROUP BY ALL;
