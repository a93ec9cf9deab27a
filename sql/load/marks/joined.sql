-- Companies that a person joined, with old conversations: as many people may have left.
SELECT id AS entity_id, answer_no
FROM writes
WHERE endpoint = 'person_companies' AND rid IS NULL
