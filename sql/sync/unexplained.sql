-- The deleted entities with no reason but that they were not found, and what was done about each: 'gone' until its own
-- history is fetched, then 'asked when gone' until the histories of possible survivors are.
--
--   $presence  the kind of document that says what is deleted
--   $history   the history that would name the survivor, e.g. 'topic_history'
SELECT deleted.id, history.reason = 'gone' AS has_own_history_left
FROM raw.documents AS deleted
JOIN ops.coverage AS history ON history.endpoint = $history AND history.entity_id = deleted.id
WHERE deleted.endpoint = $presence
  AND (deleted.body ->> '$.deletedReason') = 'not_found'
  AND history.reason IN ('gone', 'asked when gone')
ORDER BY deleted.id
