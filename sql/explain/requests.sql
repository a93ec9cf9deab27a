-- The requests that named an entity, newest first. A query such as /groups?companyId=ID names it as well.
--
--   $paths       the paths that name it, encoded as they are sent, without a query
--   $shared      the paths of endpoints that name it in their query
--   $parameters  how the query names it, e.g. 'companyId=12'
WITH named AS (
  SELECT
    *,
    split_part(path, '?', 1) AS own_path,
    string_split(split_part(path, '?', 2), '&') AS parameters
  FROM ops.requests
),
matching AS (
  SELECT "at", run_id AS "runId", endpoint, method, path, status, ms, bytes, attempt, error, request_id AS "requestId"
  FROM named
  WHERE list_contains($paths, own_path)
    OR (list_contains($shared, own_path) AND list_has_any(parameters, $parameters))
)
SELECT *, (SELECT count(*) FROM matching) AS total
FROM matching
ORDER BY "at" DESC, attempt DESC
LIMIT 100
