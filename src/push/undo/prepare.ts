import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { UsageError } from '../../base/errors.js';
import { groupBy } from '../../base/group-by.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import type { Change } from '../change.js';
import { storedCounts } from '../context.js';
import { type AffectedCompanies, factsAbout, named } from '../entities.js';
import { storedEntitiesOf } from '../import/compare-with-warehouse.js';
import {
  type ChangeKind,
  type CostSettings,
  type PreviewChange,
  previewChanges,
  previewOf,
} from '../import/report.js';
import type { Queue } from '../queue/queue.js';
import { type KeptField, type NotUndone, planUndo, type Reversal } from './plan.js';

/** A change of a preview, and the changes that it undoes. */
interface UndoChange extends PreviewChange {
  readonly undoes: readonly string[];
}

/** The result of `changes undo`. */
export interface UndoReport {
  readonly importId: string;
  /** The person who asks; null when nobody was named. */
  readonly requestedBy: string | null;
  readonly outcome: 'queued' | 'nothing' | 'dry_run' | 'declined';
  /** The ids of the new changes. */
  readonly queued: readonly string[];
  /** What would change. */
  readonly changes: readonly UndoChange[];
  /** Fields that stay as they are, because no client can set what was there before. */
  readonly kept: readonly KeptField[];
  readonly notUndone: readonly (NotUndone & { readonly title: string | null })[];
  readonly preview: {
    readonly changes: number;
    readonly kinds: readonly ChangeKind[];
    readonly affected: AffectedCompanies | null;
    /** What a push of these changes costs. */
    readonly requests: { readonly writes: number; readonly reads: number; readonly total: number };
    readonly minutes: number;
  };
  readonly notes: readonly string[];
  /** 3 when a change could not be undone or only in part, otherwise 0; also when it is undone already. */
  readonly exitCode: 0 | 3;
}

/** What an undo would do; nothing is queued yet. */
export interface PreparedUndo extends Omit<UndoReport, 'outcome' | 'queued'> {
  readonly reversals: readonly Reversal[];
}

interface UndoParts {
  readonly store: Pick<Warehouse, 'all'>;
  readonly queue: Pick<Queue, 'all'>;
  readonly settings: CostSettings;
}

/**
 * Finds the changes that are named (each by its id, by its import or by its file) and plans their reverse. Writes
 * nothing. Throws a UsageError when a name fits nothing.
 */
export async function prepareUndo(
  { store, queue, settings }: UndoParts,
  names: readonly string[],
  requestedBy: string | null,
): Promise<PreparedUndo> {
  const all = queue.all();
  const { selected, notes } = select(all, names);
  const plan = planUndo(all, selected, await blockedReasons(store, selected));
  const shown = await previewChanges(
    store,
    plan.reversals.map((reversal) => ({ ...reversal, rows: [] })),
  );
  const changes = shown.changes.map(
    (change, at): UndoChange => ({ ...change, undoes: plan.reversals[at]?.undoes ?? [] }),
  );
  const hasTopics = changes.some(({ entityType }) => entityType === 'topic');
  const counts = await storedCounts(store);
  const previews = (['topic', 'company'] as const).map((type) => {
    const planned = plan.reversals.filter(({ entityType }) => entityType === type).map(asPlanned);
    return previewOf(type, planned, [], 0, null, counts[type], settings);
  });
  const total = (of: (one: (typeof previews)[number]) => number) =>
    previews.reduce((sum, one) => sum + of(one), 0);
  const facts = await factsAbout(store, plan.notUndone);
  const notUndone = plan.notUndone.map((one) => ({ ...one, title: facts(one).title }));
  const isPartial = plan.kept.length > 0 || plan.notUndone.some(({ kind }) => kind === 'blocked');
  return {
    ...{ importId: randomUUID(), requestedBy, changes, notes, reversals: plan.reversals },
    ...{ kept: plan.kept, notUndone, exitCode: isPartial ? 3 : 0 },
    preview: {
      changes: changes.length,
      kinds: previews.flatMap(({ kinds }) => kinds),
      affected: hasTopics ? shown.affected : null,
      requests: {
        writes: total(({ requests }) => requests.writes),
        reads: total(({ requests }) => requests.reads),
        total: total(({ requests }) => requests.total),
      },
      minutes: total(({ minutes }) => minutes),
    },
  };
}

function asPlanned({ wanted, base, baseAt }: Reversal) {
  return { wanted, base, baseAt, baseFrom: 'warehouse' } as const;
}

/** Queues the reverse changes as one import of their own, which can be undone like any other. */
export function enqueueUndo(queue: Pick<Queue, 'add'>, prepared: PreparedUndo): UndoReport {
  const { importId, requestedBy, reversals } = prepared;
  const added = queue.add(
    reversals.map((reversal) => ({
      ...reversal,
      ...{ importId, requestedBy, baseFrom: 'warehouse', sourceHash: null },
    })),
  );
  return {
    ...reportOf(prepared, added.length > 0 ? 'queued' : 'nothing'),
    queued: added.map(({ id }) => id),
  };
}

/** The report of an undo that queues nothing: a dry run, or the user answered no. */
export function reportOf(prepared: PreparedUndo, outcome: UndoReport['outcome']): UndoReport {
  const { reversals: _, ...report } = prepared;
  return { ...report, outcome, queued: [] };
}

function select(
  all: readonly Change[],
  names: readonly string[],
): { selected: readonly Change[]; notes: string[] } {
  const selected = new Map<string, Change>();
  const notes: string[] = [];
  const unknown: string[] = [];
  for (const name of names) {
    const byId = all.filter(({ id, importId }) => id === name || importId === name);
    const found = byId.length > 0 ? byId : lastImportOf(all, basename(name), notes);
    if (found.length === 0) unknown.push(name);
    for (const change of found) selected.set(change.id, change);
  }
  if (unknown.length > 0) {
    const problems = unknown.map((name) => ({
      setting: name,
      problem: 'no change and no import has this id, and no change comes from a file of this name',
    }));
    throw new UsageError('Cannot tell what to undo.', problems, {
      hint: 'signalhouse changes list shows every change with its id and its file.',
    });
  }
  return { selected: [...selected.values()], notes };
}

/** A file that was imported several times means its last import: what an earlier one did may be wanted. */
function lastImportOf(all: readonly Change[], source: string, notes: string[]): readonly Change[] {
  const imports = groupBy(
    all.filter((change) => change.source === source),
    ({ importId }) => importId,
  );
  const last = [...imports.keys()].at(-1);
  const earlier = [...imports].filter(([id]) => id !== last);
  if (earlier.length > 0) {
    const shown = earlier.slice(-3).map(([id, changes]) => `${id} of ${changes[0]?.queuedAt.slice(0, 10)}`);
    notes.push(
      `${source} was imported ${imports.size} times; this undoes the last import. To undo an earlier one, pass its id: ${shown.join(', ')}.`,
    );
  }
  return imports.get(last ?? '') ?? [];
}

async function blockedReasons(
  store: Pick<Warehouse, 'all'>,
  selected: readonly Change[],
): Promise<(change: Change) => string | null> {
  const storedOf = await storedEntitiesOf(store, selected);
  return (change) => {
    const { blockedReason = null, survivor = null } = storedOf(change) ?? {};
    const merged = survivor && `was merged into ${named(survivor.id, survivor.title)}`;
    return blockedReason && `the ${change.entityType} ${merged ?? blockedReason}`;
  };
}
