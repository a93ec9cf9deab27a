-- The statement that creates a table, a view or a table macro.
SELECT sql
FROM (
  SELECT schema_name, table_name AS name, sql FROM duckdb_tables() WHERE NOT internal
  UNION ALL
  SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal
  UNION ALL
  SELECT schema_name, function_name,
    concat('CREATE MACRO ', function_name, '(', array_to_string(parameters, ', '), ') AS TABLE ', macro_definition, ';')
  FROM duckdb_functions() WHERE NOT internal AND function_type = 'table_macro'
)
WHERE schema_name = $schema AND name = $name;
