-- The stored items that a scan did not return, whether each was answered 404 while it was listed, and how many items are
-- stored at all: the missing ones may be gone.
--
--   $list      the kind of document that the list's items are
--   $presence  the kind of document that says what is deleted or not listed any more
--   scan_ids   a temporary table with the ids that the scan returned
WITH unlisted AS (
  SELECT id
  FROM raw.documents
  WHERE endpoint = $presence
    AND ((body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL)
),
stored AS (
  SELECT id FROM raw.documents WHERE endpoint = $list AND id NOT IN (SELECT id FROM unlisted)
)
SELECT
  id,
  id IN (
    SELECT id
    FROM raw.documents
    WHERE endpoint = $presence AND (body ->> '$.detailUnavailableReason') IS NOT NULL
  ) AS unanswered,
  (SELECT count(*) FROM stored) AS stored
FROM stored
WHERE id NOT IN (SELECT id FROM scan_ids)
ORDER BY id
