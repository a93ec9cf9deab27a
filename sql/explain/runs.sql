-- The runs that requested something about an entity or changed what is stored of it, newest first.
--
--   $id        its id
--   $run_ids   runs that sent a request about it
--   $kinds     the kinds of documents that are about it
--   $children  the kinds of documents that belong to it
WITH touched AS (
  SELECT run_id, 0 AS documents FROM (SELECT unnest($run_ids) AS run_id)
  UNION ALL
  SELECT run_id, count(*)
  FROM raw.documents
  WHERE (id = $id AND list_contains($kinds, endpoint)) OR (parent_id = $id AND list_contains($children, endpoint))
  GROUP BY run_id
)
SELECT
  touched.run_id AS "runId", any_value(command) AS command, any_value(started_at) AS "startedAt",
  any_value(ended_at) AS "endedAt", any_value(outcome) AS outcome, any_value(exit_code) AS "exitCode",
  sum(documents)::BIGINT AS documents
FROM touched
LEFT JOIN ops.runs AS runs ON runs.run_id = touched.run_id
GROUP BY touched.run_id
ORDER BY touched.run_id DESC
LIMIT 50
