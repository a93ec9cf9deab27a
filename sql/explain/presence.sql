-- What is known about whether an entity still exists, and the scan of its list that shows it.
--
--   $id        its id
--   $list      the kind of document that its list item is
--   $presence  the kind of document that says what became of it
SELECT
  (SELECT max(fetched_at) FROM raw.documents WHERE endpoint = $list AND id = $id) AS "itemAt",
  raw.moment(found.body ->> '$.deletedAt') AS "deletedAt",
  found.body ->> '$.deletedReason' AS "deletedReason",
  found.body ->> '$.mergedIntoId' AS "mergedIntoId",
  found.body ->> '$.detailUnavailableReason' AS "detailUnavailableReason",
  raw.moment(found.body ->> '$.unlistedSince') AS "unlistedSince",
  raw.moment(found.body ->> '$.askedAt') AS "askedAt",
  found.run_id AS "runId",
  scans.ended_at AS "scanAt",
  scans.verified AS "scanVerified",
  scans.distinct_ids AS "scanIds",
  scans.total_count AS "scanTotal"
FROM (SELECT 1) AS one
LEFT JOIN raw.documents AS found ON found.endpoint = $presence AND found.id = $id
LEFT JOIN ops.scans AS scans ON scans.run_id = found.run_id AND scans.endpoint = $list
ORDER BY scans.ended_at DESC
LIMIT 1
