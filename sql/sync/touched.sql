-- What changes a child although no field of its parent's list item shows it: the entity and the last answer that showed it.
--
--   $child     the child, e.g. 'company_identities'
--   $presence  the kind of document that says what is merged; '' where there is none
--   $detail    the detail of the list's items, whose coverage has the answer that said that one of them is gone
--
-- What was merged into it: everything of the survivor may have changed.
SELECT
  gone.body ->> '$.mergedIntoId' AS entity_id,
  asked.answer_no
FROM raw.documents AS gone
JOIN ops.coverage AS asked ON asked.endpoint = $detail AND asked.entity_id = gone.id
WHERE gone.endpoint = $presence AND (gone.body ->> '$.mergedIntoId') IS NOT NULL
UNION ALL
-- Who joined a company since, with their old conversations: as many others may have left.
SELECT id, answer_no
FROM raw.documents
WHERE endpoint = 'person_companies' AND $child = 'company_groups'
