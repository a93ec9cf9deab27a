-- What changes a child although no field of its parent's list item shows it: the entity and the last answer that showed it.
--
--   $child     the child, e.g. 'company_identities'
--   $presence  the kind of document that says what is merged; '' where there is none
--   $detail    the detail of the list's items, whose coverage has the answer that said that one of them is gone
--
-- What was merged into it: everything of the survivor may have changed.
SELECT
  gone.body ->> '$.mergedIntoId' AS entity_id,
  asked.answer_no
FROM raw.documents AS gone
JOIN ops.coverage AS asked ON asked.endpoint = $detail AND asked.entity_id = gone.id
WHERE gone.endpoint = $presence AND (gone.body ->> '$.mergedIntoId') IS NOT NULL
UNION ALL
-- Who joined a company since, with their old conversations: as many others may have left.
SELECT id, answer_no
FROM raw.documents
WHERE endpoint = 'person_companies' AND $child = 'company_groups'
UNION ALL
-- Who has a conversation that left its topic for none: the topic's own list, which is as long as the topic says, was fetched
-- later and does not have it. (One that another topic's list has had since is in that topic, whatever a company or person names.)
SELECT named.parent_id, own.answer_no
FROM raw.documents AS named
JOIN main.groups ON groups.id = named.id
JOIN ops.coverage AS own
  ON own.endpoint = 'topic_groups' AND own.entity_id = groups.topic_id AND own.error IS NULL AND own.answer_no > named.answer_no
JOIN main.topics ON topics.id = groups.topic_id
JOIN (
  SELECT parent_id AS topic_id, count(*) AS listed
  FROM raw.documents
  WHERE endpoint = 'topic_groups'
  GROUP BY parent_id
  UNION ALL
  SELECT id, 0 FROM main.topics WHERE total_group_count = 0
) AS sizes ON sizes.topic_id = topics.id AND sizes.listed = topics.total_group_count
ANTI JOIN (SELECT id, parent_id, answer_no FROM raw.documents WHERE endpoint = 'topic_groups') AS listed
  ON listed.id = named.id AND (listed.parent_id = groups.topic_id OR listed.answer_no > named.answer_no)
WHERE named.endpoint = $child AND $child IN ('company_groups', 'person_groups') AND topics.deleted_at IS NULL
UNION ALL
-- Topics in which somebody has an account that was listed for somebody else since: their people and messages changed hands.
SELECT copy.topic_id, owner.answer_no
FROM (
  SELECT
    parent_id AS topic_id,
    id AS person_id,
    unnest(from_json(body, '{"identities": [{"platform": "VARCHAR", "platformId": "VARCHAR"}]}').identities) AS account
  FROM raw.documents
  WHERE endpoint = $child AND $child = 'topic_people'
) AS copy
JOIN raw.documents AS owner
  ON owner.endpoint = 'person_identities'
  AND owner.id = copy.account.platform || ':' || copy.account.platformId
  AND owner.parent_id <> copy.person_id
