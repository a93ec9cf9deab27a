-- What a sheet shows of the topics in $ids and nobody can change, and when it was last changed.
SELECT id, summary, issue_type, coalesce(updated_at, synced_at) AS updated_at
FROM topics
WHERE id IN (SELECT unnest($ids));
