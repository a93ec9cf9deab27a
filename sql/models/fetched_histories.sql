-- A refusal (404) is an answer too: there is no history.
SELECT replace(endpoint, '_history', '') AS entity_type, entity_id
FROM ops.coverage
WHERE ends_with(endpoint, '_history') AND fetched_at IS NOT NULL
