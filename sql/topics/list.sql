-- The topics that people work on, as the list shows them: those that the API has, without merged and superseded ones.
WITH
written AS (
  SELECT topic_groups.topic_id, message_senders.week, count(*) AS messages
  FROM message_senders
  JOIN topic_groups ON topic_groups.group_id = message_senders.group_id
  WHERE message_senders.side = 'external'
  GROUP BY topic_groups.topic_id, message_senders.week
),
weekly AS (
  SELECT
    topic_id,
    list({
      'ago': date_diff('week', week, date_trunc('week', as_of AT TIME ZONE 'UTC')::DATE),
      'messages': messages
    }) AS weeks
  FROM written
  CROSS JOIN data_as_of
  WHERE week > date_trunc('week', as_of AT TIME ZONE 'UTC')::DATE - INTERVAL 84 DAY AND week <= as_of
  GROUP BY topic_id
),
asking AS (
  SELECT
    topic_id,
    list({'id': company_id, 'name': company_name, 'isVip': is_vip} ORDER BY is_vip DESC, messages DESC, company_name)
      AS companies
  FROM company_topics
  GROUP BY topic_id
),
vips AS (
  SELECT topic_people.topic_id, count(DISTINCT person_roles.person_id) AS people
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  WHERE person_roles.is_vip AND NOT person_roles.is_staff AND NOT person_roles.is_bot
  GROUP BY topic_people.topic_id
),
waiting AS (
  SELECT topic_groups.topic_id, min(awaiting_reply.waiting_since) AS since
  FROM awaiting_reply
  JOIN topic_groups ON topic_groups.group_id = awaiting_reply.group_id
  GROUP BY topic_groups.topic_id
),
-- A person set the priority where a person, or one of our changes, did it last.
decided AS (
  SELECT topic_id, arg_max(coalesce(changed_by, change_id) IS NOT NULL, changed_at) AS by_person
  FROM priority_transitions
  WHERE NOT is_first
  GROUP BY topic_id
)
SELECT
  topics.id,
  topics.title,
  topics.priority,
  topics.lifecycle_state AS "lifecycleState",
  open_topics.topic_id IS NOT NULL AS "isOpen",
  topics.archived_at IS NOT NULL OR topics.graph_status IS NOT DISTINCT FROM 'archived' AS "isArchived",
  coalesce(asking.companies, []) AS companies,
  coalesce(vips.people, 0) AS "vipPeople",
  coalesce(topics.total_group_count, 0) AS conversations,
  coalesce(weekly.weeks, []) AS weeks,
  coalesce(topic_momentum.messages_last_7_days - topic_momentum.messages_7_days_before, 0) AS momentum,
  coalesce(topics.sources, []) AS sources,
  waiting.since AS "waitingSince",
  coalesce(decided.by_person, false) AS "isDecided",
  to_json(topic_attributes) AS attributes
FROM topics
LEFT JOIN open_topics ON open_topics.topic_id = topics.id
LEFT JOIN topic_momentum ON topic_momentum.topic_id = topics.id
LEFT JOIN weekly ON weekly.topic_id = topics.id
LEFT JOIN asking ON asking.topic_id = topics.id
LEFT JOIN vips ON vips.topic_id = topics.id
LEFT JOIN waiting ON waiting.topic_id = topics.id
LEFT JOIN decided ON decided.topic_id = topics.id
LEFT JOIN topic_attributes ON topic_attributes.topic_id = topics.id
WHERE topics.deleted_at IS NULL
  AND topics.merged_into_id IS NULL
  AND coalesce(topics.graph_status, 'active') <> 'superseded'
  AND topics.detail_unavailable_reason IS NULL
