/** DuckDB reads a table in vectors of so many rows: what stands in one is read together. */
const vector = 2_048;

/** A condition of more stretches than this takes longer to check than it saves. */
const most = 64;

/** In which vectors of their table the rows of a relation with a column `rid` stand, as an SQL expression. */
export const vectorSql = `rid // ${vector}`;

/**
 * A condition on `rowid`, as SQL text: in one of these vectors, or in a gap between two that is too small to count.
 * DuckDB narrows a scan down to row ids that it is told as ranges, but not to those of a join: looking up some hundred
 * documents among 500,000 by a join alone reads every body.
 */
export function inVectors(vectors: readonly number[]): string {
  const sorted = [...vectors].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((next, index) => next - (sorted[index] ?? next));
  const widest = Math.max(1, gaps.sort((a, b) => b - a)[most - 1] ?? 0);
  const stretches: [first: number, last: number][] = [];
  for (const next of sorted) {
    const before = stretches.at(-1);
    if (before && next - before[1] <= widest) before[1] = next;
    else stretches.push([next, next]);
  }
  const ranges = stretches.map(([first, last]) => {
    const [from, to] = [BigInt(first) * BigInt(vector), BigInt(last + 1) * BigInt(vector) - 1n];
    return `rowid BETWEEN ${from} AND ${to}`;
  });
  return ranges.length === 0 ? 'false' : `(${ranges.join(' OR ')})`;
}
