-- table: message_quotes
-- key: message_id, position
-- documents: messages
-- scope: id -> message_id

-- Of a message in two conversations, the one fetched last counts (see messages).
WITH again AS (
  SELECT id, max((answer_no, parent_id)) AS latest
  FROM documents
  GROUP BY id
  HAVING count(*) > 1
),
parsed AS (
  SELECT
    id,
    from_json(body, '{"quoteHighlights": [{"content": "VARCHAR", "confidence": "DOUBLE"}]}').quoteHighlights AS quotes,
    fetched_at,
    run_id
  FROM documents
  LEFT JOIN again USING (id)
  WHERE latest IS NULL OR (answer_no, parent_id) = latest
),
listed AS (
  SELECT
    id,
    unnest(quotes) AS q,
    generate_subscripts(quotes, 1) AS position,
    fetched_at,
    run_id
  FROM parsed
)
SELECT
  id AS message_id,
  position,
  q.content AS content,
  q.confidence AS confidence,
  fetched_at AS synced_at,
  run_id
FROM listed
