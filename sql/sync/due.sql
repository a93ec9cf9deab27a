-- What is due of one child, item by item of its list: `reason` says why (never fetched, changed, or too old), and is NULL
-- where nothing is due. Due is this query and nothing else: there is no queue that a crash could lose. A sync fetches
-- the rows that have a reason, and `signalhouse explain` shows the row of one entity, so the two cannot disagree.
--
--   $child            the child, e.g. 'topic_groups'
--   $list             the kind of document that the list's items are, e.g. 'topics'
--   $presence         the kind of document that says what is deleted, not listed any more or not answered by id; '' where
--                     there is none
--   $detail           the child that answers for one item by its id: of an item that is not listed any more, it is what is
--                     known, and is asked for by itself (sql/sync/unlisted.sql)
--   $change_fields    the JSON paths of the list item's fields whose change makes this child due
--   $member_list      the list whose items are counted in this child, '' for most; $member_parent is the JSON path of their
--                     field that names the parent, $member_fields are those whose change makes this child due
--   $moved_at         the JSON path of a time that any change of the item moves, where nothing else shows some changes of
--                     this child; NULL for most
--   $last_message_at  the JSON path of the time of the last message, which explains $moved_at when the two are equal
--   $max_age_seconds  the age after which it is fetched again, changed or not: as measured (src/sync/freshness.ts)
--   $full_age_seconds the age that the settings allow
--   $now              the current time
--   $entity_ids       the items to look at; NULL for all
--   $parts, $part     into how many parts the items are divided, and which of them is looked at, from 0 on: the JSON of 2,048
--                     items is read at once, which took more than 200 MB for 1,450 topics of 13 KB
--   $paged            whether an answer has pages, of $page_size items
--   $run_id           this run, which does not ask twice for what it could not store; '' outside of a run
--   {{touched}}       what changes this child although no field of its parent's list item shows it, as branches of a UNION: the
--                     entity and the last answer that showed it (sql/sync/touched)
--   {{not_requested}} further reasons for not requesting the child of an item, as branches of a CASE over `parents`. Text,
--                     because each names its own parameters, and a child without one does not pay for it.
--
-- Bound values plan as well as constants here, the list of paths included (5,000 topics among 225,000 documents: 87 ms
-- bound, 105 ms as constants).
--
-- NOT MATERIALIZED: DuckDB computes every column that is selected from a query with a materialized CTE, needed or not
-- (countDue of 50,000 people: 560 ms of CPU, 1,200 ms materialized).
WITH presence AS NOT MATERIALIZED (
  SELECT
    id,
    (body ->> '$.deletedAt') IS NOT NULL AS is_deleted,
    (body ->> '$.unlistedSince') AS unlisted_since,
    (body ->> '$.detailUnavailableReason') IS NOT NULL AS is_unanswered
  FROM raw.documents
  WHERE endpoint = $presence
),
members AS (
  SELECT
    (body ->> $member_parent::VARCHAR) AS entity_id,
    md5(string_agg(id || ' ' || to_json(json_extract_string(body, $member_fields))::VARCHAR, ' ' ORDER BY id)) AS digest
  FROM raw.documents
  WHERE endpoint = $member_list
  GROUP BY entity_id
),
items AS NOT MATERIALIZED (
  SELECT listed.id, coalesce(own.body, listed.body) AS body, unlisted.unlisted_since
  FROM raw.documents AS listed
  LEFT JOIN presence AS unlisted ON unlisted.id = listed.id AND unlisted.unlisted_since IS NOT NULL
  LEFT JOIN (
    SELECT id, body
    FROM raw.documents
    WHERE endpoint = $detail AND id IN (SELECT id FROM presence WHERE unlisted_since IS NOT NULL)
  ) AS own ON own.id = listed.id
  WHERE listed.endpoint = $list AND hash(listed.id) % $parts = $part AND ($entity_ids::VARCHAR[] IS NULL OR listed.id IN (SELECT unnest($entity_ids::VARCHAR[])))
),
parents AS (
  SELECT
    items.id AS entity_id,
    body,
    -- What left the list is read once more, whatever else changed.
    coalesce(unlisted_since, '') AS unlisted_since,
    json_extract_string(body, $change_fields) || CASE WHEN $member_list <> '' THEN [digest] ELSE [] END AS change_values,
    (body ->> $moved_at::VARCHAR) AS moved_at,
    -- The last message moved it: any other change that this child shows came before that.
    coalesce((body ->> $moved_at::VARCHAR) = (body ->> $last_message_at::VARCHAR), false) AS is_explained,
    json_extract_string(body, ['$.isVip', '$.lastSeenAt', '$.timeRangeEnd', '$.updatedAt', '$.messageCount']) AS ranking
  FROM items
  LEFT JOIN members ON members.entity_id = items.id
),
-- Conversations, where an answer has pages of them: those stored, or a guess from the messages that the list counts.
conversations AS (
  SELECT parent_id AS entity_id, count(*) AS stored
  FROM raw.documents
  WHERE $paged AND endpoint = $child
  GROUP BY parent_id
),
touched AS (
  SELECT entity_id, max(answer_no) AS answer_no
  FROM (
    SELECT NULL::VARCHAR AS entity_id, NULL::BIGINT AS answer_no
    WHERE false
    {{touched}}
  )
  GROUP BY entity_id
),
compared AS (
  SELECT
    parents.entity_id,
    md5(to_json(parents.change_values)::VARCHAR || parents.unlisted_since) AS values_fingerprint,
    values_fingerprint || coalesce(' ' || parents.moved_at, '') AS fingerprint,
    parents.is_explained,
    parents.moved_at,
    CASE
      WHEN parents.entity_id IN (SELECT id FROM presence WHERE is_deleted) THEN 'deleted'
      WHEN parents.unlisted_since <> '' AND $child = $detail THEN 'unlisted'
      {{not_requested}}
    END AS not_requested,
    coverage.fingerprint AS stored_fingerprint,
    coverage.fetched_at AS fetched_at,
    coalesce(touched.answer_no > coverage.answer_no, false) AS is_touched,
    coverage.error IS NOT NULL AS has_failed,
    coalesce(coverage.attempts, 0) AS attempts,
    parents.ranking[4] AS updated_at,
    -- The detail was answered 404 although the item is listed.
    parents.entity_id IN (SELECT id FROM presence WHERE is_unanswered) AS is_unanswered,
    -- What the last answer did not prove, or could not be stored of it: it is asked for again in the next run, then after
    -- one night, two, four and so on.
    coverage.reason AS last_reason,
    coalesce(
      starts_with(coverage.reason, 'again: ')
      AND (coverage.run_id <> $run_id OR coverage.reason NOT IN ('again: rejected', 'again: short', 'again: unsettled', 'again: older'))
      AND (
        coverage.attempts <= 1
        OR epoch($now) - epoch(least(coverage.fetched_at, $now)) >= 72000 * pow(2, least(coverage.attempts, 20) - 2)
      ),
      false
    ) AS is_asked_again,
    parents.change_values,
    coverage.counters AS stored_counters,
    -- Between half and all of the age allowed, by a hash that is new each time: what was fetched in one night does not
    -- come due in one night, and nothing is ever older than the age allowed.
    -- A time in the future comes from a clock that was ahead; it counts as now.
    epoch(least(coverage.fetched_at, $now)) AS fetched_at_seconds,
    0.5 + 0.5 * (hash(parents.entity_id || $child || epoch_ms(coverage.fetched_at)) / 18446744073709551615.0) AS share_of_age,
    fetched_at_seconds + $max_age_seconds * share_of_age AS sweep_at_seconds,
    epoch($now) > sweep_at_seconds AS is_old,
    epoch($now) <= fetched_at_seconds + $full_age_seconds * share_of_age AS is_young,
    (epoch($now) - fetched_at_seconds) / 86400 AS age_days,
    parents.ranking[1] = 'true' AS is_vip,
    coalesce(parents.ranking[2], parents.ranking[3], parents.ranking[4]) AS last_activity,
    CASE
      WHEN $paged THEN greatest(1, ceil(coalesce(conversations.stored, TRY_CAST(parents.ranking[5] AS DOUBLE) / 4, 1) / $page_size))
      ELSE 1
    END AS requests
  FROM parents
  LEFT JOIN ops.coverage AS coverage ON coverage.endpoint = $child AND coverage.entity_id = parents.entity_id
  LEFT JOIN touched ON touched.entity_id = parents.entity_id
  LEFT JOIN conversations ON conversations.entity_id = parents.entity_id
),
classified AS (
  SELECT
    *,
    stored_fingerprint <> fingerprint AND starts_with(stored_fingerprint, values_fingerprint) AS has_only_moved,
    CASE
      WHEN not_requested IS NOT NULL THEN NULL
      WHEN stored_fingerprint IS NULL THEN 'never'
      WHEN stored_fingerprint <> fingerprint AND NOT (is_explained AND has_only_moved) THEN 'changed'
      WHEN is_touched OR is_asked_again THEN 'changed'
      WHEN is_old THEN 'sweep'
    END AS reason
  FROM compared
)
SELECT
  entity_id,
  fingerprint,
  reason,
  -- What changed and is also too old, or what something else changed, is read from beginning to end, and so is what was in
  -- doubt.
  CASE WHEN reason = 'changed' AND NOT is_old AND NOT is_touched AND last_reason IS NULL THEN fetched_at END AS whole_at,
  has_failed,
  attempts,
  updated_at,
  is_unanswered,
  -- Old by what was measured alone: it comes after all that is old by the settings.
  reason = 'sweep' AND is_young AS is_early,
  -- Stored with the coverage: how much is new in an answer with pages shows whether all that is new was read. Elsewhere
  -- they show which field changed: numbers, times and true or false as they are, other text (which may be long, or
  -- personal) as a short hash, and lists as one with their length. Not of what is not due and not asked for: it costs most.
  CASE WHEN reason IS NOT NULL OR $entity_ids IS NOT NULL THEN
    to_json(map($change_fields || CASE WHEN $member_list <> '' THEN ['$.' || $member_list] ELSE [] END, CASE
      WHEN $paged THEN change_values
      ELSE list_transform(change_values, lambda value: CASE
        WHEN value IS NULL OR regexp_full_match(value, 'true|false|-?[0-9.]{1,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.Z+-]{0,20}') THEN value
        ELSE '#' || md5(value)[:8] || coalesce(' ' || json_array_length(TRY_CAST(value AS JSON)), '')
      END)
    END))::VARCHAR
  END AS counters,
  stored_counters,
  last_reason,
  coalesce(is_vip, false) AS is_vip,
  last_activity,
  -- What changed is read newest first, until what was read accounts for the change: usually one page or two.
  (CASE WHEN reason = 'changed' AND NOT is_old AND NOT is_touched AND stored_counters IS NOT NULL THEN least(requests, 2) ELSE requests END)::BIGINT AS requests,
  -- For explain alone.
  not_requested,
  has_only_moved,
  is_asked_again,
  is_touched,
  moved_at,
  stored_fingerprint,
  (sweep_at_seconds * 1000)::BIGINT AS sweep_at_ms,
  -- For checks: whether its last answer is what the tables say, and what tells how likely that is still true.
  reason IS NULL AND not_requested IS NULL AND NOT has_failed AND last_reason IS NULL AS is_current,
  age_days,
  CASE
    WHEN age_days < 0.5 THEN 'fresh'
    ELSE CASE
      WHEN age_days < 2 THEN 'under 2 days'
      WHEN age_days < 7 THEN 'under 7 days'
      WHEN age_days < 21 THEN 'under 21 days'
      ELSE '21 days or more'
    END || CASE WHEN raw.moment(last_activity) > $now::TIMESTAMPTZ - INTERVAL 14 DAY THEN ', active' ELSE ', quiet' END
  END AS stratum
FROM classified
