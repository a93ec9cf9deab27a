-- What a push has changed, which may be in no list (the connections of a company).
--
--   $detail  the detail of the list's items
SELECT documents.id, documents.answer_no
FROM raw.documents AS documents
JOIN ops.runs AS runs ON runs.run_id = documents.run_id AND runs.command = 'push'
WHERE documents.endpoint = $detail
