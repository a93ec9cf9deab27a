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
