-- How many topics and companies the warehouse has, deleted ones left out.
SELECT
  (SELECT count(*) FROM topics WHERE deleted_at IS NULL) AS topic,
  (SELECT count(*) FROM companies WHERE deleted_at IS NULL) AS company;
