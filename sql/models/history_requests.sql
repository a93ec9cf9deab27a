-- The record of a change has its value, and the API made it between sending and answer: both are known by its own clock, to two
-- seconds. Who is named in it says nothing: what is made with the key has no user, or the key's owner. Of several with the value, the
-- first is that of the change. What the API refused has no record; a change in doubt, or a conflict that is found after sending, may
-- have one: until the API has forgotten its key, after which nothing can make it.
WITH asked AS (
  SELECT
    id AS change_id,
    entity_type,
    coalesce(topic_id, company_id) AS entity_id,
    body,
    unnest(json_keys(body)) AS field,
    first_sent_at - INTERVAL 2 SECOND AS sent_at,
    least(settled_at, first_sent_at + INTERVAL 24 HOUR) + INTERVAL 2 SECOND AS answered_at,
    requested_by,
    coalesce(requested_reason, wanted ->> 'archived_reason') AS requested_reason
  FROM ops.changes
  WHERE first_sent_at IS NOT NULL
    AND body IS NOT NULL
    AND (status IN ('applied', 'sending') OR (status = 'conflict' AND error_code = 'conflict'))
),
own_records AS (
  SELECT asked.change_id, asked.field, arg_min(history.id, (history.changed_at, history.id)) AS history_id
  FROM asked
  JOIN history
    ON history.entity_type = asked.entity_type
    AND history.entity_id = asked.entity_id
    AND history.operation = 'UPDATE'
    AND history.changed_at BETWEEN asked.sent_at AND asked.answered_at
    AND json_extract(history.changes, concat('$."', asked.field, '"')) = json_extract(asked.body, concat('$."', asked.field, '"'))
  GROUP BY asked.change_id, asked.field
)
SELECT own_records.history_id, asked.change_id, asked.requested_by, asked.requested_reason
FROM own_records
JOIN asked USING (change_id, field)
QUALIFY row_number() OVER (PARTITION BY history_id ORDER BY asked.change_id DESC) = 1
