-- People of a company that was found to be gone since: a list of people need not say where they are now.
SELECT people.id, asked.answer_no
FROM main.people
JOIN main.companies ON companies.id = people.company_id AND companies.deleted_at IS NOT NULL
JOIN ops.coverage AS asked ON asked.endpoint = 'company' AND asked.entity_id = companies.id
