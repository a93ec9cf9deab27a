-- Every change as a JSON object with the program's field names.
SELECT json_object(
  'id', id,
  'revision', revision,
  'entityType', entity_type,
  'entityId', coalesce(topic_id, company_id, person_id),
  'status', status,
  'idempotencyKey', idempotency_key,
  'wanted', wanted,
  'base', base,
  'baseFrom', base_from,
  'baseAt', strftime(base_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
  'overwrite', overwrite,
  'requestedBy', requested_by,
  'requestedReason', requested_reason,
  'queuedAt', strftime(queued_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
  'source', source,
  'sourceHash', source_hash,
  'sourceRow', source_row,
  'importId', import_id,
  'body', body::VARCHAR,
  'firstSentAt', strftime(first_sent_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
  'sentAt', strftime(sent_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
  'attempts', attempts,
  'remoteBefore', remote_before,
  'remoteAfter', remote_after,
  'errorCode', error_code,
  'error', error,
  'settledAt', strftime(settled_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
  'supersededBy', superseded_by,
  'undoes', coalesce(undoes, [])
)::VARCHAR AS change
FROM ops.changes
ORDER BY id;
