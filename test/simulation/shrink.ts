import type { Night } from './life.js';

/**
 * A part of a plan that still fails in the same way: whole nights are left out first, then moves, in halves and smaller
 * parts. `fails` is asked some dozens of times.
 */
export async function shrunk(
  plan: readonly Night[],
  fails: (plan: readonly Night[]) => Promise<boolean>,
): Promise<readonly Night[]> {
  // The last night is the one that shows it.
  const last = plan.slice(-1);
  const earlier = await leastOf(plan.slice(0, -1), (nights) => fails([...nights, ...last]));
  const nights = [...earlier, ...last];
  const withOnly = (kept: readonly unknown[]) =>
    nights.map((night) => ({
      ...night,
      moves: night.moves.filter((move) => kept.includes(move)),
      storm: night.storm.filter((move) => kept.includes(move)),
    }));
  const moves = nights.flatMap((night) => [...night.moves, ...night.storm]);
  return withOnly(await leastOf<unknown>(moves, (kept) => fails(withOnly(kept))));
}

async function leastOf<T>(
  whole: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let least = whole;
  for (let size = Math.ceil(least.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < least.length; ) {
      const without = [...least.slice(0, from), ...least.slice(from + size)];
      if (await fails(without)) least = without;
      else from += size;
    }
  return least;
}
