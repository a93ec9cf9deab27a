-- Who changed, merged, forgot, exported and read what, and who logged in. One row for each change and each merge of people that was requested,
-- whatever became of it, and one for each request to forget, export, reading, login, and removal of old content.
CREATE OR REPLACE VIEW audit AS
SELECT
  queued_at AS "at",
  if(entity_type = 'person', 'merge', 'change') AS action,
  entity_type,
  coalesce(topic_id, company_id, person_id) AS entity_id,
  if(entity_type = 'person', 2, 1)::BIGINT AS entities,
  requested_by,
  requested_reason AS reason,
  status AS outcome,
  to_json(json_keys(wanted)) AS details,
  id AS audit_id
FROM ops.changes
UNION ALL
SELECT
  "at",
  action,
  entity_type,
  NULL,
  entities,
  requested_by,
  reason,
  -- What is read here has been published.
  coalesce(
    'still to do: ' || nullif(array_to_string(list_filter(pending, lambda step: step <> 'publish'), ', '), ''),
    'done'
  ),
  details,
  id
FROM ops.audit;
COMMENT ON VIEW audit IS 'Who changed, merged, forgot, exported and read what and logged in, and when: the changes that were requested, the merges of people, the requests to forget, the exports, the queries and pages that were read and the logins (for retention.recordsDays), and the removals of old content (retention.deletedContentDays). It holds no content and no name of anybody who was forgotten.';
COMMENT ON COLUMN audit."at" IS 'When it was requested (UTC).';
COMMENT ON COLUMN audit.action IS 'change, merge (of people; it cannot be undone), forget, expire (content of what the API deleted was dropped), export, read, or login (somebody logged in to serve, or tried to).';
COMMENT ON COLUMN audit.entity_type IS 'topic or company for a change; person, company or conversation for forget; person for merge. NULL for others.';
COMMENT ON COLUMN audit.entity_id IS 'The topic or company of a change, the person who was merged into another. NULL for others: who was forgotten is not recorded.';
COMMENT ON COLUMN audit.entities IS 'How many topics, people, companies, conversations or messages. NULL where that is not counted.';
COMMENT ON COLUMN audit.requested_by IS 'Who requested it. NULL for what the worker does by itself.';
COMMENT ON COLUMN audit.reason IS 'Why, as --reason, or the column reason of a sheet, said. NULL when nothing was said.';
COMMENT ON COLUMN audit.outcome IS 'Status of a change or merge (ops.changes.status); done, or what is still to do, for others.';
COMMENT ON COLUMN audit.details IS 'What it concerned, as JSON: the columns of a change, rows by table, the tables, the format and the file of an export, or by what something was read (sql, report, topic, company, told, topics for a search of messages, or the tool of an assistant), the tables and how many rows; of a login the outcome (done or failed) and the address that it came from.';
COMMENT ON COLUMN audit.audit_id IS 'The record (ops.changes.id or ops.audit.id).';
