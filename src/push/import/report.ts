import type { EntityType } from '../fields.js';

/** Something in a row that cannot be meant, as the person finds it in the file. */
export interface ImportProblem {
  /** The row as a spreadsheet program numbers it. */
  readonly row: number;
  /** The column by its header as written; null when it is the row as a whole. */
  readonly column: string | null;
  /** What stands there, as text; null for an empty cell. */
  readonly value: string | null;
  readonly problem: string;
  readonly allowed?: readonly string[];
}

/** What became of a row when it was imported. */
export type RowOutcome =
  /** A new change waits for the next push. */
  | 'queued'
  /** It would have been queued, and was not: other rows are wrong, it was a dry run, or nobody said yes. */
  | 'not_queued'
  /** It asks for nothing, or for what is so already. */
  | 'unchanged'
  /** A change that is still open wants the same. */
  | 'duplicate'
  /** The same file was imported before, and its change is on record. */
  | 'imported_before'
  /** The same was wanted before and met a conflict, which this row does not know of. */
  | 'conflict'
  /** Something in it is wrong. */
  | 'invalid';

export interface ImportRow {
  readonly row: number;
  readonly outcome: RowOutcome;
  /** The change that carries it, or the earlier one that it was found equal to. */
  readonly changeId: string | null;
  /** Why, in words; null when there is nothing to say. */
  readonly text: string | null;
}

/** How often one value becomes another; from and to are null where the values are all different texts. */
export interface ChangeKind {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly count: number;
}

export interface Preview {
  readonly rows: Readonly<Record<RowOutcome, number>>;
  /** How many changes it makes: rows about one topic or company make one. */
  readonly changes: number;
  readonly kinds: readonly ChangeKind[];
  /** Earlier changes whose place would be taken. */
  readonly superseded: number;
  /** What a push of these changes costs. */
  readonly requests: { readonly writes: number; readonly reads: number; readonly total: number };
  readonly minutes: number;
  /** Where "what the person saw" comes from; `oldest` is as of when the warehouse's values are known. */
  readonly base: { readonly file: number; readonly warehouse: number; readonly oldest: string | null };
}

/** What an import came to. */
export interface ImportReport {
  readonly importId: string;
  readonly source: string;
  readonly sourceHash: string | null;
  readonly entityType: EntityType;
  readonly requestedBy: string;
  /** `refused`: rows are wrong, and nothing was queued. `declined`: a person said no. */
  readonly outcome: 'queued' | 'nothing_new' | 'refused' | 'dry_run' | 'declined';
  /** The ids of the new changes. */
  readonly queued: readonly string[];
  readonly preview: Preview;
  readonly problems: readonly ImportProblem[];
  /** Every row that is not blank, in the order of the file. */
  readonly rows: readonly ImportRow[];
  /** What the person should know, as sentences. */
  readonly notes: readonly string[];
  /** 3 when a row is wrong, otherwise 0. */
  readonly exitCode: 0 | 3;
}
