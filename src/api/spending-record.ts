/** One line of the spending ledger. `at` is the wall clock in milliseconds, since it must mean something to others. */
export type SpendingRecord =
  | { kind: 'start'; writer: string; id: number; at: number; pid: number }
  | { kind: 'end' | 'withdrawn'; writer: string; id: number; at: number };

const letters = { start: 's', end: 'e', withdrawn: 'w' } as const;

/** One line, without its newline. */
export function formatRecord(record: SpendingRecord): string {
  const pid = record.kind === 'start' ? ` ${record.pid}` : '';
  return `${letters[record.kind]} ${record.writer} ${record.id} ${Math.round(record.at)}${pid}`;
}

/** Reads one line; undefined for what a full disk or another program left behind. */
export function parseRecord(line: string): SpendingRecord | undefined {
  const match = /^([sew]) ([0-9a-f]{8}) (\d+) (\d+)(?: (\d+))?$/.exec(line);
  if (!match) return undefined;
  const [, letter, writer = '', id, at, pid] = match;
  const common = { writer, id: Number(id), at: Number(at) };
  if (letter === 's') return pid === undefined ? undefined : { kind: 'start', ...common, pid: Number(pid) };
  return { kind: letter === 'e' ? 'end' : 'withdrawn', ...common };
}
