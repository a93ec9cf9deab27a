-- Which known items a scan did not show, whether they were answered 404 while they were listed, and how many are known:
-- the difference is what may be gone.
--
--   {{list}}      the kind of document that the list's items are
--   {{presence}}  the kind of document that says what is gone or listed no more
--   scan_ids   a temporary table with the ids that the scan showed
WITH gone AS (
  SELECT id
  FROM raw.documents
  WHERE endpoint = {{presence}}
    AND ((body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL)
),
known AS (
  SELECT id FROM raw.documents WHERE endpoint = {{list}} AND id NOT IN (SELECT id FROM gone)
)
SELECT
  id,
  id IN (
    SELECT id
    FROM raw.documents
    WHERE endpoint = {{presence}} AND (body ->> '$.detailUnavailableReason') IS NOT NULL
  ) AS unanswered,
  (SELECT count(*) FROM known) AS known
FROM known
WHERE id NOT IN (SELECT id FROM scan_ids)
ORDER BY id
