-- By what people, companies and accounts are named, wherever it is stored: rows of part, id and value.
--   {{columns}}  the same of the columns that have it beside the id
SELECT part, id, value FROM (
  {{columns}}
  UNION ALL
  SELECT entity_type, entity_id, unnest([changes ->> '$.displayName', previous_values ->> '$.displayName', changes ->> '$.name', previous_values ->> '$.name'])
  FROM history
  WHERE entity_type IN ('person', 'company')
  UNION ALL
  SELECT entity_type, source_id, source_name FROM merges WHERE entity_type IN ('person', 'company')
  UNION ALL
  SELECT entity_type, target_id, target_name FROM merges WHERE entity_type IN ('person', 'company')
)
WHERE trim(value) <> ''
