SELECT
  coalesce(sum(times) FILTER (times > 0), 0)::BIGINT AS added,
  coalesce(-sum(times) FILTER (times < 0), 0)::BIGINT AS removed
FROM {{differing}}
