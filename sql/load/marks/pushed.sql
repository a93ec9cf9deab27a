-- What a push has changed, which may be in no list (the connections of a company).
--
--   {{run_id}}  the run
SELECT id AS entity_id, answer_no
FROM writes
WHERE endpoint = 'company' AND EXISTS (FROM ops.runs WHERE run_id = {{run_id}} AND command = 'push')
