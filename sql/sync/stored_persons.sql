-- Topics whose people, and people of topics, that are stored as the topics list last returned them, and all authors. Not
-- those of which the topic's own list of people was fetched later and says something else: the later answer counts, whichever
-- it is. Only the topics list tells whether a company is our own, so that is nothing else. And not topics that name somebody who
-- is not stored with them: the people of a topic are removed with it, and with the person, and either may come back.
WITH incomplete AS (
  SELECT named.id
  FROM (
    SELECT id, unnest(from_json(body, '{"personIds": ["VARCHAR"]}').personIds) AS person_id
    FROM raw.documents
    WHERE endpoint = 'topics' AND parts_hash IS NOT NULL
  ) AS named
  ANTI JOIN (SELECT parent_id, id FROM raw.documents WHERE endpoint = 'topic_persons') AS listed
    ON listed.parent_id = named.id AND listed.id = named.person_id
),
later AS (
  SELECT listed.parent_id, listed.id, listed.body AS listed, own.body AS own
  FROM raw.documents AS listed
  JOIN raw.documents AS own
    ON own.endpoint = 'topic_people' AND own.parent_id = listed.parent_id AND own.id = listed.id
  WHERE listed.endpoint = 'topic_persons' AND own.answer_no > listed.answer_no
),
disputed AS (
  SELECT parent_id, id
  FROM later
  WHERE EXISTS (
    SELECT 1
    -- Each member as it is: a name from outside is no part of a path.
    FROM json_each(listed) AS ours
    JOIN json_each(own) AS theirs ON theirs.key = ours.key
    WHERE theirs.value IS DISTINCT FROM ours.value
      AND NOT (
        ours.key = 'company' AND theirs.value = json_merge_patch(ours.value, '{"isOrgCompany": null}')
      )
  )
)
SELECT
  ('0x' || left(md5('topics  ' || id), 16))::UBIGINT AS name,
  ('0x' || parts_hash)::UBIGINT AS hash
FROM raw.documents
WHERE endpoint = 'topics'
  AND parts_hash IS NOT NULL
  AND id NOT IN (SELECT parent_id FROM disputed)
  AND id NOT IN (SELECT id FROM incomplete)
UNION ALL
SELECT
  ('0x' || left(md5('topic_persons ' || parent_id || ' ' || id), 16))::UBIGINT,
  ('0x' || left(body_hash, 16))::UBIGINT
FROM raw.documents AS listed
ANTI JOIN disputed USING (parent_id, id)
WHERE endpoint = 'topic_persons'
UNION ALL
SELECT
  ('0x' || left(md5('authors  ' || id), 16))::UBIGINT,
  ('0x' || left(body_hash, 16))::UBIGINT
FROM raw.documents
WHERE endpoint = 'authors'
