/**
 * What the word before the cursor may become, and that word. `statement` is what was entered up to the cursor, `after` the
 * rest of the line; `relations` are the tables, views and macros (`backlog_as_of(day)`), each with its columns. After FROM
 * and the like these are tables; elsewhere also columns of the tables that the statement names (of any, when it names none).
 */
export function completions(
  statement: string,
  after: string,
  relations: ReadonlyMap<string, readonly string[]>,
): [found: string[], word: string] {
  const [word = ''] = /[\p{L}\p{N}_.]*$/u.exec(statement) ?? [];
  const before = statement.slice(0, statement.length - word.length);
  // Without the parameters of macros, of which the bracket stays.
  const tables = [...relations.keys()].map((label) => label.replace(/\(.*$/s, '('));
  if (/(?:\b(?:FROM|JOIN|DESCRIBE|SUMMARIZE)|^\\d)\s+$/i.test(before)) return [matching(tables, word), word];
  const named = new Set(`${before} ${after}`.toLowerCase().match(/[\w.]+/g));
  const ofNamed = [...relations].filter(([label]) => named.has(label)).flatMap(([, columns]) => columns);
  const columns = ofNamed.length > 0 ? ofNamed : [...relations.values()].flat();
  // The name or the alias of a table stays in front of its column.
  const owner = word.slice(0, word.lastIndexOf('.') + 1);
  return [matching([...tables, ...columns.map((column) => owner + column)], word), word];
}

function matching(candidates: readonly string[], word: string): string[] {
  const start = word.toLowerCase();
  return [...new Set(candidates)].filter((one) => one.toLowerCase().startsWith(start)).sort();
}
