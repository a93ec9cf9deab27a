-- What its detail showed to have changed, as it is after a push of fields that no list has (the connections of a company).
--
--   $detail  the detail of the list's items
SELECT id, answer_no
FROM raw.documents
WHERE endpoint = $detail
