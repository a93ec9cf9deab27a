-- What exists but is listed no more (an archived or superseded topic, say), and is to be asked about again: in each run
-- of the first hour, since it may only have slipped through between two pages of a list that shifted, then each time
-- that it has been unlisted twice as long, and when the sweep comes at the latest.
--
--   {{presence}}         the kind of document that says so
--   {{max_age_seconds}}  after which the sweep comes
--   {{now}}              the time of asking
--   scan_ids          a temporary table with the ids that the scan showed
WITH unlisted AS (
  SELECT
    id,
    body ->> '$.unlistedSince' AS since,
    epoch((body ->> '$.unlistedSince')::TIMESTAMPTZ) AS since_seconds,
    epoch(coalesce(body ->> '$.askedAt', body ->> '$.unlistedSince')::TIMESTAMPTZ) AS asked_seconds
  FROM raw.documents
  WHERE endpoint = {{presence}}
    AND (body ->> '$.unlistedSince') IS NOT NULL
    AND (body ->> '$.deletedAt') IS NULL
    AND id NOT IN (SELECT id FROM scan_ids)
)
SELECT id, since
FROM unlisted
WHERE epoch({{now}}) - since_seconds < 3600
  OR epoch({{now}}) - asked_seconds >= least({{max_age_seconds}}, asked_seconds - since_seconds)
ORDER BY id
