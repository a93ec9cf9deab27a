-- The entities that were merged with these, before or after; they are the same people or companies.
--   $type  person or company
--   $ids   their ids
WITH RECURSIVE family AS (
  SELECT unnest($ids::VARCHAR[]) AS id
  UNION
  SELECT CASE WHEN merges.source_id = family.id THEN merges.target_id ELSE merges.source_id END
  FROM family
  JOIN merges ON merges.entity_type = $type AND (merges.source_id = family.id OR merges.target_id = family.id)
)
SELECT id FROM family ORDER BY id
