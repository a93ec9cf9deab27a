-- Topics in which somebody has an account that was listed for somebody else since: their people and messages changed hands.
SELECT copy.topic_id, owner.answer_no
FROM (
  SELECT
    parent_id AS topic_id,
    id AS person_id,
    unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS account
  FROM raw.documents
  WHERE endpoint = 'topic_people'
) AS copy
JOIN raw.documents AS owner
  ON owner.endpoint = 'person_identities'
  AND owner.id = copy.account.platform || ':' || copy.account.platformId
  AND owner.parent_id <> copy.person_id
