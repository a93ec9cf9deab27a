-- How many topics and companies the warehouse has, deleted ones left out.
SELECT
  (SELECT count(*)::INTEGER FROM topics WHERE deleted_at IS NULL) AS topic,
  (SELECT count(*)::INTEGER FROM companies WHERE deleted_at IS NULL) AS company;
