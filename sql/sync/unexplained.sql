-- What is gone, with no reason but that it is not found, and was not asked for its own history since.
--
--   {{presence}}  the kind of document that says so
--   {{history}}   the history to ask, e.g. 'topic_history'; its coverage says 'gone' until that was done
SELECT gone.id
FROM raw.documents AS gone
JOIN ops.coverage AS asked ON asked.endpoint = {{history}} AND asked.entity_id = gone.id
WHERE gone.endpoint = {{presence}}
  AND (gone.body ->> '$.deletedReason') = 'not_found'
  AND asked.reason = 'gone'
ORDER BY gone.id
