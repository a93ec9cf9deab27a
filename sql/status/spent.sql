-- Requests of the last hours by the minute.
SELECT epoch_ms(date_trunc('minute', "at")) AS minute, count(*) AS requests,
  count(*) FILTER (status = 429) AS rate_limited
FROM ops.requests
WHERE "at" > now() - INTERVAL 12 HOUR
GROUP BY 1
ORDER BY 1
