import type { Reader } from './published.js';

/** The tables of earlier versions of rows. No API returns these, so they are checked against the current rows. */
export const versionTables = [
  { table: 'topic_versions', of: 'topics', key: 'topic_id' },
  { table: 'company_versions', of: 'companies', key: 'company_id' },
  { table: 'people_versions', of: 'people', key: 'person_id' },
] as const;

/** Rows that differ from their last version, and intervals with a gap, an overlap or no length. */
export async function versionProblems(reader: Reader): Promise<string[]> {
  const found: string[] = [];
  for (const { table, of, key } of versionTables) {
    const columns = (await reader.columns(table)).filter(
      (name) => ![key, 'valid_from', 'valid_to', 'run_id'].includes(name),
    );
    const differ = columns.map((name) => `v.${name} IS DISTINCT FROM r.${name}`).join(' OR ');
    const unlike = await reader.rows<{ id: string }>(`
      SELECT coalesce(r.id, v.${key}) AS id FROM ${of} r
        FULL JOIN (FROM ${table} WHERE valid_to IS NULL) v ON v.${key} = r.id
       WHERE r.id IS NULL OR v.${key} IS NULL OR ${differ}`);
    const broken = await reader.rows<{ id: string }>(`
      SELECT id FROM (
        SELECT ${key} AS id, valid_from, valid_to, lead(valid_from) OVER (PARTITION BY ${key} ORDER BY valid_from) AS next
          FROM ${table})
       WHERE valid_to IS DISTINCT FROM next OR valid_to <= valid_from`);
    for (const { id } of unlike) found.push(`${table} ${id}: the last version differs from ${of}`);
    for (const { id } of broken) found.push(`${table} ${id}: its intervals are not consecutive`);
  }
  return found;
}

/** Tables of what this warehouse knows and no answer says. */
export const analysisTables = [
  { table: 'history_requests' },
  { table: 'topic_group_versions' },
  { table: 'duplicate_pairs' },
] as const;

/**
 * Conversations of which the open row is not where they are, or ends before it begins; requests of somebody else's records;
 * open pairs of what is gone.
 */
export async function analysisProblems(reader: Reader): Promise<string[]> {
  const rows = await reader.rows<{ problem: string }>(`
    SELECT 'topic_group_versions: ' || coalesce(v.topic_id, g.topic_id) || ' ' || coalesce(v.group_id, g.group_id) AS problem
      FROM topic_groups g
      FULL JOIN (FROM topic_group_versions WHERE last_seen_at IS NULL) v USING (topic_id, group_id)
     WHERE v.topic_id IS NULL OR g.topic_id IS NULL
    UNION ALL
    SELECT 'topic_group_versions: ' || topic_id || ' ' || group_id || ' ends before it begins'
      FROM topic_group_versions WHERE last_seen_at < first_seen_at
    UNION ALL
    SELECT 'history_requests: ' || history_id
      FROM history_requests
      LEFT JOIN history h ON h.id = history_id
      LEFT JOIN ops.changes c ON c.id = change_id
     WHERE h.user_id IS NOT NULL OR c.first_sent_at IS NULL
        OR h.entity_id IS DISTINCT FROM coalesce(c.topic_id, c.company_id)
    UNION ALL
    SELECT 'duplicate_pairs: ' || id_1 || ' ' || id_2
      FROM duplicate_pairs
      LEFT JOIN (SELECT id FROM topics WHERE deleted_at IS NULL AND merged_into_id IS NULL UNION ALL SELECT id FROM people WHERE deleted_at IS NULL AND merged_into_id IS NULL) o ON o.id = id_1
      LEFT JOIN (SELECT id FROM topics WHERE deleted_at IS NULL AND merged_into_id IS NULL UNION ALL SELECT id FROM people WHERE deleted_at IS NULL AND merged_into_id IS NULL) t ON t.id = id_2
     WHERE (outcome = 'open') <> (o.id IS NOT NULL AND t.id IS NOT NULL) OR score NOT BETWEEN 0 AND 1 OR id_1 >= id_2`);
  return rows.map(({ problem }) => problem);
}
