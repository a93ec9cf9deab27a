-- The topics and companies of changes that are stored, and when the API last changed each, in milliseconds: by its own time
-- of the last change (topics have one) or by its history.
--   $ids  their ids
WITH known AS (
  SELECT 'topic' AS type, id, updated_at
  FROM topics
  WHERE id IN (SELECT unnest($ids::VARCHAR[]))
  UNION ALL
  SELECT 'company', id, NULL
  FROM companies
  WHERE id IN (SELECT unnest($ids::VARCHAR[]))
)
SELECT known.type, known.id, epoch_ms(greatest(any_value(known.updated_at), max(history.changed_at))) AS updated
FROM known
LEFT JOIN history ON history.entity_type = known.type AND history.entity_id = known.id
GROUP BY known.type, known.id
