-- What random checks say about how much is out of date; the last sync computed it (src/sync/freshness.ts says how).
CREATE OR REPLACE VIEW freshness_estimates AS
SELECT resource, checks, stale, share, low, high, days
FROM ops.freshness;
COMMENT ON VIEW freshness_estimates IS 'How much is out of date? One row for each detail that is fetched by entity, and one for all, by random checks of what was not due. It is about what the API changed without a sign; what is known to have changed is fetched.';
COMMENT ON COLUMN freshness_estimates.resource IS 'A detail, e.g. topic_groups (the conversations of a topic); all for all of them together.';
COMMENT ON COLUMN freshness_estimates.checks IS 'Checks of the last 30 days. Below 30, little is known.';
COMMENT ON COLUMN freshness_estimates.stale IS 'How many of them found a difference.';
COMMENT ON COLUMN freshness_estimates.share IS 'The estimated share that is out of date, 0 to 1. NULL without checks.';
COMMENT ON COLUMN freshness_estimates.low IS 'The lower end of its 95 % interval.';
COMMENT ON COLUMN freshness_estimates.high IS 'The upper end of its 95 % interval.';
COMMENT ON COLUMN freshness_estimates.days IS 'Days since the first of these checks.';
