import { minutesFor } from '../api/budget.js';
import { countBy, groupBy } from '../base/group-by.js';
import { firstOf } from '../base/units.js';
import type { Settings } from '../config/schema.js';
import { type Change, entityKey } from './change.js';
import type { NewChange, Origin, Queue } from './queue.js';
import { compareWithQueue, queueChanges } from './queueing.js';
import type { Store } from './stored.js';

/**
 * What a person wants, as a preview shows and stores it: the changes of a sheet, or those that undo earlier ones. Confirming it
 * queues exactly its changes.
 */

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

export type RowOutcome =
  /** A new change waits for the next push. */
  | 'queued'
  /** It was not queued because other rows are wrong, it was a dry run, or the import was declined. */
  | 'not_queued'
  /** It asks for nothing, or for values that are already up to date. */
  | 'unchanged'
  /** A change of the same person that is still open wants the same. */
  | 'duplicate'
  /** The same file was imported before; its change is on record. */
  | 'imported_before'
  /**
   * Another person wants another value; or the same was imported before and changed by another person, and this row does not show
   * that the person has seen that.
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

export interface Wish extends NewChange {
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  /** The rows that ask for it; none for an undo. */
  readonly rows: readonly number[];
}

interface PlannedChange extends Wish {
  /** What it contradicts, in words; null when it will be sent. */
  readonly conflict: string | null;
}

/** Something that changes nothing, and why. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

export interface Plan extends Origin {
  readonly kind: 'import' | 'undo';
  /** Nothing may be queued, because rows are wrong. */
  readonly isRefused: boolean;
  /** Empty when rows are wrong and not skipped. */
  readonly changes: readonly PlannedChange[];
  /** Every row of the file that is not blank, in order. */
  readonly rows: readonly ImportRow[];
  readonly problems: readonly ImportProblem[];
  /** What changes nothing, and why: wrong rows, the same problem of several once; and what cannot be undone. */
  readonly leftOut: readonly LeftOut[];
  /** What the user should know, as sentences. */
  readonly notes: readonly string[];
  readonly preview: {
    readonly rows: Readonly<Record<RowOutcome, number>>;
    /** How many changes would be sent, the most requests that this takes while all goes well, and the minutes. */
    readonly changes: number;
    readonly requests: number;
    readonly minutes: number;
    /** Where the base values come from; `oldest` is when the oldest of the warehouse's values was synced. */
    readonly base: { readonly file: number; readonly warehouse: number; readonly oldest: string | null };
  };
}

/** The outcome of a plan. */
export interface PlanReport extends Plan {
  /** `refused`: rows are wrong, so nothing was queued. `declined`: the user answered no. */
  readonly outcome: 'queued' | 'nothing' | 'refused' | 'dry_run' | 'declined';
  readonly queued: readonly string[];
  /** The ids of the changes, new and earlier ones, that it put into conflict: people want different values. */
  readonly conflicts: readonly string[];
  /** 3 when a row is wrong or in conflict, or something cannot be undone; otherwise 0. */
  readonly exitCode: 0 | 3;
}

/** What a plan is made with. */
export interface PlanParts {
  readonly store: Store;
  readonly queue: Pick<Queue, 'all'>;
  /** What its push costs depends on these. */
  readonly settings: Pick<Settings, 'rateLimit'>;
}

/** What a person wants, before it is compared with what is in the queue. */
export interface Wishes extends Omit<Plan, 'changes' | 'preview'> {
  readonly wishes: readonly Wish[];
}

/** Compares what a person wants with the queue (`all`), and says what confirming it would do and cost. Queues nothing. */
export function planOf(
  { wishes, ...given }: Wishes,
  all: readonly Change[],
  settings: PlanParts['settings'],
): Plan {
  const ofEntity = groupBy(all, entityKey);
  const compared = wishes.map((wish) => compareWithQueue(wish, ofEntity.get(entityKey(wish)) ?? []));
  const became = compared.map((one): Became => {
    if (one.kind !== 'queue') return { outcome: one.kind, changeId: one.change.id, text: one.text };
    if (one.conflict !== null) return { outcome: 'conflict', changeId: null, text: one.conflict };
    return given.isRefused ? held : { outcome: 'queued', changeId: null, text: null };
  });
  const rows = withOutcomes(given.rows, wishes, became);
  const changes = wishes.flatMap((wish, at): PlannedChange[] => {
    const comparison = compared[at];
    const isPlanned = comparison?.kind === 'queue' && !given.isRefused;
    return isPlanned ? [{ ...wish, conflict: comparison.conflict }] : [];
  });
  const isQueued = (at: number) => compared[at]?.kind === 'queue';
  const leftOut = [...wrongRows(given.problems), ...given.leftOut, ...notUndone(wishes, became, isQueued)];
  const sent = changes.filter(({ conflict }) => conflict === null);
  const fromWarehouse = sent.filter(({ baseFrom }) => baseFrom === 'warehouse');
  const [oldest = null] = fromWarehouse.flatMap(({ baseAt }) => baseAt ?? []).sort();
  // A write for each, and a read before it.
  const requests = 2 * sent.length;
  const base = { file: sent.length - fromWarehouse.length, warehouse: fromWarehouse.length, oldest };
  const minutes = minutesFor(requests, settings);
  const preview = { rows: countsOf(rows), changes: sent.length, requests, minutes, base };
  return { ...given, changes, rows, leftOut, preview };
}

