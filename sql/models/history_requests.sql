-- The record of a change is the first one of its field since the topic was as it was read right before it was sent, both by
-- the API's clock. What is made with the key has no user: where the first one has one, or another value, it is not the
-- record of this change. A company has no time of its last change: the time of sending counts, and clocks may differ. What
-- the API refused has no record, and a later one of the same value is that of somebody else; a conflict that is found after
-- sending may have one.
WITH asked AS (
  SELECT
    id AS change_id,
    entity_type,
    coalesce(topic_id, company_id) AS entity_id,
    body,
    unnest(json_keys(body)) AS field,
    coalesce(raw.moment(remote_before ->> 'updated_at'), first_sent_at - INTERVAL 1 HOUR) AS known_at,
    requested_by,
    coalesce(requested_reason, wanted ->> 'archived_reason') AS requested_reason
  FROM ops.changes
  WHERE first_sent_at IS NOT NULL
    AND body IS NOT NULL
    AND (status IN ('applied', 'sending') OR (status = 'conflict' AND error_code = 'conflict'))
),
first_records AS (
  SELECT
    asked.change_id,
    asked.field,
    arg_min(history.id, (history.changed_at, history.id)) AS history_id
  FROM asked
  JOIN history
    ON history.entity_type = asked.entity_type
    AND history.entity_id = asked.entity_id
    AND history.operation = 'UPDATE'
    AND history.changed_at > asked.known_at
    AND list_contains(json_keys(history.changes), asked.field)
  GROUP BY asked.change_id, asked.field
)
SELECT
  history.id AS history_id,
  asked.change_id,
  asked.requested_by,
  asked.requested_reason
FROM first_records
JOIN asked USING (change_id, field)
JOIN history ON history.id = first_records.history_id
WHERE history.user_id IS NULL
  AND json_extract(history.changes, concat('$."', field, '"')) = json_extract(asked.body, concat('$."', field, '"'))
QUALIFY row_number() OVER (PARTITION BY history.id ORDER BY asked.change_id DESC) = 1
