-- Companies that somebody joined, with their old conversations: as many others may have left.
SELECT id AS entity_id, answer_no
FROM writes
WHERE endpoint = 'person_companies' AND rid IS NULL
