-- Survivors of merges: everything about them may have changed.
--
--   {{presence}}  the kind of document that says what is merged
--   {{detail}}    the detail of the list's items, whose coverage has the answer that said that one of them is gone
SELECT gone.body ->> '$.mergedIntoId' AS entity_id, asked.answer_no
FROM write_bodies AS gone
JOIN ops.coverage AS asked ON asked.endpoint = {{detail}} AND asked.entity_id = gone.id
WHERE gone.endpoint = {{presence}} AND (gone.body ->> '$.mergedIntoId') IS NOT NULL
