-- Which of the conversations that lists lose no other stored list has.
--
--   $endpoints, $ids, $parents  the conversations as documents of the lists that lose them, as lists of the same length
--   $kinds                      all kinds of lists of conversations
WITH lost AS (
  SELECT
    unnest($endpoints::VARCHAR[]) AS endpoint,
    unnest($ids::VARCHAR[]) AS id,
    unnest($parents::VARCHAR[]) AS parent_id
)
SELECT DISTINCT id
FROM lost
WHERE id NOT IN (
  SELECT id
  FROM raw.documents
  ANTI JOIN lost USING (endpoint, id, parent_id)
  WHERE list_contains($kinds, endpoint) AND id IN (SELECT id FROM lost)
)
