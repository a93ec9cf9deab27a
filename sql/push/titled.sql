-- The topics or companies with a title of $ids, apart from case, spaces and the form of Unicode, of those that can be changed.
SELECT key, id, about
FROM (
  SELECT
    id,
    lower(trim(regexp_replace(nfc_normalize(title), '\s+', ' ', 'g'))) AS key,
    concat_ws(', ', lifecycle_state, priority, if(archived_at IS NULL, NULL, 'archived')) AS about
  FROM topics
  WHERE $entity_type = 'topic'
    AND deleted_at IS NULL
    AND merged_into_id IS NULL
    AND detail_unavailable_reason IS NULL
  UNION ALL
  SELECT id, lower(trim(regexp_replace(nfc_normalize(name), '\s+', ' ', 'g'))), coalesce(primary_domain, '')
  FROM companies
  WHERE $entity_type = 'company'
    AND deleted_at IS NULL
    AND merged_into_id IS NULL
    AND detail_unavailable_reason IS NULL
)
WHERE key IN (SELECT unnest($ids))
ORDER BY key, id;
