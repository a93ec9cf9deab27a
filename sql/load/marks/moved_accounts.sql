-- People of whom one has an account that the people of a topic give to another: both have other accounts now, and their
-- counters say nothing of an exchange.
SELECT unnest([own.parent_id, copy.person_id]) AS entity_id, copy.answer_no
FROM raw.documents AS own
JOIN (
  SELECT
    id AS person_id,
    answer_no,
    unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS account
  FROM write_bodies
  WHERE endpoint = 'topic_people'
) AS copy ON copy.account.platform || ':' || copy.account.platformId = own.id AND copy.person_id <> own.parent_id
WHERE own.endpoint = 'person_identities'
