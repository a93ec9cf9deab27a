-- table: authors
-- key: id
-- documents: authors
-- scope: id -> id

WITH parsed AS (
  SELECT
    id,
    from_json(body, '{
      "displayName": "VARCHAR", "isBot": "BOOLEAN",
      "sourceName": "VARCHAR", "sourceAuthorId": "VARCHAR", "sourceAvatarUrl": "VARCHAR"
    }') AS d,
    fetched_at,
    run_id
  FROM documents
)
SELECT
  id,
  d.displayName AS display_name,
  d.isBot AS is_bot,
  d.sourceName AS source_name,
  d.sourceAuthorId AS source_author_id,
  d.sourceAvatarUrl AS source_avatar_url,
  fetched_at AS synced_at,
  run_id
FROM parsed
