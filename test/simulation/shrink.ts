import type { Night } from './life.js';

/**
 * A part of a plan that still fails in the same way: whole nights are left out first, in halves and smaller, then single moves.
 * `fails` is asked some dozens of times.
 */
export async function shrunk(
  plan: readonly Night[],
  fails: (plan: readonly Night[]) => Promise<boolean>,
): Promise<readonly Night[]> {
  let least = plan;
  for (let size = Math.ceil(plan.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // The last night is the one that shows it.
    for (let from = 0; from + size < least.length; ) {
      const without = [...least.slice(0, from), ...least.slice(from + size)];
      if (await fails(without)) least = without;
      else from += size;
    }
  }
  for (const part of ['moves', 'storm'] as const)
    for (let at = least.length - 1; at >= 0; at -= 1)
      for (let move = (least[at]?.[part].length ?? 0) - 1; move >= 0; move -= 1) {
        const without = least.map((night, no) =>
          no === at ? { ...night, [part]: night[part].filter((_, index) => index !== move) } : night,
        );
        if (await fails(without)) least = without;
      }
  return least;
}
