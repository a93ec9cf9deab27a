-- The people whose conversations come with their company, so that their own need not be requested: the company is listed, and
-- its conversations are fetched.
--
--   $company_groups_come  whether the company's conversations that are due are still to be fetched by this run. Otherwise they
--                         count only if they were read to their end after it was known that the person belongs to the company.
--
-- One failure does not count, since the next run tries again, nor does a record that was rejected; a refusal, an answer that is
-- too large, or a list that kept changing while it was read (all of which have no counters) does.
SELECT
  people.id AS person_id,
  people.company_id,
  groups.answer_no,
  coalesce(groups.counters IS NOT NULL AND groups.answer_no > link.answer_no, false) AS is_fetched
FROM main.people
JOIN raw.documents AS listed ON listed.endpoint = 'companies' AND listed.id = people.company_id
LEFT JOIN raw.documents AS presence ON presence.endpoint = 'company_presence' AND presence.id = people.company_id
LEFT JOIN raw.documents AS link
  ON link.endpoint = 'person_companies' AND link.parent_id = people.id AND link.id = people.company_id
LEFT JOIN ops.coverage AS groups ON groups.endpoint = 'company_groups' AND groups.entity_id = people.company_id
WHERE (presence.body ->> '$.deletedAt') IS NULL
  AND (presence.body ->> '$.unlistedSince') IS NULL
  AND (
    (is_fetched AND (groups.error IS NULL OR groups.attempts < 2))
    OR ($company_groups_come AND (groups.fingerprint IS NULL OR groups.counters IS NOT NULL))
  )
