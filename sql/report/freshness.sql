-- How much is out of date by random checks; no row before the first ones.
SELECT resource, checks, stale, share, low, high, days
FROM freshness_estimates
WHERE resource = 'all';
