/** How much memory DuckDB gets, and how sizes are written. */

/** What the program needs: a machine or a container of 1 GiB. */
const requiredMemory = 1024 ** 3;

/** The kernel of a machine keeps a part for itself, which programs do not see. */
const visibleShare = 0.9;

/** Whether a machine or container with that many bytes has less than the program needs. */
export function isTooSmall(memory: number): boolean {
  return memory < requiredMemory * visibleShare;
}

/** The share of the memory that DuckDB gets. A large sync takes up to 500 MB beside it: answers, code, and what DuckDB does not count. */
const share = 0.4;

/** More than this makes a pull hardly faster. */
const maxLimit = 2_000_000_000;

/** The limit of the setting `auto`, in DuckDB's form: 40 % of the memory in bytes, at most 2 GB. */
export function autoLimit(memory: number): string {
  return `${Math.floor(Math.min(memory * share, maxLimit) / 1_000_000)}MB`;
}

const factors: Readonly<Record<string, number>> = { K: 1, M: 2, G: 3, T: 4 };

/** The bytes of a size such as `128MB` or `1.5GiB`; undefined when it is not one. */
export function bytesOf(size: string): number | undefined {
  const [, number, unit = '', binary] = /^(\d+(?:\.\d+)?)\s?([KMGT])(i?)B$/i.exec(size.trim()) ?? [];
  const power = factors[unit.toUpperCase()];
  return power === undefined ? undefined : Number(number) * (binary ? 1024 : 1000) ** power;
}
