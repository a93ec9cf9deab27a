-- People of a company that was found to be gone: a list of people need not say where they are now.
SELECT people.id AS entity_id, asked.answer_no
FROM main.people
JOIN write_bodies AS presence
  ON presence.endpoint = 'company_presence' AND presence.id = people.company_id AND (presence.body ->> '$.deletedAt') IS NOT NULL
JOIN ops.coverage AS asked ON asked.endpoint = 'company' AND asked.entity_id = people.company_id
