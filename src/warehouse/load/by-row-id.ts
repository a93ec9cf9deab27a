/** Above this many row ids, DuckDB compares each vector's rows with the least and the greatest of them only. */
const mostRowIds = 10_000;

/**
 * Statements with `rowid IN (SELECT …)` on a large table, as SQL text. While they run, DuckDB skips every vector (2,048
 * rows) that holds none of the row ids: it makes the filter of a join from each of them, up to the number of this setting,
 * and otherwise from the least and the greatest, which skips nothing where they are spread. Measured on 2,400,000 documents:
 * the bodies of 350 spread over 300 vectors take 155 instead of 500 ms of CPU, their keys 40 instead of 95.
 *
 * Only these statements: each join would otherwise make such a list, which takes 4 µs for each of its rows. A statement that
 * fails leaves the setting as it is until the next ones, which costs time and changes no result.
 */
export function byRowId(...statements: readonly string[]): string[] {
  return [
    `SET dynamic_or_filter_threshold = ${mostRowIds}`,
    ...statements,
    'RESET dynamic_or_filter_threshold',
  ];
}
