-- What a scan shows although it was held to be gone, listed no more: it lost that mark by coming back.
--
--   {{presence}}  the kind of document that says what is gone or listed no more
--   scan_ids   a temporary table with the ids that the scan showed
SELECT id, body ->> '$.detailUnavailableReason' AS detail_unavailable_reason
FROM raw.documents
WHERE endpoint = {{presence}}
  AND ((body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL)
  AND id IN (SELECT id FROM scan_ids)
ORDER BY id
