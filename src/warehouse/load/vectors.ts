/** DuckDB reads a table in vectors of this many rows. */
const vectorSize = 2_048;

/** A condition with more ranges than this takes longer to check than it saves. */
const maxRanges = 64;

/** The vector that a row is in, as an SQL expression over its row id `rid`. */
export const vectorSql = `rid // ${vectorSize}`;

/**
 * A condition on `rowid`, as SQL text: in one of these vectors, or in a gap between two that is too small to skip.
 * DuckDB narrows a scan to ranges of row ids given as constants, but not to those of a join: looking up a few hundred
 * documents among 500,000 by a join alone reads every body.
 */
export function inVectors(vectors: readonly number[]): string {
  const sorted = [...vectors].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((next, index) => next - (sorted[index] ?? next));
  const widest = Math.max(1, gaps.sort((a, b) => b - a)[maxRanges - 1] ?? 0);
  const runs: [first: number, last: number][] = [];
  for (const next of sorted) {
    const before = runs.at(-1);
    if (before && next - before[1] <= widest) before[1] = next;
    else runs.push([next, next]);
  }
  const ranges = runs.map(([first, last]) => {
    const [from, to] = [BigInt(first) * BigInt(vectorSize), BigInt(last + 1) * BigInt(vectorSize) - 1n];
    return `rowid BETWEEN ${from} AND ${to}`;
  });
  return ranges.length === 0 ? 'false' : `(${ranges.join(' OR ')})`;
}
