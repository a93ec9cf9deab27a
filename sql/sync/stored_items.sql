-- The items of lists as they are stored. None when the last sync left something due: then something may be due of any of
-- them, changed or not.
--
--   {{lists}}  the kinds of document that the items of lists are
--   $run_id    this run
SELECT
  ('0x' || left(md5(endpoint || ' ' || id), 16))::UBIGINT AS name,
  ('0x' || left(body_hash, 16))::UBIGINT AS hash
FROM raw.documents
WHERE
  endpoint IN ({{lists}})
  AND (
    SELECT left_due = 0
    FROM ops.runs
    WHERE command = 'sync' AND run_id <> $run_id
    ORDER BY run_id DESC
    LIMIT 1
  )
