-- What is due of one child endpoint: the list items whose child was never fetched, may have changed, or is too old.
-- Due is this query and nothing else: there is no queue that a crash could lose.
--
--   {{child}}           the child endpoint, e.g. 'topic_groups'
--   {{list}}            the kind of document that the list's items are, e.g. 'topics'
--   {{presence}}        the kind of document that says what is gone or listed no more, e.g. 'topic_presence'
--   {{betrayed_by}}     the JSON paths of the list item's fields that betray a change of this child
--   {{moved_at}}        an SQL expression over the list item's "body": the moment that any change moves, whatever it was of,
--                    where that is all that betrays some changes of this child; NULL for most
--   {{last_message_at}} the same for the moment of the last message, which explains {{moved_at}} when it is the same
--   {{max_age_seconds}} the age after which it is fetched again, changed or not
--   {{now}}             the time of asking
--   {{paged}}           whether an answer has pages, of {{page_size}} items
--   {{condition}}       further conditions on an item, as SQL over `parents`
WITH gone AS (
  SELECT id
  FROM raw.documents
  WHERE endpoint = {{presence}}
    AND ((body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL)
),
parents AS (
  SELECT
    id AS entity_id,
    body,
    json_extract_string(body, {{betrayed_by}}) AS betrayed_by,
    {{moved_at}} AS moved_at,
    -- The last message moved it: whatever else this child is about changed, if anything, before that.
    coalesce({{moved_at}} = {{last_message_at}}, false) AS is_explained,
    json_extract_string(body, ['$.isVip', '$.lastSeenAt', '$.timeRangeEnd', '$.updatedAt', '$.messageCount']) AS said
  FROM raw.documents
  WHERE endpoint = {{list}}
    AND id NOT IN (SELECT id FROM gone)
),
-- Conversations a page, where an answer has pages: those known, or a guess from the messages that the list counts.
conversations AS (
  SELECT parent_id AS entity_id, count(*) AS known
  FROM raw.documents
  WHERE {{paged}} AND endpoint = {{child}}
  GROUP BY parent_id
),
compared AS (
  SELECT
    parents.entity_id,
    md5(to_json(parents.betrayed_by)::VARCHAR) AS said_fingerprint,
    said_fingerprint || coalesce(' ' || parents.moved_at, '') AS fingerprint,
    parents.is_explained,
    coverage.fingerprint AS known_fingerprint,
    coverage.fetched_at AS fetched_at,
    -- Between half and all of the age allowed, by a hash that is new each time: what was fetched in one night does not
    -- come due in one night, and nothing is ever older than the age allowed.
    epoch({{now}}) - epoch(coverage.fetched_at)
      > {{max_age_seconds}} * (0.5 + 0.5 * (hash(parents.entity_id || {{child}} || epoch_ms(coverage.fetched_at)) / 18446744073709551615.0))
      AS is_old,
    parents.said[1] = 'true' AS is_vip,
    coalesce(parents.said[2], parents.said[3], parents.said[4]) AS last_activity,
    CASE
      WHEN {{paged}} THEN greatest(1, ceil(coalesce(conversations.known, TRY_CAST(parents.said[5] AS DOUBLE) / 4, 1) / {{page_size}}))
      ELSE 1
    END AS requests
  FROM parents
  LEFT JOIN ops.coverage AS coverage ON coverage.endpoint = {{child}} AND coverage.entity_id = parents.entity_id
  LEFT JOIN conversations ON conversations.entity_id = parents.entity_id
  WHERE {{condition}}
),
judged AS (
  SELECT
    *,
    CASE
      WHEN known_fingerprint IS NULL THEN 'never'
      WHEN known_fingerprint <> fingerprint
        AND NOT (is_explained AND starts_with(known_fingerprint, said_fingerprint)) THEN 'changed'
      WHEN is_old THEN 'sweep'
    END AS reason
  FROM compared
)
SELECT
  entity_id,
  fingerprint,
  reason,
  -- Of what changed and is too old as well, everything is read again.
  CASE WHEN reason = 'changed' AND NOT is_old THEN fetched_at END AS whole_at,
  coalesce(is_vip, false) AS is_vip,
  last_activity,
  -- What changed is read newest first, up to the first page without news: usually the first or the second.
  (CASE WHEN reason = 'changed' AND NOT is_old THEN least(requests, 2) ELSE requests END)::BIGINT AS requests
FROM judged
WHERE reason IS NOT NULL
