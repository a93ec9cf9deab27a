-- Companies with a conversation in which a person of theirs wrote from an account that the person does not have any more: where
-- all those messages are deleted, no counter says that the conversation is not theirs now.
SELECT listed.parent_id AS entity_id, own.answer_no
FROM deletes AS lost
JOIN coverage_now AS own ON own.endpoint = lost.endpoint AND own.entity_id = lost.parent_id
JOIN main.people ON people.id = lost.parent_id
JOIN main.authors ON authors.source_name || ':' || authors.source_author_id = lost.id
JOIN main.messages ON messages.author_id = authors.id
JOIN raw.documents AS listed
  ON listed.endpoint = 'company_groups' AND listed.parent_id = people.company_id AND listed.id = messages.group_id
WHERE lost.endpoint = 'person_identities'
