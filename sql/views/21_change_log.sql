CREATE OR REPLACE VIEW change_log AS
SELECT
  changes.id AS change_id,
  changes.entity_type,
  coalesce(changes.topic_id, changes.company_id, changes.person_id) AS entity_id,
  coalesce(topics.title, companies.name, people.display_name) AS title,
  field.name AS field,
  changes.base ->> field.name AS base_value,
  changes.wanted ->> field.name AS wanted_value,
  changes.remote_before ->> field.name AS remote_before,
  changes.remote_after ->> field.name AS remote_after,
  changes.status,
  changes.error_code,
  changes.error,
  changes.requested_by,
  changes.requested_reason,
  changes.queued_at,
  changes.settled_at,
  changes.source,
  changes.source_row,
  changes.attempts,
  changes.superseded_by
FROM ops.changes
CROSS JOIN unnest(json_keys(changes.wanted)) AS field (name)
LEFT JOIN topics ON topics.id = changes.topic_id
LEFT JOIN companies ON companies.id = changes.company_id
LEFT JOIN people ON people.id = changes.person_id;

COMMENT ON VIEW change_log IS 'Who requested which change, when, and with what result? One row per field of each change that was ever queued for the API.';
COMMENT ON COLUMN change_log.change_id IS 'The change (ops.changes.id); its requests are in ops.change_attempts.';
COMMENT ON COLUMN change_log.entity_type IS 'topic, company, or person for a merge of people.';
COMMENT ON COLUMN change_log.entity_id IS 'The topic (topics.id), company (companies.id) or person (people.id).';
COMMENT ON COLUMN change_log.title IS 'Title of the topic, or name of the company or person, as it is now.';
COMMENT ON COLUMN change_log.field IS 'The column to change.';
COMMENT ON COLUMN change_log.base_value IS 'What the person saw. NULL for no value.';
COMMENT ON COLUMN change_log.wanted_value IS 'The value to set. NULL for no value.';
COMMENT ON COLUMN change_log.remote_before IS 'What the API had right before it was sent, or when the conflict was found. NULL for no value, or before it was read.';
COMMENT ON COLUMN change_log.remote_after IS 'What the API had afterwards. NULL for no value, or when it was not sent.';
COMMENT ON COLUMN change_log.status IS 'Its status (ops.changes.status).';
COMMENT ON COLUMN change_log.error_code IS 'The code of the error. NULL when all went well.';
COMMENT ON COLUMN change_log.error IS 'What went wrong, as a sentence. NULL when all went well.';
COMMENT ON COLUMN change_log.requested_by IS 'The person who requested it. NULL when nobody was named.';
COMMENT ON COLUMN change_log.requested_reason IS 'Why: the column reason of the sheet, or --reason. NULL when none was given.';
COMMENT ON COLUMN change_log.queued_at IS 'When it was queued (UTC).';
COMMENT ON COLUMN change_log.settled_at IS 'When it was settled (UTC). NULL while it is open.';
COMMENT ON COLUMN change_log.source IS 'Where it came from: the name of the file, standard input, SQL, or HTTP.';
COMMENT ON COLUMN change_log.source_row IS 'Its row in the file.';
COMMENT ON COLUMN change_log.attempts IS 'Requests that were made for it.';
COMMENT ON COLUMN change_log.superseded_by IS 'The change that replaced it.';
