import type { AddedColumn } from '../sheet/write.js';
import type { Change } from './change.js';
import type { Values } from './fields.js';
import type { ImportRow } from './import/report.js';

/** What became of a row of a file, for the person who wrote it. */
export interface RowResult {
  readonly result: string;
  readonly error: string | null;
  /** What the API has instead, or had when it was last looked at. */
  readonly remoteValue: string | null;
}

/** What one import's rows came to, by their number: the change's own state where there is one. Undefined for no row. */
export function rowResults(
  rows: readonly ImportRow[],
  changeOf: (id: string) => Change | undefined,
): (row: number) => RowResult | undefined {
  const byNumber = new Map(rows.map((row) => [row.row, row]));
  return (number) => {
    const row = byNumber.get(number);
    const change = row?.changeId ? changeOf(row.changeId) : undefined;
    return row && resultOf(row, change);
  };
}

export const resultNames = ['result', 'error', 'remote_value'] as const;

/** The columns that a person's own file gets at its right, for `writeGrid`. Rows without an outcome stay empty. */
export function resultColumns(outcomeOfRow: (row: number) => RowResult | undefined): AddedColumn[] {
  const [result, error, remoteValue] = resultNames;
  return [
    { name: result, cell: ({ number }) => outcomeOfRow(number)?.result ?? null },
    { name: error, cell: ({ number }) => outcomeOfRow(number)?.error ?? null },
    { name: remoteValue, cell: ({ number }) => outcomeOfRow(number)?.remoteValue ?? null },
  ];
}

function resultOf({ outcome, text }: ImportRow, change: Change | undefined): RowResult {
  // Found equal to an earlier change, or not knowing of its conflict: that one's fate says more than "duplicate".
  if (!change) return { result: outcome.replaceAll('_', ' '), error: text, remoteValue: null };
  const error = change.status === 'superseded' ? supersededText(change) : change.error;
  // What to do about a conflict that was there before is not in the change itself.
  const more = outcome === 'conflict' && change.status === 'conflict' ? text : null;
  return {
    result: change.status,
    error: [error, more].filter((one) => one !== null).join('; ') || null,
    remoteValue: shown(change.remoteAfter ?? change.remoteBefore),
  };
}

function supersededText({ supersededBy }: Change): string {
  return `A later change took its place${supersededBy === null ? '' : ` (${supersededBy})`}.`;
}

function shown(values: Values | null): string | null {
  if (values === null) return null;
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${value === null || value === '' ? '(none)' : value}`)
    .join(', ');
}
