-- Companies, or people, with a conversation that left its topic for none: the topic's own list, which is as long as the topic
-- says, was fetched later and does not have it. (One that another topic's list has had since is in that topic, whatever a
-- company or person names.) A topic that was found to be gone since has none.
--
--   {{child}}  the child, e.g. 'company_groups'
WITH concerned AS (
  SELECT entity_id AS topic_id FROM coverage_now WHERE endpoint = 'topic_groups'
  UNION
  SELECT parent_id FROM writes WHERE endpoint = 'topic_groups'
  UNION
  SELECT parent_id FROM deletes WHERE endpoint = 'topic_groups'
  UNION
  SELECT id FROM writes WHERE endpoint IN ('topics', 'topic', 'topic_presence')
),
sizes AS (
  SELECT parent_id AS topic_id, count(*) AS listed
  FROM raw.documents
  WHERE endpoint = 'topic_groups' AND parent_id IN (FROM concerned)
  GROUP BY parent_id
  UNION ALL
  SELECT id, 0 FROM main.topics WHERE id IN (FROM concerned) AND (total_group_count = 0 OR deleted_at IS NOT NULL)
)
SELECT named.parent_id AS entity_id, own.answer_no
FROM raw.documents AS named
JOIN main.groups ON groups.id = named.id AND groups.topic_id IN (FROM concerned)
JOIN ops.coverage AS own
  ON own.endpoint = 'topic_groups' AND own.entity_id = groups.topic_id AND own.error IS NULL AND own.answer_no > named.answer_no
JOIN main.topics ON topics.id = groups.topic_id
JOIN sizes ON sizes.topic_id = topics.id AND sizes.listed = CASE WHEN topics.deleted_at IS NULL THEN topics.total_group_count ELSE 0 END
-- Two joins: with OR in the condition of one, DuckDB compares every row with every other (254,000 with 184,000: 122 s).
ANTI JOIN (SELECT id, parent_id FROM raw.documents WHERE endpoint = 'topic_groups') AS own_list
  ON own_list.id = named.id AND own_list.parent_id = groups.topic_id
ANTI JOIN (SELECT id, answer_no FROM raw.documents WHERE endpoint = 'topic_groups') AS later_list
  ON later_list.id = named.id AND later_list.answer_no > named.answer_no
WHERE named.endpoint = {{child}}
