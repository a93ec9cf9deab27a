-- The topics that are probably the same, as a sheet to decide shows them, in the order of its columns: the most probable first.
SELECT
  NULL AS keep,
  pairs.name_1 AS title_1,
  pairs.name_2 AS title_2,
  pairs.score,
  array_to_string(pairs.reasons, '; ') AS reasons,
  one.summary AS summary_1,
  other.summary AS summary_2,
  one.priority AS priority_1,
  other.priority AS priority_2,
  one.lifecycle_state AS lifecycle_state_1,
  other.lifecycle_state AS lifecycle_state_2,
  one.message_count AS messages_1,
  other.message_count AS messages_2,
  one.linked_ticket_display_name AS ticket_1,
  other.linked_ticket_display_name AS ticket_2,
  pairs.id_1 AS topic_id_1,
  pairs.id_2 AS topic_id_2,
  greatest(
    coalesce(one.updated_at, one.synced_at), coalesce(other.updated_at, other.synced_at)
  )::VARCHAR AS base_updated_at
FROM probable_duplicates AS pairs
JOIN topics AS one ON one.id = pairs.id_1
JOIN topics AS other ON other.id = pairs.id_2
WHERE pairs.entity_type = 'topic' AND pairs.place <= 200
ORDER BY pairs.place
