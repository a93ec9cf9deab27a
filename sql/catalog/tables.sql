-- Every table, view and table macro, the views first: they answer most questions.
SELECT schema_name, name, kind, comment
FROM (
  SELECT schema_name, view_name AS name, 'view' AS kind, comment
  FROM duckdb_views() WHERE NOT internal AND NOT temporary
  UNION ALL
  SELECT schema_name, concat(function_name, '(', array_to_string(parameters, ', '), ')'), 'macro', comment
  FROM duckdb_functions() WHERE NOT internal AND function_type = 'table_macro'
  UNION ALL
  SELECT schema_name, table_name, 'table', comment
  FROM duckdb_tables() WHERE NOT internal AND NOT temporary
)
ORDER BY schema_name <> 'main', schema_name, list_position(['view', 'macro', 'table'], kind), name;
