/** A value as SQL text. Only for names that come from our own files; what comes from outside is bound. */
export function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** An identifier as SQL text. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
