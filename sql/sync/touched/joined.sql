-- Companies that somebody joined, with their old conversations: as many others may have left.
SELECT id, answer_no
FROM raw.documents
WHERE endpoint = 'person_companies'
