-- How many of the documents shown are stored exactly so: all of them means that a page brought no news.
--
--   {{shown}}  rows of (endpoint, id, parent_id, body_hash)
WITH shown (endpoint, id, parent_id, body_hash) AS (VALUES {{shown}})
SELECT count(*) AS known
FROM shown
JOIN raw.documents USING (endpoint, id, parent_id, body_hash)
