-- Who asked for a topic: people from outside who take part or wrote in its conversations, with the last thing that each said.
--
--   $id  the topic
WITH
said AS (
  SELECT
    sender_id AS id,
    any_value(sender_name) AS name,
    any_value(company_id) AS company_id,
    count(*) AS messages,
    max(created_at) AS last_at,
    arg_max(message_id, created_at) AS message_id
  FROM message_senders
  WHERE side = 'external' AND group_id IN (SELECT group_id FROM topic_groups WHERE topic_id = $id)
  GROUP BY sender_id
),
taking_part AS (
  SELECT DISTINCT coalesce(final_ids.final_id, topic_people.person_id) AS id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  WHERE topic_people.topic_id = $id
),
asking AS (
  SELECT coalesce(said.id, taking_part.id) AS person_id, said.* EXCLUDE (id)
  FROM said
  FULL JOIN taking_part ON taking_part.id = said.id
)
SELECT
  asking.person_id AS id,
  coalesce(person_roles.display_name, asking.name) AS name,
  coalesce(person_roles.is_vip, false) AS "isVip",
  coalesce(person_roles.company_id, asking.company_id) AS "companyId",
  companies.name AS "companyName",
  coalesce(companies.is_vip, false) AS "isCompanyVip",
  coalesce(asking.messages, 0) AS messages,
  asking.last_at AS "lastAt",
  messages.content AS text,
  messages.source_url AS url,
  messages.source_name AS source
FROM asking
LEFT JOIN person_roles ON person_roles.person_id = asking.person_id
LEFT JOIN companies ON companies.id = coalesce(person_roles.company_id, asking.company_id)
LEFT JOIN messages ON messages.id = asking.message_id
WHERE NOT coalesce(person_roles.is_staff, false)
  AND NOT coalesce(person_roles.is_bot, false)
  AND (person_roles.person_id IS NOT NULL OR asking.messages > 0)
ORDER BY "isCompanyVip" DESC, "companyName" NULLS LAST, "companyId", "isVip" DESC, messages DESC, name, id
