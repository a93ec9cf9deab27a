-- How long the lists of topics and companies are, as far as the warehouse knows.
SELECT
  (SELECT count(*) FROM topics WHERE deleted_at IS NULL) AS topic,
  (SELECT count(*) FROM companies WHERE deleted_at IS NULL) AS company;
