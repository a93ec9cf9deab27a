-- table: topic_votes
-- key: topic_id, id
-- documents: topic_votes
-- scope: parent_id -> topic_id

SELECT
  parent_id AS topic_id,
  id,
  body ->> '$.personId' AS person_id,
  (body ->> '$.value')::INTEGER AS value,
  raw.moment(body ->> '$.castAt') AS cast_at,
  fetched_at AS synced_at,
  run_id
FROM documents
