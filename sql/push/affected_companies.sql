-- The companies of the people in the topics, without staff and bots: per topic where {{topic_id}} is topic_id, together where
-- it is NULL.
-- It reads tables alone, because the live warehouse has no views; merged people and companies count as their survivors.
WITH taking_part AS (
  SELECT
    topic_people.topic_id,
    coalesce(survivors.company_id, people.company_id, topic_people.company_id) AS company_id,
    coalesce(topic_people.company_is_org_company, false) AS is_ours,
    topic_people.company_name
  FROM topic_people
  LEFT JOIN people ON people.id = topic_people.person_id
  LEFT JOIN people AS survivors ON survivors.id = people.merged_into_id
  WHERE topic_people.topic_id IN (SELECT unnest($ids))
    AND NOT coalesce(topic_people.is_staff, false)
    AND NOT coalesce(topic_people.is_bot, false)
),
affected AS (
  SELECT
    taking_part.topic_id,
    coalesce(survivors.id, companies.id, taking_part.company_id) AS company_id,
    max(coalesce(survivors.name, companies.name, taking_part.company_name)) AS name,
    bool_or(coalesce(survivors.is_vip, companies.is_vip, false)) AS is_vip
  FROM taking_part
  LEFT JOIN companies ON companies.id = taking_part.company_id
  LEFT JOIN companies AS survivors ON survivors.id = companies.merged_into_id
  WHERE taking_part.company_id IS NOT NULL
    AND NOT coalesce(survivors.is_org_company, companies.is_org_company, taking_part.is_ours)
  GROUP BY 1, 2
)
SELECT
  topic_id AS "topicId",
  count(*)::INTEGER AS companies,
  (count(*) FILTER (is_vip))::INTEGER AS "vipCompanies",
  to_json(list(name ORDER BY is_vip DESC, name) FILTER (name IS NOT NULL)[:3])::VARCHAR AS names
FROM (
  SELECT {{topic_id}} AS topic_id, company_id, max(name) AS name, bool_or(is_vip) AS is_vip FROM affected GROUP BY 1, 2
)
GROUP BY topic_id;
