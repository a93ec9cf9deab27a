-- What was found gone in this run, with no reason but that it is not found.
--
--   $presence  the kind of document that says so
--   $since     when the run started
SELECT id
FROM raw.documents
WHERE endpoint = $presence
  AND (body ->> '$.deletedReason') = 'not_found'
  AND (body ->> '$.deletedAt')::TIMESTAMPTZ >= $since
ORDER BY id
