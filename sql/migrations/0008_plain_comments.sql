-- The comments of tables and columns in plain English. Nothing but comments changes: analysts read them in their tools,
-- and docs/schema.md is made from them. Comments that do not change here are in the migration that creates their table.

COMMENT ON MACRO raw.younger_wins IS 'Two documents about the same entity combined: for each field, the newer document wins where it has the field at all.';
COMMENT ON MACRO raw.younger_field IS 'One field of two documents about the same entity, taken whole from the newer document that has it.';

COMMENT ON TABLE raw.documents IS 'Everything the API returned: one JSON document per entity, with undocumented fields. Every table of schema main can be recomputed from it (signalhouse rebuild). Key: endpoint, parent_id, id.';
COMMENT ON COLUMN raw.documents.endpoint IS 'Kind of document, named after the endpoint that returned it (topics: an item of the list; topic: one topic by id; messages: a message of a conversation, ...).';
COMMENT ON COLUMN raw.documents.id IS 'The API''s id of the entity (a slug for stories and automation templates, platform:platformId for identities, the source for source stats).';
COMMENT ON COLUMN raw.documents.parent_id IS 'Id of the entity that it belongs to (the topic of a person in a topic, the conversation of a message). NULL where it has no parent.';
COMMENT ON COLUMN raw.documents.body IS 'What the API returned, as JSON; parts that are documents of their own (a message''s author, a topic''s people) are taken out.';
COMMENT ON COLUMN raw.documents.fetched_at IS 'When the answer that last changed this document arrived (UTC). Where two documents have the same field, the later one wins.';

COMMENT ON TABLE ops.migrations IS 'The migrations that were applied to this warehouse. Key: version.';
COMMENT ON COLUMN ops.migrations.checksum IS 'Checksum of the file when it was applied. A warehouse whose migration differs from the file of that name is not opened.';

COMMENT ON COLUMN ops.runs.outcome IS 'running, done, stopped (at its budget or by a signal, everything committed), incomplete (done, but it rejected records), failed, or interrupted (killed, found by a later run).';
COMMENT ON COLUMN ops.runs.requests IS 'Requests sent to the API, including repeated attempts.';
COMMENT ON COLUMN ops.runs.rejected IS 'Records that this run rejected for the first time because they do not have the documented form (ops.rejected_records).';

COMMENT ON TABLE ops.coverage IS 'When each endpoint was last asked about each entity, and with what result: the worker decides from it what is due. Key: endpoint, entity_id.';
COMMENT ON COLUMN ops.coverage.entity_id IS 'Id of the topic, person, company or other entity that it was asked about.';
COMMENT ON COLUMN ops.coverage.fingerprint IS 'The fields of the parent whose change makes this fetch due, as they were at that time. NULL where there are none.';
COMMENT ON COLUMN ops.coverage.attempts IS 'Failed attempts since the last good answer; 0 when the last answer was good.';

COMMENT ON TABLE ops.scans IS 'Each reading of a whole list, and whether it can be trusted: the totals to compare the tables with. Rows are only added.';
COMMENT ON COLUMN ops.scans.verified IS 'True when the distinct ids agree with the total that the API reports (or, where it reports none, with a second reading). Rows are marked as deleted only after a verified scan.';
COMMENT ON COLUMN ops.scans.attempts IS 'How often the list was read until it was verified or given up.';
COMMENT ON COLUMN ops.scans.note IS 'Why the scan was not verified, or which fuse kept it from deleting. NULL when all is well.';
COMMENT ON COLUMN ops.scans.missing IS 'Entities that the warehouse has and the scan did not return.';

COMMENT ON TABLE ops.rejected_records IS 'Records that were rejected because they do not have the documented form; the rest of their page was loaded. Key: endpoint, parent_id, id, path, reason, body_hash.';
COMMENT ON COLUMN ops.rejected_records.parent_id IS 'Id of the entity that it belongs to. NULL where it has no parent.';
COMMENT ON COLUMN ops.rejected_records.path IS 'The field that does not have the documented form.';
COMMENT ON COLUMN ops.rejected_records.reason IS 'What is wrong with it.';
COMMENT ON COLUMN ops.rejected_records.resolved_at IS 'When the record loaded without errors again (UTC). NULL while it is still rejected.';

