import { minutesFor } from '../../api/budget.js';
import { usualPageSize } from '../../api/page.js';
import { groupBy } from '../../base/group-by.js';
import { valueText } from '../../base/units.js';
import type { Settings } from '../../config/schema.js';
import { type Change, type EntityType, entityTypes, kinds, type Value } from '../change.js';
import { storedCounts } from '../context.js';
import { type AffectedCompanies, affectedCompanies } from '../facts.js';
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

/** How often one value changes to another; from and to are null for free text. */
export interface ChangeKind {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly count: number;
}

/** A change as the preview shows it. */
export interface PreviewChange extends Pick<Change, 'entityType' | 'entityId' | 'wanted' | 'base'> {
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  readonly rows: readonly number[];
  /** The companies that a topic affects; null for a company. */
  readonly affected: AffectedCompanies | null;
  /** What happened to the topic or company since then: archived, superseded, merged. */
  readonly note: string | null;
}

export interface Preview {
  readonly rows: Readonly<Record<RowOutcome, number>>;
  /** The number of changes: the rows about one topic or company make one. */
  readonly changes: number;
  readonly kinds: readonly ChangeKind[];
  /** The companies that all changed topics together affect; null when companies are changed. */
  readonly affected: AffectedCompanies | null;
  readonly superseded: number;
  /** What a push of these changes costs. */
  readonly requests: { readonly writes: number; readonly reads: number; readonly total: number };
  readonly minutes: number;
  /** Where the base values come from; `oldest` is when the oldest of the warehouse's values was synced. */
  readonly base: { readonly file: number; readonly warehouse: number; readonly oldest: string | null };
}

export interface ImportReport extends Origin, Pick<Change, 'entityType'> {
  /** `refused`: rows are wrong, so nothing was queued. `declined`: the user answered no. */
  readonly outcome: 'queued' | 'nothing_new' | 'refused' | 'dry_run' | 'declined';
  /** Why nothing of the file may be queued, whichever rows are skipped; null when that is not so. */
  readonly refusal: string | null;
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
export type Totals = Pick<Preview, 'changes' | 'kinds' | 'affected' | 'requests' | 'minutes'>;

/**
 * Changes as a preview shows them (with titles, with the companies that they affect, and with what happened), and what a
 * push of all of them does and costs. `hasTopics` says whether topics are changed, however many.
 */
export async function previewOf(
  { store, settings }: Pick<ImportParts, 'store' | 'settings'>,
  planned: readonly PlannedChange[],
  storedOf: StoredOf,
  hasTopics: boolean,
): Promise<{ readonly changes: PreviewChange[]; readonly totals: Totals }> {
  const ofType = (type: EntityType) => planned.filter(({ entityType }) => entityType === type);
  const affected = await affectedCompanies(
    store,
    ofType('topic').map(({ entityId }) => entityId),
  );
  const changes = planned.map(({ entityType, entityId, rows = [], wanted, base }): PreviewChange => {
    const entity = storedOf({ entityType, entityId });
    return {
      entityType,
      entityId,
      title: entity?.title ?? null,
      rows,
      wanted,
      base,
      affected: entityType === 'topic' ? affected.of(entityId) : null,
      note: noteFor(entity, wanted),
    };
  });
  const stored = await storedCounts(store);
  const costs = entityTypes.map((type) => costOf(type, ofType(type), type === 'person' ? 0 : stored[type]));
  const sumOf = (part: 'writes' | 'reads') => costs.reduce((sum, cost) => sum + cost[part], 0);
  const [writes, reads] = [sumOf('writes'), sumOf('reads')];
  const requests = { writes, reads, total: writes + reads };
  const totals = {
    changes: planned.length,
    kinds: entityTypes.flatMap((type) => kindsOf(type, ofType(type))),
    affected: hasTopics ? affected.total : null,
    requests,
    minutes: minutesFor(requests.total, settings),
  };
  return { changes, totals };
}

/** A write for each, and a read before it: by itself, or of the list's pages where those are fewer and have the fields. */
function costOf(entityType: EntityType, planned: readonly PlannedChange[], stored: number) {
  const { listed } = kinds[entityType];
  const byList = planned.filter(({ wanted }) => Object.keys(wanted).every((name) => listed.includes(name)));
  const pages = Math.max(1, Math.ceil(stored / usualPageSize));
  return { writes: planned.length, reads: planned.length - byList.length + Math.min(byList.length, pages) };
}

/** In the order of the fields, and of each field what occurs most often first. */
function kindsOf(entityType: EntityType, planned: readonly PlannedChange[]): ChangeKind[] {
  return kinds[entityType].fields.flatMap(({ name: field, kind, allowed }) => {
    const isCounted = kind === 'boolean' || allowed !== undefined;
    const textOf = (value: Value | undefined) => (isCounted ? valueText(value) : null);
    const values = planned.filter(({ wanted }) => wanted[field] !== undefined);
    const changes = values.map(({ base, wanted }) => ({
      from: textOf(base[field]),
      to: textOf(wanted[field]),
    }));
    const kinds = groupBy(changes, ({ from, to }) => JSON.stringify([from, to]));
    return [...kinds.values()]
      .map((same) => ({ field, ...same[0], count: same.length }))
      .sort((a, b) => b.count - a.count);
  });
}
