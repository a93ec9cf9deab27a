-- What a sheet shows of the topics in $ids and nobody can change, and when it was last changed (milliseconds since 1970).
SELECT id, summary, issue_type, epoch_ms(coalesce(updated_at, synced_at))::DOUBLE AS updated_ms
FROM topics
WHERE id IN (SELECT unnest($ids));