COMMENT ON TABLE ops.schema_drift IS 'Where the API''s answers differ from its documentation: undocumented fields (they are kept in raw.documents), missing fields, other types, text that had to be repaired before it could be stored. Key: endpoint, path, kind.';

COMMENT ON TABLE ops.requests IS 'Each attempt of a request to the API: how the budget of requests was spent. Rows are only added.';
COMMENT ON COLUMN ops.requests.path IS 'Path and query, relative to the base URL.';
COMMENT ON COLUMN ops.requests.attempt IS 'Number of this attempt at the same request, counting from 1.';
COMMENT ON COLUMN ops.requests.request_id IS 'Id of the request that the service returned in a header. NULL where it returned none.';

COMMENT ON TABLE topics IS 'One row per topic (issue): the fields of the topics list and of the topic''s detail, combined. Deleted topics keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN topics.priority_reasoning IS 'Why the service chose the priority. NULL when a person set it, when it was never scored, or until the topic''s detail is fetched.';
COMMENT ON COLUMN topics.graph_status IS 'active (live), superseded (dissolved by the service, for good) or archived (dismissed by a user). NULL until the topic''s detail is fetched, or when the service does not say.';
COMMENT ON COLUMN topics.similarity IS 'Similarity to the search text. Only meaningful in a semantic search, which the sync does not make.';
COMMENT ON COLUMN topics.created_at IS 'When the topic was created (UTC). NULL until the topic''s detail is fetched, or when the service does not say.';
COMMENT ON COLUMN topics.updated_at IS 'When the topic was last updated (UTC), according to the service.';
COMMENT ON COLUMN topics.deleted_at IS 'When the sync found that the API no longer has it (UTC). NULL while it exists.';
COMMENT ON COLUMN topics.deleted_reason IS 'Why it was deleted, e.g. archived_in_v1_to_v2_migration or a merge. NULL while it exists, or when no reason is known.';
COMMENT ON COLUMN topics.detail_unavailable_reason IS 'Why its detail cannot be fetched although it is listed, e.g. archived_in_v1_to_v2_migration. NULL when it can.';
COMMENT ON COLUMN topics.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE topic_people IS 'One row per person who takes part in a topic: the fields of the topics list and of the topic''s list of people, combined. Key: topic_id, person_id.';
COMMENT ON COLUMN topic_people.is_staff IS 'True for one of our own people. NULL when only the topic''s list of people names the person: it does not have this field.';
COMMENT ON COLUMN topic_people.is_vip IS 'True for a person marked as VIP: a copy, which may lag until the next sweep. NULL when only the topics list names the person: it does not have this field.';
COMMENT ON COLUMN topic_people.company_is_org_company IS 'True when the person''s company is our own: a copy, which may lag until the next sweep. NULL when the topics list does not name this company.';
COMMENT ON COLUMN topic_people.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE topic_groups IS 'Which conversations belong to which topic: from the topic''s list of conversations, or from the topic that a conversation of a company or person names, whichever is newer. Key: topic_id, group_id.';
COMMENT ON COLUMN topic_groups.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE groups IS 'One row per conversation (message group), whether it came with a topic, a company or a person. Key: id.';
COMMENT ON COLUMN groups.title IS 'Title of the conversation. NULL when it has none; only a topic''s list of conversations has titles.';
COMMENT ON COLUMN groups.similarity_at_assignment IS 'How similar it was to its topic when it was assigned, according to the topic fetched last (topic_groups has it for each topic). NULL when the API does not say.';
COMMENT ON COLUMN groups.topic_id IS 'Topic of the conversation in the list of a company or person. NULL when only a topic''s list has the conversation: join topic_groups, which has both.';
COMMENT ON COLUMN groups.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE group_companies IS 'Which companies take part in which conversation, from each company''s list of conversations. Key: group_id, company_id.';
COMMENT ON COLUMN group_companies.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE group_people IS 'Which people take part in which conversation: the conversation is in the person''s list, or one of the person''s identities is the author of a message in it. Key: group_id, person_id.';
COMMENT ON COLUMN group_people.via IS 'The evidence: listed (the API lists the conversation for the person) or author (the person wrote a message in it). Where both are true: listed.';
COMMENT ON COLUMN group_people.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN group_people.run_id IS 'Latest run behind this row (ops.runs).';

