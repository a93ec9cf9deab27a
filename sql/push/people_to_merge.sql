-- Two people as a sync saw them last, in the order in which they are asked for: who would go, and who would stay. The columns have
-- the names of KnownPerson.
SELECT
  asked.id,
  people.id IS NOT NULL AS is_known,
  people.display_name AS name,
  people.primary_email AS email,
  people.company_id AS "companyId",
  coalesce(companies.name, people.company_name) AS company,
  people.identity_count::DOUBLE AS accounts,
  coalesce((
    SELECT list(concat(platform, ': ', coalesce(platform_username, platform_id)) ORDER BY platform, platform_id)
    FROM person_identities
    WHERE person_id = asked.id
  ), []) AS "accountNames",
  people.message_count::DOUBLE AS messages,
  people.conversation_count::DOUBLE AS conversations,
  people.last_seen_at::VARCHAR AS "lastSeenAt",
  people.synced_at::VARCHAR AS "syncedAt",
  CASE WHEN roles.is_bot THEN 'bot' WHEN roles.is_staff THEN 'staff' ELSE 'customer' END AS role
FROM (VALUES (1, $source), (2, $target)) AS asked (place, id)
LEFT JOIN people ON people.id = asked.id
LEFT JOIN companies ON companies.id = people.company_id
LEFT JOIN person_roles AS roles ON roles.person_id = asked.id
ORDER BY asked.place
