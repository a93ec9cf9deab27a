-- Stages the states of changes in $changes (a JSON text each) for save_changes.sql. A single text of 20,000 changes would take
-- 500 MB more.
CREATE OR REPLACE TEMP TABLE changed AS
SELECT unnest(from_json(change, '{
  "id": "VARCHAR", "revision": "BIGINT", "entityType": "VARCHAR", "entityId": "VARCHAR", "status": "VARCHAR",
  "idempotencyKey": "VARCHAR", "wanted": "JSON", "base": "JSON", "baseFrom": "VARCHAR", "baseAt": "TIMESTAMPTZ",
  "overwrite": "BOOLEAN", "requestedBy": "VARCHAR", "requestedReason": "VARCHAR", "queuedAt": "TIMESTAMPTZ", "source": "VARCHAR",
  "sourceHash": "VARCHAR", "sourceRow": "BIGINT", "importId": "VARCHAR", "body": "VARCHAR",
  "firstSentAt": "TIMESTAMPTZ", "sentAt": "TIMESTAMPTZ", "attempts": "BIGINT", "remoteBefore": "JSON",
  "remoteAfter": "JSON", "errorCode": "VARCHAR", "error": "VARCHAR", "settledAt": "TIMESTAMPTZ",
  "supersededBy": "VARCHAR", "undoes": ["VARCHAR"]
}'))
FROM (SELECT unnest($changes) AS change);