COMMENT ON TABLE messages IS 'One row per message. A message that was deleted in its source keeps its row (deleted_at); one that no conversation contains any more is removed. Key: id.';
COMMENT ON COLUMN messages.group_id IS 'The conversation it belongs to (groups.id); the one fetched last, where several contain it.';
COMMENT ON COLUMN messages.is_internal IS 'True for an internal note of the team, which the external party cannot see.';
COMMENT ON COLUMN messages.metadata IS 'Additional data from the source; free-form. NULL when there is none.';
COMMENT ON COLUMN messages.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON COLUMN message_reactions.count IS 'Number of people who reacted like this; the sum, if the API names the same reaction twice.';
COMMENT ON COLUMN message_reactions.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE message_quotes IS 'The passages of a message that the service highlights as worth quoting. Key: message_id, position.';
COMMENT ON COLUMN message_quotes.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON COLUMN authors.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE people IS 'One row per person, with figures for all of the person''s identities: the fields of the people list and of the person''s detail, combined. Deleted people keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN people.primary_email IS 'Main email address. NULL when unknown.';
COMMENT ON COLUMN people.ecosystem_tags IS 'Tags of the ecosystems that the person is active in.';
COMMENT ON COLUMN people.deleted_at IS 'When the sync found that the API no longer has the person (UTC). NULL while the person exists.';
COMMENT ON COLUMN people.deleted_reason IS 'Why the person was deleted, e.g. a merge. NULL while the person exists, or when no reason is known.';
COMMENT ON COLUMN people.detail_unavailable_reason IS 'Why the person''s detail cannot be fetched although the person is listed. NULL when it can.';
COMMENT ON COLUMN people.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE person_identities IS 'The accounts of a person in source systems: from the person''s list of identities, and from lists of a topic''s people that were fetched later. Key: person_id, platform, platform_id.';
COMMENT ON COLUMN person_identities.id IS 'The API''s id of the identity. NULL when only a topic''s list of people names it.';
COMMENT ON COLUMN person_identities.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN person_identities.run_id IS 'Latest run behind this row (ops.runs).';

COMMENT ON COLUMN person_source_stats.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE companies IS 'One row per company: the fields of the companies list, of the company''s detail and of its activity, combined. Deleted companies keep their row (deleted_at). Key: id.';
COMMENT ON COLUMN companies.connections_email IS 'Email address. NULL when unknown.';
COMMENT ON COLUMN companies.message_count IS 'Number of messages of its people, as the service counts them (companies list or activity, whichever is newer).';
COMMENT ON COLUMN companies.created_at IS 'When the company was created in the service (UTC). NULL until its detail is fetched.';
COMMENT ON COLUMN companies.deleted_at IS 'When the sync found that the API no longer has it (UTC). NULL while it exists.';
COMMENT ON COLUMN companies.deleted_reason IS 'Why it was deleted, e.g. a merge. NULL while it exists, or when no reason is known.';
COMMENT ON COLUMN companies.detail_unavailable_reason IS 'Why its detail cannot be fetched although it is listed. NULL when it can.';
COMMENT ON COLUMN companies.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE company_employees IS 'The people of a company, from the company''s list of people. Key: company_id, person_id.';
COMMENT ON COLUMN company_employees.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE company_identities IS 'The company''s records in external systems, linked to it by identify. Key: company_id, platform, platform_id.';
COMMENT ON COLUMN company_identities.platform IS 'External system, named like a source system.';
COMMENT ON COLUMN company_identities.platform_username IS 'Name of the account in that system. NULL when unknown.';
COMMENT ON COLUMN company_identities.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON COLUMN company_source_stats.message_count IS 'Number of messages; the sum, if the API names the same source twice.';
COMMENT ON COLUMN company_source_stats.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE organizations IS 'The organization that these signals belong to: one row, because a warehouse belongs to one organization. Key: id.';
COMMENT ON COLUMN organizations.slug IS 'Short name that is used in URLs.';
COMMENT ON COLUMN organizations.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON COLUMN channels.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON COLUMN history.user_id IS 'User who changed it. NULL when it was not a user.';
COMMENT ON COLUMN history.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE merges IS 'Which topic, company or person was merged into which: from the history of either side, or the newer one where both have it. Key: entity_type, source_id, target_id.';
COMMENT ON COLUMN merges.source_name IS 'Its name or title, from the target''s history or else from its own row: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN merges.target_name IS 'Its name or title, from the source''s history or else from its own row: a copy, which may lag until the next sweep. NULL when unknown.';
COMMENT ON COLUMN merges.user_id IS 'User who merged them. NULL when it was not a user.';
COMMENT ON COLUMN merges.synced_at IS 'When the newest answer behind this row arrived (UTC).';
COMMENT ON COLUMN merges.run_id IS 'Latest run behind this row (ops.runs).';

