-- Which of these messages an earlier run stored.
--
--   $ids     the messages
--   $run_id  this run
SELECT DISTINCT id
FROM raw.documents
WHERE
  endpoint = 'messages'
  AND id IN (SELECT unnest($ids::VARCHAR[]))
  AND run_id <> $run_id
