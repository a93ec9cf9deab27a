-- A person has no field for staff or bot: the topics that the person takes part in have them, and our own company is
-- marked.
CREATE OR REPLACE VIEW person_roles AS
WITH in_topics AS (
  SELECT
    person_id,
    arg_max(display_name, (synced_at, topic_id)) AS display_name,
    arg_max(is_staff, (synced_at, topic_id)) AS is_staff,
    arg_max(is_bot, (synced_at, topic_id)) AS is_bot,
    arg_max(is_vip, (synced_at, topic_id)) AS is_vip,
    -- Also where the latest one says that there is none: topics that are not listed any more keep what they said.
    arg_max_null(company_id, (synced_at, topic_id)) AS company_id,
    arg_max_null(company_name, (synced_at, topic_id)) AS company_name,
    coalesce(bool_or(company_is_org_company), false) AS is_of_org_company
  FROM topic_people
  GROUP BY person_id
),
known AS (
  SELECT
    coalesce(people.id, in_topics.person_id) AS person_id,
    coalesce(people.display_name, in_topics.display_name) AS display_name,
    coalesce(final_ids.final_id, people.company_id, in_topics.company_id) AS company_id,
    coalesce(people.company_name, in_topics.company_name) AS company_name,
    in_topics.is_staff,
    in_topics.is_bot,
    coalesce(people.is_vip, in_topics.is_vip) AS is_vip,
    in_topics.is_of_org_company
  FROM people
  FULL JOIN in_topics ON in_topics.person_id = people.id
  LEFT JOIN final_ids
    ON final_ids.entity_type = 'company' AND final_ids.id = coalesce(people.company_id, in_topics.company_id)
  WHERE people.deleted_at IS NULL
)
SELECT
  known.person_id,
  known.display_name,
  known.company_id,
  coalesce(companies.name, known.company_name) AS company_name,
  coalesce(known.is_staff, companies.is_org_company, known.is_of_org_company, false) AS is_staff,
  coalesce(known.is_bot, false) AS is_bot,
  coalesce(known.is_vip, false) AS is_vip,
  coalesce(companies.is_vip, false) AS is_company_vip
FROM known
LEFT JOIN companies ON companies.id = known.company_id;

COMMENT ON VIEW person_roles IS 'Who is staff, who is a bot, who is a VIP, and whose company is which? One row per person, without merged and deleted ones.';
COMMENT ON COLUMN person_roles.person_id IS 'The person (people.id).';
COMMENT ON COLUMN person_roles.display_name IS 'Name of the person.';
COMMENT ON COLUMN person_roles.company_id IS 'The person''s company (companies.id), after merges. NULL when the person has none.';
COMMENT ON COLUMN person_roles.company_name IS 'Name of that company.';
COMMENT ON COLUMN person_roles.is_staff IS 'True for one of our own people: according to a topic; where no topic tells, when the person is in our own company.';
COMMENT ON COLUMN person_roles.is_bot IS 'True for a program, according to a topic.';
COMMENT ON COLUMN person_roles.is_vip IS 'True for a person marked as VIP.';
COMMENT ON COLUMN person_roles.is_company_vip IS 'True when the person''s company is marked as VIP.';
