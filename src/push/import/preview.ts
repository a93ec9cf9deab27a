import { minutesFor } from '../../api/budget.js';
import { groupBy } from '../../base/group-by.js';
import type { Settings } from '../../config/schema.js';
import type { Change } from '../change.js';
import type { Origin, Queue } from '../queue.js';
import { noteFor, type Store, type StoredOf } from '../stored.js';

/** Something wrong in a row, as the person finds it in the file. */
export interface ImportProblem {
  /** The row as a spreadsheet program numbers it. */
  readonly row: number;
  /** The header of the column, as written; null for the row as a whole. */
  readonly column: string | null;
  /** The content of the cell as text; null for an empty cell. */
  readonly value: string | null;
  readonly problem: string;
  readonly allowed?: readonly string[];
}

/** The same problem of several rows: a value that cannot be set is told once, with its suggestion. */
export interface ProblemGroup extends Omit<ImportProblem, 'row'> {
  readonly rows: readonly number[];
}

/** Problems by what is wrong, in the order in which they first occur. */
export function groupedProblems(problems: readonly ImportProblem[]): ProblemGroup[] {
  const same = groupBy(problems, ({ column, value, problem }) => JSON.stringify([column, value, problem]));
  return [...same.values()].map((group) => {
    const { row: _, ...one } = group[0];
    return { ...one, rows: group.map(({ row }) => row) };
  });
}

export type RowOutcome =
  /** A new change waits for the next push. */
  | 'queued'
  /** It was not queued because other rows are wrong, it was a dry run, or the import was declined. */
  | 'not_queued'
  /** It asks for nothing, or for values that are already up to date. */
  | 'unchanged'
  /** A change that is still open wants the same. */
  | 'duplicate'
  /** The same file was imported before; its change is on record. */
  | 'imported_before'
  /**
   * Somebody else wants another value; or the same was imported before and met a conflict, and this row does not show that
   * the person has seen it.
   */
  | 'conflict'
  /** Something in it is wrong. */
  | 'invalid';

export interface ImportRow {
  readonly row: number;
  readonly outcome: RowOutcome;
  /** The change for it, or the earlier change that it duplicates. */
  readonly changeId: string | null;
  /** The reason as a sentence; null when there is nothing to explain. */
  readonly text: string | null;
}

/** A change as the preview shows it. */
export interface PreviewChange extends Pick<Change, 'entityType' | 'entityId' | 'wanted' | 'base'> {
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  readonly rows: readonly number[];
  /** What happened to the topic or company since then: archived, superseded, merged. */
  readonly note: string | null;
}

export interface Preview {
  readonly rows: Readonly<Record<RowOutcome, number>>;
  /** The number of changes: the rows about one topic or company make one. */
  readonly changes: number;
  /** The most requests that a push of these changes makes while all goes well, and the minutes that they take. */
  readonly requests: number;
  readonly minutes: number;
  /** Where the base values come from; `oldest` is when the oldest of the warehouse's values was synced. */
  readonly base: { readonly file: number; readonly warehouse: number; readonly oldest: string | null };
}

export interface ImportReport extends Origin, Pick<Change, 'entityType'> {
  /** `refused`: rows are wrong, so nothing was queued. `declined`: the user answered no. */
  readonly outcome: 'queued' | 'nothing_new' | 'refused' | 'dry_run' | 'declined';
  readonly queued: readonly string[];
  /** The ids of the changes, new and earlier ones, that this import put into conflict: people want different values. */
  readonly conflicts: readonly string[];
  readonly preview: Preview;
  readonly changes: readonly PreviewChange[];
  readonly problems: readonly ImportProblem[];
  /** The same, each value that cannot be set once. */
  readonly problemGroups: readonly ProblemGroup[];
  /** Every row that is not blank, in the order of the file. */
  readonly rows: readonly ImportRow[];
  /** What the user should know, as sentences. */
  readonly notes: readonly string[];
  /** 3 when a row is wrong or in conflict with what somebody else wants, otherwise 0. */
  readonly exitCode: 0 | 3;
}

/** What its push costs depends on these settings. */
export type CostSettings = Pick<Settings, 'rateLimit'>;

/** What an import or an undo works with. */
export interface ImportParts {
  readonly store: Store;
  readonly queue: Pick<Queue, 'all'>;
  readonly settings: CostSettings;
}

/** A change before it is queued, and the rows that ask for it; those of an undo have none. */
type PlannedChange = Pick<Change, 'entityType' | 'entityId' | 'wanted' | 'base'> &
  Partial<Pick<PreviewChange, 'rows'>>;

/** What an import and an undo say about the changes that they would queue. */
export type Totals = Pick<Preview, 'changes' | 'requests' | 'minutes'>;

/** Changes as a preview shows them (with titles, and with what happened), and what a push of all of them does and costs. */
export function previewOf(
  planned: readonly PlannedChange[],
  storedOf: StoredOf,
  settings: CostSettings,
): { readonly changes: PreviewChange[]; readonly totals: Totals } {
  const changes = planned.map(({ entityType, entityId, rows = [], wanted, base }): PreviewChange => {
    const entity = storedOf({ entityType, entityId });
    const title = entity?.title ?? null;
    return { entityType, entityId, title, rows, wanted, base, note: noteFor(entity, wanted) };
  });
  // A write for each, and a read before it.
  const requests = 2 * planned.length;
  return { changes, totals: { changes: planned.length, requests, minutes: minutesFor(requests, settings) } };
}
