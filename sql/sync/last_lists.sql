-- Which of these conversations no other stored list has.
--
--   $kinds              all kinds of lists of conversations
--   $ids                the conversations
--   $endpoint, $parent  the list that has them, e.g. company_groups of 4026
SELECT DISTINCT id
FROM (SELECT unnest($ids::VARCHAR[]) AS id)
WHERE id NOT IN (
  SELECT id
  FROM raw.documents
  WHERE list_contains($kinds, endpoint)
    AND list_contains($ids, id)
    AND NOT (endpoint = $endpoint AND parent_id = $parent)
)
