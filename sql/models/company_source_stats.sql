-- table: company_source_stats
-- key: company_id, source
-- documents: company_activity
-- scope: id -> company_id

WITH parsed AS (
  SELECT
    id,
    unnest(from_json(body, '{"sourceStats": [{"source": "VARCHAR", "messageCount": "BIGINT"}]}').sourceStats) AS s,
    fetched_at,
    run_id
  FROM documents
)
SELECT
  id AS company_id,
  s.source AS source,
  sum(s.messageCount)::BIGINT AS message_count,
  max(fetched_at) AS synced_at,
  max(run_id) AS run_id
FROM parsed
WHERE s.source IS NOT NULL
GROUP BY id, s.source
