/** Two questions that an analyst would ask, and what to ask after a day has passed. */
export interface Question {
  readonly title: string;
  readonly sql: string;
}

export const questions: readonly Question[] = [
  {
    title: 'Which open topics reach the most companies?',
    sql: `SELECT t.title, t.priority, count(DISTINCT p.company_id) AS companies,
       count(DISTINCT p.id) AS people, t.message_count AS messages
FROM topics t
JOIN topic_people tp ON tp.topic_id = t.id
JOIN people p ON p.id = tp.person_id
WHERE t.deleted_at IS NULL AND coalesce(t.lifecycle_state, 'open') IN ('open', 'in_progress')
GROUP BY ALL
ORDER BY companies DESC, people DESC, messages DESC, t.title
LIMIT 5`,
  },
  {
    title: 'Which companies wrote the most in the last four weeks?',
    sql: `SELECT c.name, c.is_vip AS vip, count(*) AS messages,
       count(DISTINCT m.group_id) AS conversations
FROM messages m
JOIN group_companies gc ON gc.group_id = m.group_id
JOIN companies c ON c.id = gc.company_id
WHERE m.created_at > (SELECT max(created_at) FROM messages) - INTERVAL 28 DAYS
  AND NOT c.is_org_company
GROUP BY ALL
ORDER BY messages DESC, c.name
LIMIT 5`,
  },
];

export const afterADay: Question = {
  title: 'And what was said on the day that passed?',
  sql: `SELECT m.created_at, a.display_name AS author, m.source_name AS source, m.content
FROM messages m
JOIN authors a ON a.id = m.author_id
WHERE m.deleted_at IS NULL
ORDER BY m.created_at DESC, m.id
LIMIT 5`,
};
