-- Which of these messages an earlier run stored.
--
--   $ids     the messages
--   $run_id  this run
SELECT DISTINCT id
FROM raw.documents
WHERE endpoint = 'messages' AND list_contains($ids, id) AND run_id <> $run_id
