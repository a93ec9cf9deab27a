-- What the API's own history says about an entity.
--
--   $entity_type  topic, company or person
--   $id           its id
SELECT changed_at AS "at", operation, changes, previous_values AS "previousValues",
  coalesce(user_name, changed_by) AS "by", run_id AS "runId"
FROM history
WHERE entity_type = $entity_type AND entity_id = $id AND changed_at IS NOT NULL
ORDER BY changed_at