COMMENT ON TABLE stories IS 'One row per story that the service generated: the fields of the stories list and of the story''s detail, combined. A list has at most 100 stories, so a story that is not listed is not marked as deleted. Key: slug.';
COMMENT ON COLUMN stories.list IS 'The story as it appears in a list: a layout of elements, as JSON.';
COMMENT ON COLUMN stories.is_read IS 'Whether the viewer (the user that the API assumes for the key) has read it. NULL when only the story''s detail was fetched.';
COMMENT ON COLUMN stories.viewer_relevance_member_id IS 'Member of the organization that the viewer is. NULL when the story does not concern the viewer.';
COMMENT ON COLUMN stories.viewer_relevance_relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN stories.viewer_relevance_user_id IS 'The user behind the viewer. NULL when it does not concern the viewer.';
COMMENT ON COLUMN stories.archived_actor_type IS 'Who archived it: agent (the service itself) or member. NULL when it is not archived.';
COMMENT ON COLUMN stories.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE story_sources IS 'The sources of a story. Key: story_slug, position.';
COMMENT ON COLUMN story_sources.type IS 'Kind of the source: author, company, email, intercom, issue, message, person, slack or topic.';
COMMENT ON COLUMN story_sources.source_id IS 'Id of the source; its type tells which table has it.';
COMMENT ON COLUMN story_sources.label IS 'Name of the source in the story. NULL when it has none.';
COMMENT ON COLUMN story_sources.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE story_members IS 'The members of the organization that a story concerns, and how. Key: story_slug, member_id.';
COMMENT ON COLUMN story_members.relevance_label IS 'A short label for that. NULL when there is none.';
COMMENT ON COLUMN story_members.user_id IS 'The user behind this member.';
COMMENT ON COLUMN story_members.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE automation_templates IS 'One row per automation template. Their fields are not documented: the columns are assumed from those of an automation, and body has everything that the API returned. Key: slug.';
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
COMMENT ON COLUMN automation_templates.body IS 'The whole template as the API returned it: the list''s item and the answer by slug combined, the newer field wins.';
COMMENT ON COLUMN automation_templates.synced_at IS 'When the newest answer behind this row arrived (UTC).';

COMMENT ON TABLE topic_versions IS 'What each topic looked like over time: one row for each period in which the columns below did not change, as the sync saw them. Two changes between two syncs are seen as one. To find the version at a date: valid_from <= date AND (valid_to > date OR valid_to IS NULL). Key: topic_id, valid_from.';
COMMENT ON COLUMN topic_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN topic_versions.graph_status IS 'active, superseded or archived. NULL until the topic''s detail was fetched, or when the service did not say.';
COMMENT ON COLUMN topic_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN topic_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN topic_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN topic_versions.run_id IS 'Run that recorded this version (ops.runs).';

