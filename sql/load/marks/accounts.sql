-- Topics whose people change although their list does not show it: a person has an account that the topic gives to another
-- person, or got another account that wrote messages of the topic. (A person's first accounts change nothing here: the list
-- shows who takes part in a topic for the first time.)
WITH owners AS (
  SELECT
    own.parent_id AS person_id,
    own.id AS account,
    own.answer_no,
    own.answer_no > (
      SELECT min(answer_no) FROM raw.documents WHERE endpoint = 'person_identities' AND parent_id = own.parent_id
    ) AS is_later
  FROM writes AS own
  WHERE own.endpoint = 'person_identities'
),
copies AS (
  SELECT topic_id, person_id, account.platform || ':' || account.platformId AS account
  FROM (
    SELECT
      parent_id AS topic_id,
      id AS person_id,
      unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS account
    FROM raw.documents
    WHERE endpoint = 'topic_people'
  )
)
SELECT copies.topic_id AS entity_id, owners.answer_no
FROM copies
JOIN owners ON owners.account = copies.account AND owners.person_id <> copies.person_id
UNION ALL
SELECT writers.topic_id, owners.answer_no
FROM owners
JOIN main.authors ON authors.source_name || ':' || authors.source_author_id = owners.account
JOIN (SELECT id AS topic_id, unnest(author_ids) AS author_id FROM main.topics WHERE deleted_at IS NULL) AS writers
  ON writers.author_id = authors.id
ANTI JOIN copies
  ON copies.topic_id = writers.topic_id AND copies.person_id = owners.person_id AND copies.account = owners.account
WHERE owners.is_later
