-- The items that a scan returned although they are marked as deleted or not listed any more: they lose that mark.
--
--   $presence  the kind of document that says what is deleted or not listed any more
--   scan_ids   a temporary table with the ids that the scan returned
SELECT id, body ->> '$.detailUnavailableReason' AS detail_unavailable_reason
FROM raw.documents
WHERE endpoint = $presence
  AND ((body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL)
  AND id IN (SELECT id FROM scan_ids)
ORDER BY id
