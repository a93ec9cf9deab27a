CREATE OR REPLACE VIEW company_topics AS
WITH taking_part AS (
  SELECT DISTINCT
    topic_people.topic_id,
    person_roles.company_id,
    person_roles.person_id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  WHERE NOT person_roles.is_staff AND NOT person_roles.is_bot AND person_roles.company_id IS NOT NULL
),
people AS (
  SELECT topic_id, company_id, count(*) AS people
  FROM taking_part
  GROUP BY topic_id, company_id
),
written AS (
  SELECT topic_groups.topic_id, message_senders.company_id, count(*) AS messages, max(created_at) AS last_message_at
  FROM message_senders
  JOIN topic_groups USING (group_id)
  WHERE side = 'external' AND message_senders.company_id IS NOT NULL
  GROUP BY topic_groups.topic_id, message_senders.company_id
),
employed AS (
  SELECT coalesce(final_ids.final_id, company_id) AS company_id, count(DISTINCT person_id) AS employees
  FROM company_employees
  LEFT JOIN final_ids ON final_ids.entity_type = 'company' AND final_ids.id = company_employees.company_id
  GROUP BY ALL
),
both_sides AS (
  SELECT
    coalesce(people.topic_id, written.topic_id) AS topic_id,
    coalesce(people.company_id, written.company_id) AS company_id,
    coalesce(people, 0) AS people,
    coalesce(messages, 0) AS messages,
    last_message_at
  FROM people
  FULL JOIN written ON written.topic_id = people.topic_id AND written.company_id = people.company_id
)
SELECT
  companies.id AS company_id,
  companies.name AS company_name,
  coalesce(companies.is_vip, false) AS is_vip,
  coalesce(companies.person_count, employed.employees, 0) AS employees,
  topics.id AS topic_id,
  topics.title,
  topics.priority,
  topics.priority_rank,
  topics.lifecycle_state,
  open_topics.topic_id IS NOT NULL AS is_open,
  both_sides.people,
  both_sides.people / nullif(coalesce(companies.person_count, employed.employees), 0) AS share_of_employees,
  both_sides.messages,
  both_sides.last_message_at
FROM both_sides
JOIN topics ON topics.id = both_sides.topic_id
JOIN companies ON companies.id = both_sides.company_id
LEFT JOIN employed ON employed.company_id = companies.id
LEFT JOIN open_topics ON open_topics.topic_id = topics.id
WHERE topics.deleted_at IS NULL AND companies.deleted_at IS NULL AND NOT coalesce(companies.is_org_company, false);

COMMENT ON VIEW company_topics IS 'Which topics concern which companies, and how large are these? One row per topic and company whose people take part in it or wrote in its conversations; without our own company, bots, and what is deleted. sum(employees) by topic weighs topics by the size of the companies.';
COMMENT ON COLUMN company_topics.company_id IS 'The company (companies.id), after merges.';
COMMENT ON COLUMN company_topics.company_name IS 'Name of the company.';
COMMENT ON COLUMN company_topics.is_vip IS 'True for a company marked as VIP.';
COMMENT ON COLUMN company_topics.employees IS 'Its people, as the service counts them; where it does not, those in company_employees. The weight of the company.';
COMMENT ON COLUMN company_topics.topic_id IS 'The topic (topics.id).';
COMMENT ON COLUMN company_topics.title IS 'Title of the topic.';
COMMENT ON COLUMN company_topics.priority IS 'Priority of the topic.';
COMMENT ON COLUMN company_topics.priority_rank IS 'The priority as a number to sort by: 1 is very_high, 5 is very_low.';
COMMENT ON COLUMN company_topics.lifecycle_state IS 'Lifecycle state of the topic. NULL when it was never assessed.';
COMMENT ON COLUMN company_topics.is_open IS 'True for a topic of the backlog.';
COMMENT ON COLUMN company_topics.people IS 'People of the company who take part in the topic, as the service lists them.';
COMMENT ON COLUMN company_topics.share_of_employees IS 'people as a share of employees, 0 to 1. NULL when employees is 0.';
COMMENT ON COLUMN company_topics.messages IS 'Messages of its people in conversations of the topic.';
COMMENT ON COLUMN company_topics.last_message_at IS 'When one of them last wrote there (UTC). NULL when none of them did.';
