-- table: person_source_stats
-- key: person_id, source
-- documents: person_source_stats
-- scope: parent_id -> person_id

SELECT
  parent_id AS person_id,
  id AS source,
  from_json(body, '{"messageCount": "BIGINT"}').messageCount AS message_count,
  fetched_at AS synced_at,
  run_id
FROM documents
