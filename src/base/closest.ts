/**
 * A name without the differences in how people spell it: case, spaces, hyphens, underscores, full-width letters. The vowels of
 * Hindi and Thai are marks, and stay; the dot of a small İ and the variants of an emoji do not.
 */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]|[\u0307\uFE00-\uFE0F]/gu, '');
}

/**
 * The one of `choices` that was most likely meant: it is spelled similarly, or `text` is its beginning. What is in
 * brackets does not count: `Prio (new)` means `priority`. Undefined when none is similar.
 */
export function closestMatch(text: string, choices: readonly string[]): string | undefined {
  const named = withoutBrackets(text);
  return nearest(text, choices) ?? nearest(named, choices) ?? abbreviated(named, choices);
}

/** A name without what is in brackets. */
export function withoutBrackets(text: string): string {
  return text.replaceAll(/[([{][^)\]}]*[)\]}]?/g, ' ');
}

/** The choice that begins with the three letters or more of `text`; of `archived` and `archived_reason` the first. */
function abbreviated(text: string, choices: readonly string[]): string | undefined {
  const wanted = folded(text);
  if (wanted.length < 3) return undefined;
  const found = choices.filter((choice) => folded(choice).startsWith(wanted));
  return found.find((one) => found.every((other) => folded(other).startsWith(folded(one))));
}

function nearest(text: string, choices: readonly string[]): string | undefined {
  const wanted = folded(text);
  if (wanted === '' || wanted.length > 40) return undefined;
  const ranked = choices
    .map((choice) => ({ choice, distance: editDistance(wanted, folded(choice)) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.choice : undefined;
}

/** How many letters are inserted, deleted, replaced or swapped with their neighbour (Damerau-Levenshtein). */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      let best = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      next.push(best);
    }
    before = row;
    row = next;
  }
  return row[other.length] ?? 0;
}
