CREATE OR REPLACE VIEW open_changes AS
SELECT
  changes.id AS change_id,
  changes.entity_type,
  coalesce(changes.topic_id, changes.company_id, changes.person_id) AS entity_id,
  coalesce(topics.title, companies.name, people.display_name) AS title,
  changes.status,
  changes.wanted,
  changes.base,
  changes.remote_before,
  changes.error,
  changes.requested_by,
  changes.queued_at,
  changes.source,
  changes.source_row,
  changes.attempts
FROM ops.changes
LEFT JOIN topics ON topics.id = changes.topic_id
LEFT JOIN companies ON companies.id = changes.company_id
LEFT JOIN people ON people.id = changes.person_id
WHERE changes.status IN ('queued', 'sending', 'conflict', 'failed');

COMMENT ON VIEW open_changes IS 'Which changes are still waiting, for the next push or for a decision? One row per change that is queued, being sent, in conflict or failed.';
COMMENT ON COLUMN open_changes.change_id IS 'The change (ops.changes.id).';
COMMENT ON COLUMN open_changes.entity_type IS 'topic, company, or person for a merge of people.';
COMMENT ON COLUMN open_changes.entity_id IS 'The topic (topics.id), company (companies.id) or person (people.id).';
COMMENT ON COLUMN open_changes.title IS 'Title of the topic, or name of the company or person, as it is now.';
COMMENT ON COLUMN open_changes.status IS 'queued and sending wait for a push; conflict and failed wait for a person (signalhouse changes retry or cancel).';
COMMENT ON COLUMN open_changes.wanted IS 'The values to set, by the names of the columns.';
COMMENT ON COLUMN open_changes.base IS 'What the person saw in those columns.';
COMMENT ON COLUMN open_changes.remote_before IS 'What the API had when a push last read it. NULL before that.';
COMMENT ON COLUMN open_changes.error IS 'Why it did not go through. NULL while it waits.';
COMMENT ON COLUMN open_changes.requested_by IS 'The person who requested it. NULL when nobody was named.';
COMMENT ON COLUMN open_changes.queued_at IS 'When it was queued (UTC).';
COMMENT ON COLUMN open_changes.source IS 'Where it came from: the name of the file, standard input, SQL, or HTTP.';
COMMENT ON COLUMN open_changes.source_row IS 'Its row in the file.';
COMMENT ON COLUMN open_changes.attempts IS 'Requests that were made for it.';
