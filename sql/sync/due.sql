-- What is due of one child: the list items whose child was never fetched, may have changed, or is too old. Due is this
-- query and nothing else: there is no queue that a crash could lose.
--
--   $child            the child, e.g. 'topic_groups'
--   $list             the kind of document that the list's items are, e.g. 'topics'
--   $presence         the kind of document that says what is deleted, not listed any more or not answered by id; '' where
--                     there is none
--   $change_fields    the JSON paths of the list item's fields whose change makes this child due
--   $moved_at         the JSON path of a time that any change of the item moves, where nothing else shows some changes of
--                     this child; NULL for most
--   $last_message_at  the JSON path of the time of the last message, which explains $moved_at when the two are equal
--   $max_age_seconds  the age after which it is fetched again, changed or not
--   $now              the current time
--   $paged            whether an answer has pages, of $page_size items
--   {{condition}}     further conditions on an item, as SQL over `parents`. Text, because each names its own parameters,
--                     and a child without a condition does not pay for it.
--
-- Bound values plan as well as constants here, the list of paths included (5,000 topics among 225,000 documents: 87 ms
-- bound, 105 ms as constants).
WITH presence AS (
  SELECT
    id,
    (body ->> '$.deletedAt') IS NOT NULL OR (body ->> '$.unlistedSince') IS NOT NULL AS is_unlisted,
    (body ->> '$.detailUnavailableReason') IS NOT NULL AS is_unanswered
  FROM raw.documents
  WHERE endpoint = $presence
),
parents AS (
  SELECT
    id AS entity_id,
    body,
    json_extract_string(body, $change_fields) AS change_values,
    -- Stored with the coverage: how much is new in an answer with pages shows whether all that is new was read.
    CASE WHEN $paged THEN to_json(map($change_fields, change_values))::VARCHAR END AS counters,
    (body ->> $moved_at::VARCHAR) AS moved_at,
    -- The last message moved it: any other change that this child shows came before that.
    coalesce((body ->> $moved_at::VARCHAR) = (body ->> $last_message_at::VARCHAR), false) AS is_explained,
    json_extract_string(body, ['$.isVip', '$.lastSeenAt', '$.timeRangeEnd', '$.updatedAt', '$.messageCount']) AS ranking
  FROM raw.documents
  WHERE endpoint = $list
    AND id NOT IN (SELECT id FROM presence WHERE is_unlisted)
),
-- Conversations, where an answer has pages of them: those stored, or a guess from the messages that the list counts.
conversations AS (
  SELECT parent_id AS entity_id, count(*) AS stored
  FROM raw.documents
  WHERE $paged AND endpoint = $child
  GROUP BY parent_id
),
compared AS (
  SELECT
    parents.entity_id,
    md5(to_json(parents.change_values)::VARCHAR) AS values_fingerprint,
    values_fingerprint || coalesce(' ' || parents.moved_at, '') AS fingerprint,
    parents.is_explained,
    coverage.fingerprint AS stored_fingerprint,
    coverage.fetched_at AS fetched_at,
    coverage.error IS NOT NULL AS has_failed,
    -- The detail was answered 404 although the item is listed.
    parents.entity_id IN (SELECT id FROM presence WHERE is_unanswered) AS is_unanswered,
    parents.counters,
    coverage.counters AS stored_counters,
    -- Between half and all of the age allowed, by a hash that is new each time: what was fetched in one night does not
    -- come due in one night, and nothing is ever older than the age allowed.
    -- A time in the future comes from a clock that was ahead; it counts as now.
    epoch($now) - epoch(least(coverage.fetched_at, $now))
      > $max_age_seconds * (0.5 + 0.5 * (hash(parents.entity_id || $child || epoch_ms(coverage.fetched_at)) / 18446744073709551615.0))
      AS is_old,
    parents.ranking[1] = 'true' AS is_vip,
    coalesce(parents.ranking[2], parents.ranking[3], parents.ranking[4]) AS last_activity,
    CASE
      WHEN $paged THEN greatest(1, ceil(coalesce(conversations.stored, TRY_CAST(parents.ranking[5] AS DOUBLE) / 4, 1) / $page_size))
      ELSE 1
    END AS requests
  FROM parents
  LEFT JOIN ops.coverage AS coverage ON coverage.endpoint = $child AND coverage.entity_id = parents.entity_id
  LEFT JOIN conversations ON conversations.entity_id = parents.entity_id
  WHERE {{condition}}
),
classified AS (
  SELECT
    *,
    CASE
      WHEN stored_fingerprint IS NULL THEN 'never'
      WHEN stored_fingerprint <> fingerprint
        AND NOT (is_explained AND starts_with(stored_fingerprint, values_fingerprint)) THEN 'changed'
      WHEN is_old THEN 'sweep'
    END AS reason
  FROM compared
)
SELECT
  entity_id,
  fingerprint,
  reason,
  -- What changed and is also too old is read from beginning to end.
  CASE WHEN reason = 'changed' AND NOT is_old THEN fetched_at END AS whole_at,
  has_failed,
  is_unanswered,
  counters,
  stored_counters,
  coalesce(is_vip, false) AS is_vip,
  last_activity,
  -- What changed is read newest first, until what was read accounts for the change: usually one page or two.
  (CASE WHEN reason = 'changed' AND NOT is_old AND stored_counters IS NOT NULL THEN least(requests, 2) ELSE requests END)::BIGINT AS requests
FROM classified
WHERE reason IS NOT NULL
