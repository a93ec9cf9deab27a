-- Replaces the stored changes with the newer states that stage_changes.sql has staged.
DELETE FROM ops.changes WHERE id IN (SELECT id FROM changed);

INSERT INTO ops.changes BY NAME
SELECT
  id,
  revision,
  entityType AS entity_type,
  CASE WHEN entityType = 'topic' THEN entityId END AS topic_id,
  CASE WHEN entityType = 'company' THEN entityId END AS company_id,
  CASE WHEN entityType = 'person' THEN entityId END AS person_id,
  status,
  idempotencyKey AS idempotency_key,
  wanted,
  base,
  baseFrom AS base_from,
  baseAt AS base_at,
  overwrite,
  requestedBy AS requested_by,
  requestedReason AS requested_reason,
  queuedAt AS queued_at,
  source,
  sourceHash AS source_hash,
  sourceRow AS source_row,
  importId AS import_id,
  body::JSON AS body,
  firstSentAt AS first_sent_at,
  sentAt AS sent_at,
  attempts,
  nullif(remoteBefore, 'null') AS remote_before,
  nullif(remoteAfter, 'null') AS remote_after,
  errorCode AS error_code,
  error,
  settledAt AS settled_at,
  supersededBy AS superseded_by,
  CASE WHEN len(undoes) > 0 THEN undoes END AS undoes
FROM changed;
