-- What failed when it was asked for last, by endpoint: how many entities, the commonest error, and the five latest. A 404
-- is an answer. Most errors name the path, and so the id: {id} takes its place, so that equal ones are counted together.
WITH failing AS (
  SELECT endpoint, entity_id, fetched_at,
    replace(replace(error, '/' || entity_id, '/{id}'), '=' || entity_id, '={id}') AS error
  FROM ops.coverage
  WHERE error IS NOT NULL AND status IS DISTINCT FROM 404
)
SELECT endpoint, count(*) AS entities, mode(error) AS error,
  array_agg(entity_id ORDER BY fetched_at DESC, entity_id)[:5] AS ids
FROM failing
GROUP BY endpoint
ORDER BY entities DESC, endpoint
