-- table: person_identities
-- key: person_id, platform, platform_id
-- derived: raw.documents

-- The person's list of identities decides. Identities in lists of a topic's people count only when they are newer than
-- that list; otherwise an identity that moved to another person would belong to both.
WITH own AS (
  SELECT
    parent_id AS person_id,
    from_json(body, '{
      "id": "VARCHAR", "platform": "VARCHAR", "platformId": "VARCHAR", "platformUsername": "VARCHAR"
    }') AS d,
    fetched_at,
    answer_no,
    run_id
  FROM raw.documents
  WHERE endpoint = 'person_identities'
),
own_age AS (
  SELECT person_id, max(answer_no) AS answer_no
  FROM own
  GROUP BY person_id
),
copies AS (
  SELECT
    id AS person_id,
    unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS d,
    fetched_at,
    answer_no,
    run_id
  FROM raw.documents
  WHERE endpoint = 'topic_people'
),
named AS (
  SELECT
    person_id,
    d.platform AS platform,
    d.platformId AS platform_id,
    d.id AS id,
    d.platformUsername AS platform_username,
    fetched_at,
    answer_no,
    run_id
  FROM own
  UNION ALL
  SELECT copies.person_id, d.platform, d.platformId, NULL, NULL, copies.fetched_at, copies.answer_no, run_id
  FROM copies
  LEFT JOIN own_age ON own_age.person_id = copies.person_id
  WHERE own_age.answer_no IS NULL OR copies.answer_no > own_age.answer_no
)
SELECT
  person_id,
  platform,
  platform_id,
  max(id) AS id,
  max(platform_username) AS platform_username,
  arg_max(fetched_at, answer_no) AS synced_at,
  arg_max(run_id, answer_no) AS run_id
FROM named
WHERE platform IS NOT NULL AND platform_id IS NOT NULL
GROUP BY person_id, platform, platform_id
