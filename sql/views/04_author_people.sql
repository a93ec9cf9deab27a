CREATE OR REPLACE VIEW author_people AS
WITH linked AS (
  SELECT
    person_identities.platform,
    person_identities.platform_id,
    -- If two people have the same account: the one that is not deleted, then the one synced last.
    arg_max(
      coalesce(final_ids.final_id, person_identities.person_id),
      (person_roles.person_id IS NOT NULL, person_identities.synced_at, person_identities.person_id)
    ) AS person_id
  FROM person_identities
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = person_identities.person_id
  LEFT JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, person_identities.person_id)
  GROUP BY person_identities.platform, person_identities.platform_id
)
SELECT
  authors.id AS author_id,
  linked.person_id,
  coalesce(person_roles.display_name, authors.display_name) AS display_name,
  person_roles.company_id,
  coalesce(person_roles.is_staff, false) AS is_staff,
  coalesce(authors.is_bot, false) OR coalesce(person_roles.is_bot, false) AS is_bot,
  coalesce(person_roles.is_vip, false) AS is_vip,
  coalesce(person_roles.is_company_vip, false) AS is_company_vip
FROM authors
LEFT JOIN linked ON linked.platform = authors.source_name AND linked.platform_id = authors.source_author_id
LEFT JOIN person_roles ON person_roles.person_id = linked.person_id;

COMMENT ON VIEW author_people IS 'Which person is behind an account that writes messages? One row per author.';
COMMENT ON COLUMN author_people.author_id IS 'The author (authors.id).';
COMMENT ON COLUMN author_people.person_id IS 'The person (people.id), after merges. NULL when no identity links the account to a person.';
COMMENT ON COLUMN author_people.display_name IS 'Name of the person, or of the account where the person is unknown.';
COMMENT ON COLUMN author_people.company_id IS 'The person''s company (companies.id), after merges. NULL when there is none.';
COMMENT ON COLUMN author_people.is_staff IS 'True for one of our own people. Also false where the person is unknown.';
COMMENT ON COLUMN author_people.is_bot IS 'True for a program.';
COMMENT ON COLUMN author_people.is_vip IS 'True for a person marked as VIP.';
COMMENT ON COLUMN author_people.is_company_vip IS 'True when the person''s company is marked as VIP.';