type Became = Omit<ImportRow, 'row'>;

const held: Became = { outcome: 'not_queued', changeId: null, text: 'Other rows of the file are wrong.' };

function withOutcomes(
  rows: readonly ImportRow[],
  wishes: readonly Wish[],
  became: readonly Became[],
): ImportRow[] {
  const ofRow = new Map(wishes.flatMap((wish, at) => wish.rows.map((row) => [row, became[at]] as const)));
  return rows.map((row) => ({ ...row, ...ofRow.get(row.row) }));
}

/** Changes that have no row to show their outcome. */
function notUndone(
  wishes: readonly Wish[],
  became: readonly Became[],
  isQueued: (at: number) => boolean,
): LeftOut[] {
  return wishes.flatMap(({ title, entityId, rows }, at) =>
    rows.length > 0 || isQueued(at) ? [] : [{ what: title ?? entityId, why: became[at]?.text ?? '' }],
  );
}

function countsOf(rows: readonly ImportRow[]): Plan['preview']['rows'] {
  const none = { queued: 0, not_queued: 0, unchanged: 0, duplicate: 0, imported_before: 0 };
  return { ...none, conflict: 0, invalid: 0, ...countBy(rows, ({ outcome }) => outcome) };
}

/** Queues exactly what a plan shows, as `queueChanges` does. */
export function confirmPlan(queue: Queue, plan: Plan): PlanReport {
  const { changes } = plan;
  const { became, conflicts } = queueChanges(
    queue,
    changes.map(({ title: _, rows: __, ...change }) => change),
  );
  const isQueued = (at: number) => became[at]?.outcome === 'queued';
  const queued = became.flatMap(({ changeId }, at) => (isQueued(at) ? [changeId] : []));
  const rows = withOutcomes(plan.rows, changes, became);
  const leftOut = [...plan.leftOut, ...notUndone(changes, became, isQueued)];
  const outcome = queued.length > 0 ? 'queued' : 'nothing';
  return { ...reportOf({ ...plan, rows, leftOut }, outcome), queued, conflicts };
}

/** The report of a plan of which nothing is queued: there is nothing to queue, a dry run, or the user answered no. */
export function reportOf(plan: Plan, outcome: PlanReport['outcome']): PlanReport {
  const text = outcome === 'dry_run' ? 'It was a dry run.' : 'The import was declined.';
  const isHeld = outcome === 'dry_run' || outcome === 'declined';
  const rows = plan.rows.map(
    (row): ImportRow => (isHeld && row.outcome === 'queued' ? { ...row, outcome: 'not_queued', text } : row),
  );
  const isIncomplete =
    plan.leftOut.length > 0 || (!plan.isRefused && rows.some((row) => row.outcome === 'conflict'));
  return {
    ...plan,
    rows,
    preview: { ...plan.preview, rows: countsOf(rows) },
    outcome: outcome === 'nothing' && plan.isRefused ? 'refused' : outcome,
    queued: [],
    conflicts: [],
    exitCode: isIncomplete ? 3 : 0,
  };
}

/** What is wrong in rows; the same problem of several rows once. */
function wrongRows(problems: readonly ImportProblem[]): LeftOut[] {
  const same = groupBy(problems, ({ column, value, problem }) => JSON.stringify([column, value, problem]));
  return [...same.values()].map((group): LeftOut => {
    const [{ column, value, problem, allowed }] = group;
    const numbers = firstOf(
      group.map(({ row }) => row),
      10,
    );
    const cell = value === null ? '' : ` "${value}"`;
    const choices = allowed ? ` (allowed: ${allowed.join(', ')})` : '';
    const what = `${group.length === 1 ? 'Row' : 'Rows'} ${numbers}`;
    return { what: column === null ? what : `${what}, ${column}${cell}`, why: `${problem}${choices}` };
  });
}