COMMENT ON TABLE company_versions IS 'What each company looked like over time, as the sync saw it (see topic_versions). Key: company_id, valid_from.';
COMMENT ON COLUMN company_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN company_versions.message_count IS 'Number of messages of its people, as the service counted them (companies list or activity, whichever was newer).';
COMMENT ON COLUMN company_versions.deleted_at IS 'When the sync found that the API no longer had it (UTC). NULL when it existed.';
COMMENT ON COLUMN company_versions.deleted_reason IS 'Why it was deleted. NULL when it existed, or when no reason was known.';
COMMENT ON COLUMN company_versions.detail_unavailable_reason IS 'Why its detail could not be fetched although it was listed. NULL when it could.';
COMMENT ON COLUMN company_versions.run_id IS 'Run that recorded this version (ops.runs).';

COMMENT ON TABLE people_versions IS 'What each person looked like over time, as the sync saw it (see topic_versions). Key: person_id, valid_from.';
COMMENT ON COLUMN people_versions.valid_to IS 'When the answer arrived that showed a difference: the valid_from of the next version (UTC). NULL for the current version.';
COMMENT ON COLUMN people_versions.deleted_at IS 'When the sync found that the API no longer had the person (UTC). NULL when the person existed.';
COMMENT ON COLUMN people_versions.deleted_reason IS 'Why the person was deleted. NULL when the person existed, or when no reason was known.';
COMMENT ON COLUMN people_versions.detail_unavailable_reason IS 'Why the person''s detail could not be fetched although the person was listed. NULL when it could.';
COMMENT ON COLUMN people_versions.run_id IS 'Run that recorded this version (ops.runs).';

COMMENT ON TABLE ops.changes IS 'One row per requested change of one topic or company: the queue of what is pushed to the API, and the record of the results. Key: id.';
COMMENT ON COLUMN ops.changes.revision IS 'Increases with each change of the status.';
COMMENT ON COLUMN ops.changes.status IS 'queued, sending (its request may be on its way), applied, unchanged (it was already up to date), conflict (somebody else changed it in the meantime), failed (the API refused it), superseded (by a later change) or cancelled.';
COMMENT ON COLUMN ops.changes.wanted IS 'The values to set, by the names of the columns.';
COMMENT ON COLUMN ops.changes.base IS 'The values of those columns that the person saw.';
COMMENT ON COLUMN ops.changes.base_from IS 'Where base comes from: file (its base columns) or warehouse (the values at the time of the import).';
COMMENT ON COLUMN ops.changes.base_at IS 'The time at which base was valid (UTC). NULL when it is unknown.';
COMMENT ON COLUMN ops.changes.overwrite IS 'True when a person chose to overwrite what somebody else had changed.';
COMMENT ON COLUMN ops.changes.requested_by IS 'Who requested it: the user of the operating system, or the value of --by.';
COMMENT ON COLUMN ops.changes.body IS 'Body of the request as it is sent. NULL before it is sent.';
COMMENT ON COLUMN ops.changes.attempts IS 'Number of requests that were made for it.';
COMMENT ON COLUMN ops.changes.remote_after IS 'What the API had in those columns afterwards, according to its answer.';
COMMENT ON COLUMN ops.changes.error IS 'What went wrong, as a sentence. NULL when all went well.';
COMMENT ON COLUMN ops.changes.settled_at IS 'When it was settled (UTC). NULL while it is open.';
COMMENT ON COLUMN ops.changes.superseded_by IS 'The change that replaced it.';

COMMENT ON TABLE ops.change_attempts IS 'Each request that was made for a change. Rows are only added. Key: change_id, at.';
COMMENT ON COLUMN ops.change_attempts.attempt IS 'Number of this attempt at the same request, counting from 1 in each run.';
COMMENT ON COLUMN ops.change_attempts.idempotency_key IS 'Idempotency-Key that it was sent with.';
COMMENT ON COLUMN ops.change_attempts.path IS 'Path, relative to the base URL.';
COMMENT ON COLUMN ops.change_attempts.error_code IS 'Kind of failure (limited, server_error, reset, ...). NULL when it succeeded.';
COMMENT ON COLUMN ops.change_attempts.request_id IS 'Id of the request that the service returned in a header. NULL where it returned none.';
