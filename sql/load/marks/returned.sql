-- Topics whose list item names a person who is not among the topic's people: one who was deleted and is back.
SELECT listed.parent_id AS entity_id, listed.answer_no
FROM writes AS listed
ANTI JOIN (SELECT id, parent_id FROM raw.documents WHERE endpoint = 'topic_people') AS own
  ON own.id = listed.id AND own.parent_id = listed.parent_id
WHERE listed.endpoint = 'topic_persons'
