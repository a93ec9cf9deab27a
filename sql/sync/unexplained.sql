-- The deleted entities with no reason but that they were not found, whose own history was not fetched since.
--
--   $presence  the kind of document that says what is deleted
--   $history   the history to fetch, e.g. 'topic_history'; its coverage says 'gone' until that is done
SELECT deleted.id
FROM raw.documents AS deleted
JOIN ops.coverage AS history ON history.endpoint = $history AND history.entity_id = deleted.id
WHERE deleted.endpoint = $presence
  AND (deleted.body ->> '$.deletedReason') = 'not_found'
  AND history.reason = 'gone'
ORDER BY deleted.id
