-- table: message_reactions
-- key: message_id, identifier
-- documents: messages
-- scope: id -> message_id

-- Of a message in two conversations, the one fetched last counts (see messages).
WITH again AS (
  SELECT id, max((answer_no, parent_id)) AS latest
  FROM documents
  GROUP BY id
  HAVING count(*) > 1
),
listed AS (
  SELECT
    id,
    unnest(from_json(body, '{
      "reactions": [{"identifier": "VARCHAR", "unicode": "VARCHAR", "count": "BIGINT"}]
    }').reactions) AS r,
    fetched_at,
    run_id
  FROM documents
  LEFT JOIN again USING (id)
  WHERE latest IS NULL OR (answer_no, parent_id) = latest
)
SELECT
  id AS message_id,
  r.identifier AS identifier,
  max(r.unicode) AS unicode,
  sum(r.count)::BIGINT AS count,
  max(fetched_at) AS synced_at,
  max(run_id) AS run_id
FROM listed
WHERE r.identifier IS NOT NULL
GROUP BY id, r.identifier
