/** The `-- field: value` lines on top of an SQL file, by field. */
export function headerOf(sql: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of sql.split('\n')) {
    if (!line.startsWith('--')) break;
    const [, field, value] = /^--\s*(\w+):\s*(.+?)\s*$/.exec(line) ?? [];
    if (field !== undefined && value !== undefined) fields.set(field, value);
  }
  return fields;
}
