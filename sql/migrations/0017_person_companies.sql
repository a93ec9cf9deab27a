-- A person's company as a document of its own (person_companies), whose number says when the link appeared: the number of the
-- person's own document moves with every change of the person. The links of an older warehouse count as older than every
-- answer, since nothing else is known about them.
INSERT INTO raw.documents BY NAME
SELECT
  'person_companies' AS endpoint,
  company_id AS id,
  raw.id_hash(company_id) AS id_hash,
  id AS parent_id,
  '{}'::JSON AS body,
  md5('{}') AS body_hash,
  synced_at AS fetched_at,
  -9_223_372_036_854_775_807 AS answer_no,
  coalesce(run_id, '') AS run_id
FROM main.people
WHERE company_id IS NOT NULL AND deleted_at IS NULL;
