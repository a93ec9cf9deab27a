-- What random checks say about how much is out of date, all of it first.
SELECT resource, checks, stale, share, low, high, days
FROM ops.freshness
ORDER BY resource <> 'all', resource
