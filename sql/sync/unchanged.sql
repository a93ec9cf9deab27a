-- How many of these documents are stored with the same body: all of them means that a page brought no news.
--
--   $endpoints, $ids, $parent_ids, $body_hashes   the documents, as lists of the same length
WITH returned AS (
  SELECT
    unnest($endpoints) AS endpoint,
    unnest($ids) AS id,
    unnest($parent_ids) AS parent_id,
    unnest($body_hashes) AS body_hash
)
SELECT count(*) AS unchanged
FROM returned
JOIN raw.documents USING (endpoint, id, parent_id, body_hash)
