-- What exists but is listed no more (an archived or superseded topic, say), and was not asked about for too long.
--
--   $presence         the kind of document that says so
--   $max_age_seconds  after which it is asked about again
--   $now              the time of asking
SELECT id
FROM raw.documents
WHERE endpoint = $presence
  AND (body ->> '$.unlistedSince') IS NOT NULL
  AND (body ->> '$.deletedAt') IS NULL
  AND epoch($now) - epoch(fetched_at) > $max_age_seconds
ORDER BY id
