-- The items that exist but are not listed any more (an archived or superseded topic, for example), and are to be fetched
-- by id again: in each run of the first hour, since they may only have slipped through between two pages of a list that
-- shifted; then each time that they have been unlisted twice as long; and at the latest when the sweep comes.
--
--   $presence         the kind of document that says so
--   $max_age_seconds  the age at which the sweep comes
--   $now              the current time
--   scan_ids          a temporary table with the ids that the scan returned
WITH unlisted AS (
  SELECT
    id,
    body ->> '$.unlistedSince' AS since,
    epoch((body ->> '$.unlistedSince')::TIMESTAMPTZ) AS since_seconds,
    epoch(coalesce(body ->> '$.askedAt', body ->> '$.unlistedSince')::TIMESTAMPTZ) AS asked_seconds
  FROM raw.documents
  WHERE endpoint = $presence
    AND (body ->> '$.unlistedSince') IS NOT NULL
    AND (body ->> '$.deletedAt') IS NULL
    AND id NOT IN (SELECT id FROM scan_ids)
)
-- A time in the future comes from a clock that was ahead: it is fetched now, and its times start again.
SELECT id, CASE WHEN since_seconds <= epoch($now) THEN since END AS since
FROM unlisted
WHERE epoch($now) - since_seconds < 3600
  OR asked_seconds > epoch($now)
  OR epoch($now) - asked_seconds >= least($max_age_seconds, asked_seconds - since_seconds)
ORDER BY id
