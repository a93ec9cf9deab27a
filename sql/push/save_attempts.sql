-- Adds the requests in $attempts (JSON) that the run $run_id made.
INSERT INTO ops.change_attempts BY NAME
SELECT
  changeId AS change_id,
  "at",
  attempt,
  idempotencyKey AS idempotency_key,
  method,
  path,
  status,
  errorCode AS error_code,
  requestId AS request_id,
  ms,
  $run_id AS run_id
FROM (
  SELECT unnest(from_json($attempts::JSON, '[{
    "changeId": "VARCHAR", "at": "TIMESTAMPTZ", "attempt": "BIGINT", "idempotencyKey": "VARCHAR",
    "method": "VARCHAR", "path": "VARCHAR", "status": "INTEGER", "errorCode": "VARCHAR", "requestId": "VARCHAR",
    "ms": "DOUBLE"
  }]'), recursive := true)
);
