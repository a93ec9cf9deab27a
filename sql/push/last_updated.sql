-- When the API last changed the topics in $ids, in milliseconds, by the latest answer about each that the warehouse has. A time
-- that is later than its own answer is no order.
SELECT id, epoch_ms(max(updated_at)) AS updated
FROM (
  SELECT id, raw.moment(body ->> '$.updatedAt') AS updated_at, fetched_at
  FROM raw.documents
  WHERE endpoint IN ('topics', 'topic') AND id IN (SELECT unnest($ids))
)
WHERE updated_at <= fetched_at + INTERVAL 5 SECOND
GROUP BY id;
