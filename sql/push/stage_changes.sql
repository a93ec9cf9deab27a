-- Stages the states of changes in $changes (JSON) for save_changes.sql.
CREATE OR REPLACE TEMP TABLE changed AS
SELECT unnest(from_json($changes::JSON, '[{
  "id": "VARCHAR", "revision": "BIGINT", "entityType": "VARCHAR", "entityId": "VARCHAR", "status": "VARCHAR",
  "idempotencyKey": "VARCHAR", "wanted": "JSON", "base": "JSON", "baseFrom": "VARCHAR", "baseAt": "TIMESTAMPTZ",
  "overwrite": "BOOLEAN", "requestedBy": "VARCHAR", "queuedAt": "TIMESTAMPTZ", "source": "VARCHAR",
  "sourceHash": "VARCHAR", "sourceRow": "BIGINT", "importId": "VARCHAR", "body": "VARCHAR",
  "firstSentAt": "TIMESTAMPTZ", "sentAt": "TIMESTAMPTZ", "attempts": "BIGINT", "remoteBefore": "JSON",
  "remoteAfter": "JSON", "errorCode": "VARCHAR", "error": "VARCHAR", "settledAt": "TIMESTAMPTZ",
  "supersededBy": "VARCHAR", "undoes": ["VARCHAR"]
}]'), recursive := true);
