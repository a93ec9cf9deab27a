-- A person's own list of identities says which accounts are his, and that no other is. What the people of a topic say counts
-- where it is later than that list, or where there is none. An account belongs to one person: the one of whom the latest
-- answer says so.
WITH own AS (
  SELECT
    parent_id AS person_id,
    from_json(body, '{
      "id": "VARCHAR", "platform": "VARCHAR", "platformId": "VARCHAR", "platformUsername": "VARCHAR"
    }') AS d,
    answer_no
  FROM raw.documents
  WHERE endpoint = 'person_identities'
),
-- When a list was fetched last: its documents keep the answer that brought them first, and an empty one has none. A list that
-- was refused (4xx) says nothing; a request without an answer leaves the number of the one before.
own_age AS (
  SELECT person_id, max(answer_no) AS answer_no
  FROM (
    SELECT person_id, answer_no FROM own
    UNION ALL
    SELECT entity_id, answer_no
    FROM ops.coverage
    WHERE endpoint = 'person_identities'
      AND (error IS NULL OR (reason IS NULL AND (coalesce(status NOT BETWEEN 400 AND 499, true) OR status IN (408, 425, 429))))
  )
  GROUP BY person_id
),
copies AS (
  SELECT
    id AS person_id,
    unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS d,
    answer_no
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
    own_age.answer_no AS seen_no
  FROM own
  JOIN own_age USING (person_id)
  UNION ALL
  SELECT person_id, d.platform, d.platformId, NULL, NULL, copies.answer_no
  FROM copies
  LEFT JOIN own_age USING (person_id)
  WHERE own_age.answer_no IS NULL OR copies.answer_no > own_age.answer_no
)
SELECT
  person_id,
  platform,
  platform_id,
  max(id) AS id,
  max(platform_username) AS platform_username
FROM named
WHERE platform IS NOT NULL AND platform_id IS NOT NULL
GROUP BY person_id, platform, platform_id
QUALIFY row_number() OVER (PARTITION BY platform, platform_id ORDER BY max(seen_no) DESC, person_id) = 1
