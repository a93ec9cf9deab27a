-- The organization, its channels and automation templates, the history of things, and generated stories.

CREATE TABLE organizations (
  id VARCHAR,
  name VARCHAR,
  slug VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE organizations IS 'The organization that these signals belong to: one row, because a warehouse belongs to one organization. Key: id.';
COMMENT ON COLUMN organizations.id IS 'The API''s id of the organization.';
COMMENT ON COLUMN organizations.name IS 'Name of the organization.';
COMMENT ON COLUMN organizations.slug IS 'Short name that is used in URLs.';
COMMENT ON COLUMN organizations.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN organizations.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE channels (
  id VARCHAR,
  channel_name VARCHAR,
  server_name VARCHAR,
  description VARCHAR,
  context VARCHAR,
  is_connected BOOLEAN,
  message_count BIGINT,
  last_seen_at TIMESTAMPTZ,
  source_name VARCHAR,
  source_channel_id VARCHAR,
  source_server_id VARCHAR,
  created_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE channels IS 'One row per channel that the service listens to. Key: id.';
COMMENT ON COLUMN channels.id IS 'The API''s id of the channel (a UUID).';
COMMENT ON COLUMN channels.channel_name IS 'Name of the channel.';
COMMENT ON COLUMN channels.server_name IS 'Server or workspace it is in.';
COMMENT ON COLUMN channels.description IS 'Description of the channel. NULL when it has none.';
COMMENT ON COLUMN channels.context IS 'What the channel is for and how to prioritise it, as a user wrote it for the service.';
COMMENT ON COLUMN channels.is_connected IS 'False when the bot has left the source server.';
COMMENT ON COLUMN channels.message_count IS 'Number of messages, as the service counts them.';
COMMENT ON COLUMN channels.last_seen_at IS 'Time of the latest message (UTC). NULL when there is none.';
COMMENT ON COLUMN channels.source_name IS 'Source system, e.g. slack.';
COMMENT ON COLUMN channels.source_channel_id IS 'Id of the channel in the source system.';
COMMENT ON COLUMN channels.source_server_id IS 'Id of the server or workspace in the source system.';
COMMENT ON COLUMN channels.created_at IS 'When the channel was created in the service (UTC).';
COMMENT ON COLUMN channels.updated_at IS 'When it was last updated there (UTC).';
COMMENT ON COLUMN channels.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN channels.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE history (
  id VARCHAR,
  entity_type VARCHAR,
  entity_id VARCHAR,
  changed_at TIMESTAMPTZ,
  changed_by VARCHAR,
  operation VARCHAR,
  changes JSON,
  previous_values JSON,
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE history IS 'One row per recorded change of a topic, company or person. Records are only added. Key: id.';
COMMENT ON COLUMN history.id IS 'The API''s id of the record (a UUID).';
COMMENT ON COLUMN history.entity_type IS 'What was changed: topic, company or person.';
COMMENT ON COLUMN history.entity_id IS 'Id of what was changed (topics.id, companies.id or people.id).';
COMMENT ON COLUMN history.changed_at IS 'When it was changed (UTC).';
COMMENT ON COLUMN history.changed_by IS 'agent (AI), system (internal or cascading) or user (by hand).';
COMMENT ON COLUMN history.operation IS 'INSERT, UPDATE or DELETE.';
COMMENT ON COLUMN history.changes IS 'The changed fields with their new values, as JSON; free-form.';
COMMENT ON COLUMN history.previous_values IS 'The changed fields with their old values, as JSON; free-form. NULL where there are none.';
COMMENT ON COLUMN history.user_id IS 'User who changed it. NULL when it was not a user.';
COMMENT ON COLUMN history.user_name IS 'Name of that user when the record was fetched.';
COMMENT ON COLUMN history.user_image IS 'Picture of that user when the record was fetched. NULL when there is none.';
COMMENT ON COLUMN history.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN history.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE merges (
  entity_type VARCHAR,
  source_id VARCHAR,
  source_name VARCHAR,
  target_id VARCHAR,
  target_name VARCHAR,
  merge_id VARCHAR,
  merged_at TIMESTAMPTZ,
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE merges IS 'Which topic, company or person was merged into which: from the history of either side, or the newer one where both have it. Key: entity_type, source_id, target_id.';
COMMENT ON COLUMN merges.entity_type IS 'What was merged: topic, company or person.';
COMMENT ON COLUMN merges.source_id IS 'Id of the one that was merged away.';
COMMENT ON COLUMN merges.source_name IS 'Its name or title, from the target''s history or else from its own row: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN merges.target_id IS 'Id of the one that it was merged into.';
COMMENT ON COLUMN merges.target_name IS 'Its name or title, from its own row or else from the source''s history. NULL when unknown.';
COMMENT ON COLUMN merges.merge_id IS 'The API''s id of the merge; one merge may have several sources.';
COMMENT ON COLUMN merges.merged_at IS 'When they were merged (UTC).';
COMMENT ON COLUMN merges.user_id IS 'User who merged them. NULL when it was not a user.';
COMMENT ON COLUMN merges.user_name IS 'Name of that user when the history was fetched.';
COMMENT ON COLUMN merges.user_image IS 'Picture of that user when the history was fetched. NULL when there is none.';
COMMENT ON COLUMN merges.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN merges.run_id IS 'Latest run behind this row (ops.runs).';

CREATE TABLE stories (
  slug VARCHAR,
  title VARCHAR,
  summary VARCHAR,
  version VARCHAR,
  detail_title VARCHAR,
  detail_main JSON,
  detail_sidebar JSON,
  list JSON,
  is_read BOOLEAN,
  viewer_relevance_member_id VARCHAR,
  viewer_relevance_relevance_kind VARCHAR,
  viewer_relevance_relevance_label VARCHAR,
  viewer_relevance_relevance_rationale VARCHAR,
  viewer_relevance_linked_author_ids VARCHAR[],
  viewer_relevance_user_id VARCHAR,
  viewer_relevance_user_name VARCHAR,
  viewer_relevance_user_image VARCHAR,
  created_at TIMESTAMPTZ,
  archived_at TIMESTAMPTZ,
  archived_reason VARCHAR,
  archived_actor_type VARCHAR,
  archived_actor_name VARCHAR,
  archived_actor_image VARCHAR,
  archived_actor_user_id VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE stories IS 'One row per story that the service generated: the fields of the stories list and of the story''s detail, combined. A list has at most 100 stories, so a story that is not listed is not marked as deleted. Key: slug.';
COMMENT ON COLUMN stories.slug IS 'The API''s name of the story.';
COMMENT ON COLUMN stories.title IS 'Title.';
COMMENT ON COLUMN stories.summary IS 'Summary.';
COMMENT ON COLUMN stories.version IS 'Version of the draft, as the API gives it.';
COMMENT ON COLUMN stories.detail_title IS 'Title of the story''s page.';
COMMENT ON COLUMN stories.detail_main IS 'Main part of the story''s page: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.detail_sidebar IS 'Sidebar of the story''s page: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.list IS 'The story as it appears in a list: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.is_read IS 'Whether the viewer (the user that the API assumes for the key) has read it. NULL when only the story''s detail was fetched.';
COMMENT ON COLUMN stories.viewer_relevance_member_id IS 'Member of the organization that the viewer is. NULL when the story does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_kind IS 'How it concerns the viewer: action, awareness or ownership. NULL when it does not.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_rationale IS 'Why it concerns the viewer. NULL when it does not.';
COMMENT ON COLUMN stories.viewer_relevance_linked_author_ids IS 'Authors (authors.id) that are the viewer. NULL when it does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_user_id IS 'The user behind the viewer. NULL when it does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_user_name IS 'Name of that user: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN stories.viewer_relevance_user_image IS 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN stories.created_at IS 'When the story was created (UTC).';
COMMENT ON COLUMN stories.archived_at IS 'When it was archived (UTC). NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_reason IS 'Why it was archived. NULL when it is not archived, or no reason was given.';
COMMENT ON COLUMN stories.archived_actor_type IS 'Who archived it: agent (the service itself) or member. NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_actor_name IS 'Name of the agent or member who archived it. NULL when it is not archived.';
COMMENT ON COLUMN stories.archived_actor_image IS 'Picture of the member who archived it. NULL when there is none.';
COMMENT ON COLUMN stories.archived_actor_user_id IS 'User id of the member who archived it. NULL when there is none.';
COMMENT ON COLUMN stories.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN stories.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE story_sources (
  story_slug VARCHAR,
  position BIGINT,
  type VARCHAR,
  source_id VARCHAR,
  label VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE story_sources IS 'The sources of a story. Key: story_slug, position.';
COMMENT ON COLUMN story_sources.story_slug IS 'The story (stories.slug).';
COMMENT ON COLUMN story_sources.position IS 'Place in the story''s list of sources, counting from 1.';
COMMENT ON COLUMN story_sources.type IS 'Kind of the source: author, company, email, intercom, issue, message, person, slack or topic.';
COMMENT ON COLUMN story_sources.source_id IS 'Id of the source; its type tells which table has it.';
COMMENT ON COLUMN story_sources.label IS 'Name of the source in the story. NULL when it has none.';
COMMENT ON COLUMN story_sources.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN story_sources.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE story_members (
  story_slug VARCHAR,
  member_id VARCHAR,
  relevance_kind VARCHAR,
  relevance_label VARCHAR,
  relevance_rationale VARCHAR,
  linked_author_ids VARCHAR[],
  user_id VARCHAR,
  user_name VARCHAR,
  user_image VARCHAR,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE story_members IS 'The members of the organization that a story concerns, and how. Key: story_slug, member_id.';
COMMENT ON COLUMN story_members.story_slug IS 'The story (stories.slug).';
COMMENT ON COLUMN story_members.member_id IS 'The member.';
COMMENT ON COLUMN story_members.relevance_kind IS 'How it concerns the member: action, awareness or ownership.';
COMMENT ON COLUMN story_members.relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN story_members.relevance_rationale IS 'Why it concerns the member.';
COMMENT ON COLUMN story_members.linked_author_ids IS 'Authors (authors.id) that are this member.';
COMMENT ON COLUMN story_members.user_id IS 'The user behind this member.';
COMMENT ON COLUMN story_members.user_name IS 'Name of that user: a copy, which may lag until the next sweep.';
COMMENT ON COLUMN story_members.user_image IS 'Picture of that user: a copy, which may lag until the next sweep. NULL when there is none.';
COMMENT ON COLUMN story_members.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN story_members.run_id IS 'Run that last changed this row (ops.runs).';

CREATE TABLE automation_templates (
  slug VARCHAR,
  name VARCHAR,
  description VARCHAR,
  prompt VARCHAR,
  schedule JSON,
  timezone VARCHAR,
  model_level VARCHAR,
  capability_mode VARCHAR,
  allowed_capabilities VARCHAR[],
  created_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ,
  body JSON,
  synced_at TIMESTAMPTZ,
  run_id VARCHAR
);
COMMENT ON TABLE automation_templates IS 'One row per automation template. Their fields are not documented: the columns are assumed from those of an automation, and body has everything that the API returned. Key: slug.';
COMMENT ON COLUMN automation_templates.slug IS 'The API''s name of the template.';
COMMENT ON COLUMN automation_templates.name IS 'Name. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.description IS 'Description. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.prompt IS 'Instructions that are executed on each run. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.schedule IS 'Schedule as JSON. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.timezone IS 'Time zone of the schedule (IANA). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.model_level IS 'high, med or low. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.capability_mode IS 'all or custom. NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.allowed_capabilities IS 'Capability keys when the mode is custom. NULL means all, or that the API has no field of this name.';
COMMENT ON COLUMN automation_templates.created_at IS 'When it was created (UTC). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.updated_at IS 'When it was last updated (UTC). NULL when the API has no field of this name.';
COMMENT ON COLUMN automation_templates.body IS 'The whole template, without fields that are null: the list''s item and the answer by slug combined, the newer field wins.';
COMMENT ON COLUMN automation_templates.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN automation_templates.run_id IS 'Run that last changed this row (ops.runs).';
