/** A question that an analyst would ask. */
export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** Asked of what the first pull brought. */
export const questions: readonly Question[] = [
  {
    title: 'Which open topics reach the most companies?',
    sql: `SELECT title, priority, companies, people, messages_last_7_days AS "7 days"
FROM backlog
ORDER BY companies DESC, people DESC, title
LIMIT 5`,
  },
  {
    title: 'Which VIPs wrote last and still wait for an answer?',
    sql: `SELECT coalesce(title, topic_title) AS title, topic_priority AS priority,
  waiting_hours AS hours, source_name AS source
FROM unanswered_groups
WHERE is_vip
ORDER BY last_message_at DESC, title
LIMIT 5`,
  },
];

/** Asked after a day has passed and the second pull brought it. */
export const afterADay: Question = {
  title: 'What did that day change?',
  sql: `SELECT entity_type AS what, name, change, details
FROM recent_changes
ORDER BY changed_at DESC, name
LIMIT 8`,
};
