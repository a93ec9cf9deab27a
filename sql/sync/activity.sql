-- What is stored of the messages of companies' people and of people, to be compared with their counters: messages that are not
-- deleted, when the last of them was written (milliseconds since 1970), the conversations with any, how many of those their list
-- has not named yet, and how many it named in which they have none any more.
--
--   $companies, $people  whose
WITH members AS (
  SELECT 'company_groups' AS child, company_id AS entity_id, id AS person_id
  FROM main.people
  WHERE company_id IN (SELECT unnest($companies::VARCHAR[])) AND deleted_at IS NULL
  UNION ALL
  SELECT 'person_groups', unnest($people::VARCHAR[]), unnest($people::VARCHAR[])
),
written AS (
  SELECT members.child, members.entity_id, messages.group_id, messages.created_at, messages.deleted_at
  FROM members
  JOIN main.person_identities AS account USING (person_id)
  JOIN main.authors ON authors.source_name = account.platform AND authors.source_author_id = account.platform_id
  JOIN main.messages ON messages.author_id = authors.id
),
sums AS (
  SELECT
    child,
    entity_id,
    count(*) FILTER (deleted_at IS NULL) AS messages,
    epoch_ms(max(created_at) FILTER (deleted_at IS NULL)) AS last_at,
    count(DISTINCT group_id) AS conversations,
    count(DISTINCT group_id) FILTER (listed.id IS NULL) AS unlisted
  FROM written
  LEFT JOIN raw.documents AS listed
    ON listed.endpoint = written.child AND listed.parent_id = written.entity_id AND listed.id = written.group_id
  GROUP BY ALL
),
emptied AS (
  SELECT listed.endpoint AS child, listed.parent_id AS entity_id, count(*) AS conversations
  FROM raw.documents AS listed
  ANTI JOIN written ON written.child = listed.endpoint AND written.entity_id = listed.parent_id AND written.group_id = listed.id
  WHERE (listed.endpoint, listed.parent_id) IN (SELECT (child, entity_id) FROM members)
  GROUP BY ALL
)
SELECT
  sums.child,
  sums.entity_id AS "entityId",
  sums.messages,
  sums.last_at AS "lastAt",
  sums.conversations,
  sums.unlisted,
  coalesce(emptied.conversations, 0) AS emptied
FROM sums
LEFT JOIN emptied USING (child, entity_id)
