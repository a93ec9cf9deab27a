-- When the API last changed the topics in $ids, in milliseconds, by the latest answer about each that the warehouse has. A time
-- that is later than its own answer is no order.
SELECT id, epoch_ms(max(raw.updated_at(body, fetched_at))) AS updated
FROM raw.documents
WHERE endpoint IN ('topics', 'topic') AND id IN (SELECT unnest($ids)) AND raw.updated_at(body, fetched_at) IS NOT NULL
GROUP BY id;
