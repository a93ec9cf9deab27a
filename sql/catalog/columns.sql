-- The columns of one table or view, in their order.
SELECT column_name AS name, data_type AS type, comment
FROM duckdb_columns()
WHERE NOT internal AND schema_name = $schema AND table_name = $name
ORDER BY column_index;
