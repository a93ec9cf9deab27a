import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { valueText } from '../base/units.js';
import {
  archivedReason,
  type Change,
  entityKey,
  type Field,
  fieldsOf,
  groupOf,
  isOpen,
  shareGroup,
  type Value,
  type Values,
} from './change.js';
import { isSame, unlike } from './compare.js';
import { type ImportParts, type PreviewChange, previewOf, type Totals } from './import/preview.js';
import type { NewChange, Queue } from './queue.js';
import { storedEntitiesOf } from './stored.js';

export interface UndoOptions {
  /** The person who asks; null when nobody was named. */
  readonly requestedBy: string | null;
  /** Why. */
  readonly requestedReason?: string | null | undefined;
  /** By default a new one. */
  readonly importId?: string | undefined;
}

export interface UndoReport extends Pick<Change, 'importId' | 'requestedBy' | 'requestedReason'> {
  readonly outcome: 'queued' | 'nothing' | 'dry_run' | 'declined';
  readonly queued: readonly string[];
  /** What would change, and the changes that it undoes. */
  readonly changes: readonly (PreviewChange & { readonly undoes: readonly string[] })[];
  /** Fields that stay as they are, because no client can set what was there before. */
  readonly kept: readonly KeptField[];
  readonly notUndone: readonly (NotUndone & { readonly title: string | null })[];
  readonly preview: Totals;
  readonly notes: readonly string[];
  /** 3 when a change could not be undone or only in part, otherwise 0; also when it is undone already. */
  readonly exitCode: 0 | 3;
}

/** What an undo would do; nothing is queued yet. */
export interface PreparedUndo extends Omit<UndoReport, 'outcome' | 'queued'> {
  readonly newChanges: readonly Reversal[];
}

/**
 * Finds the changes that are named (each by its id, by its import or by its file) and plans their reverse. Writes
 * nothing. Throws a UsageError when a name fits nothing.
 */
export async function prepareUndo(
  { store, queue, settings }: ImportParts,
  names: readonly string[],
  { requestedBy, requestedReason = null, importId = randomUUID() }: UndoOptions,
): Promise<PreparedUndo> {
  const all = queue.all();
  const { selected, notes } = select(all, names);
  const storedOf = await storedEntitiesOf(store, selected);
  const plan = planUndo(all, selected, (change) => {
    const { blockedReason = null, survivor = null, gone = null } = storedOf(change) ?? {};
    // Not that the survivor should be changed instead.
    return blockedReason && `the ${change.entityType} ${survivor ? gone : blockedReason}`;
  });
  const { newChanges, kept } = plan;
  const hasTopics = newChanges.some(({ entityType }) => entityType === 'topic');
  const { changes: shown, totals } = await previewOf({ store, settings }, newChanges, storedOf, hasTopics);
  const changes = shown.map((change, at) => ({ ...change, undoes: newChanges[at]?.undoes ?? [] }));
  const notUndone = plan.notUndone.map((one) => ({ ...one, title: storedOf(one)?.title ?? null }));
  const isPartial = kept.length > 0 || notUndone.some(({ kind }) => kind === 'blocked');
  return {
    ...{ importId, requestedBy, requestedReason, changes, notes, newChanges, kept, notUndone },
    ...{ exitCode: isPartial ? 3 : 0, preview: totals },
  };
}

/** Queues the reverse changes as one import of their own, which can be undone like any other. */
export function enqueueUndo(queue: Pick<Queue, 'add'>, prepared: PreparedUndo): UndoReport {
  const { importId, requestedBy, requestedReason, newChanges } = prepared;
  const origin = { importId, requestedBy, requestedReason, sourceHash: null };
  const added = queue.add(newChanges.map((reversal) => ({ ...reversal, ...origin })));
  const report = reportOf(prepared, added.length > 0 ? 'queued' : 'nothing');
  return { ...report, queued: added.map(({ id }) => id) };
}

/** The report of an undo that queues nothing: a dry run, or the user answered no. */
export function reportOf(prepared: PreparedUndo, outcome: UndoReport['outcome']): UndoReport {
  const { newChanges: _, ...report } = prepared;
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

interface NotUndone extends Pick<Change, 'id' | 'entityType' | 'entityId' | 'status'> {
  /** `nothing`: it changed nothing in the API. `blocked`: something must happen first, or it cannot be undone at all. */
  readonly kind: 'undone' | 'nothing' | 'blocked';
  readonly reason: string;
}

/** A field that stays as it is although the rest of its change is undone, because no client can set what was there. */
interface KeptField {
  readonly ids: readonly string[];
  readonly field: string;
  readonly reason: string;
}

/** What an undo queues; the caller adds who wants it and when. */
type Reversal = Omit<NewChange, 'importId' | 'requestedBy' | 'requestedReason' | 'sourceHash'> &
  Pick<Change, 'undoes'>;

interface UndoPlan {
  readonly newChanges: readonly Reversal[];
  readonly kept: readonly KeptField[];
  readonly notUndone: readonly NotUndone[];
}

/**
 * Plans the reverse of the selected changes: `base` is what they applied, `wanted` what the API had before. A push
 * compares and delivers a reversal like any other change. An undo that was undone again (a redo) stands for the change
 * itself. `blockedReason` says why a topic or company cannot be changed any more; null when it can.
 */
export function planUndo(
  all: readonly Change[],
  selected: readonly Change[],
  blockedReason: (change: Change) => string | null,
): UndoPlan {
  const history = new History(all);
  const notUndone: NotUndone[] = [];
  const refuse = (change: Change, kind: NotUndone['kind'], reason: string) => {
    const { id, entityType, entityId, status } = change;
    notUndone.push({ id, entityType, entityId, status, kind, reason });
  };
  const candidates = new Map<string, Change>();
  for (const change of selected) {
    const found = history.inEffect(change);
    if ('reason' in found) refuse(change, found.kind, found.reason);
    else candidates.set(found.id, found);
  }
  const newChanges: Reversal[] = [];
  const kept: KeptField[] = [];
  for (const ofEntity of groupBy(candidates.values(), entityKey).values()) {
    const open = new Set(ofEntity);
    // A change that cannot be undone may be what another one would have to wait for.
    for (let isSettled = false; !isSettled; ) {
      isSettled = true;
      for (const change of [...open]) {
        const reason = blockedReason(change) ?? history.obstacle(change, open);
        if (reason === null) continue;
        refuse(change, 'blocked', reason);
        open.delete(change);
        isSettled = false;
      }
    }
    for (const together of connected([...open].sort(byApplication))) {
      const reverse = reverseOf(together);
      const [first] = together as [Change];
      const last = together.at(-1) as Change;
      const ids = together.map(({ id }) => id);
      if (Object.keys(reverse.wanted).length === 0) {
        const reasons = reverse.kept.map(({ field, reason }) => `${field} ${reason}`).join('; ');
        for (const change of together)
          refuse(change, reasons === '' ? 'nothing' : 'blocked', reasons || 'it changed nothing in the API');
        continue;
      }
      kept.push(...reverse.kept.map((one) => ({ ids, ...one })));
      const { entityType, entityId, sourceRow } = last;
      newChanges.push({
        ...{ entityType, entityId, wanted: reverse.wanted, base: reverse.base },
        ...{ baseFrom: 'warehouse', baseAt: last.settledAt },
        ...{ source: sourceOf(first.source), sourceRow, undoes: ids },
      });
    }
  }
  return { newChanges, kept, notUndone };
}

/** The latest undo of each change that is undone: the id of the one that is applied. */
export function undoneBy(all: readonly Change[]): (id: string) => string | null {
  const history = new History(all);
  return (id) => history.undoOf(id)?.id ?? null;
}

/** What became of changes: which are undone, and which came after which. */
class History {
  readonly #undos: ReadonlyMap<string, readonly Change[]>;
  readonly #byEntity: ReadonlyMap<string, readonly Change[]>;

  constructor(all: readonly Change[]) {
    const pairs = all.flatMap((change) => change.undoes.map((undone) => ({ undone, change })));
    const grouped = groupBy(pairs, ({ undone }) => undone);
    this.#undos = new Map([...grouped].map(([id, found]) => [id, found.map(({ change }) => change)]));
    this.#byEntity = groupBy(all, entityKey);
  }

  /** The applied change that undid this one and is not undone itself. */
  undoOf(id: string): Change | undefined {
    return this.#undos.get(id)?.findLast((undo) => isDone(undo) && this.undoOf(undo.id) === undefined);
  }

  /** The change whose values are in effect for a selected one: itself, or its redo. Otherwise why there is none. */
  inEffect(change: Change): Change | Pick<NotUndone, 'kind' | 'reason'> {
    const refusal = refusalOf(change);
    if (refusal) return refusal;
    const undo = this.#undos.get(change.id)?.findLast(({ status }) => !isDropped(status));
    if (!undo) return change;
    const { id, status } = undo;
    if (isOpen(undo))
      return { kind: 'undone', reason: `its undo ${id} is ${status}: signalhouse push sends it` };
    if (!isDone(undo)) {
      const next = `signalhouse changes retry ${id}${status === 'conflict' ? ' --overwrite' : ''}`;
      return { kind: 'blocked', reason: `its undo ${id} is ${status}: run ${next}, or cancel it` };
    }
    const again = this.#undos.get(id)?.findLast((one) => !isDropped(one.status));
    if (!again || again.status === 'conflict' || again.status === 'failed')
      return { kind: 'undone', reason: `it is undone already (change ${id})` };
    return this.inEffect(again);
  }

  /** Why a change cannot be undone now: another change of the same fields, which is not undone with it. */
  obstacle(change: Change, together: ReadonlySet<Change>): string | null {
    const others = (this.#byEntity.get(entityKey(change)) ?? []).filter(
      (one) => one.id !== change.id && shareGroup(one.wanted, change.wanted),
    );
    const open = others.find(isOpen);
    if (open) {
      const next = open.status === 'queued' ? 'cancel it, or push it' : 'push it';
      return `change ${open.id} of the same field is ${open.status}: ${next} first`;
    }
    const later = others.filter(
      (one) =>
        one.status === 'applied' && byApplication(change, one) < 0 && this.undoOf(one.id) === undefined,
    );
    // An undo that put the value of this change back decides nothing; another change to the same value is a later decision.
    const isPutBack = (one: Change) =>
      one.undoes.length > 0 && agrees(one, change, (name) => one.wanted[name]);
    const stranger = later.find((one) => !together.has(one) && !isPutBack(one));
    if (stranger)
      return `change ${stranger.id} set the same field later: undo that one first, or both together`;
    const [next] = later.filter((one) => together.has(one)).sort(byApplication);
    // The later change has to find in the API what the earlier one had set.
    if (next && !agrees(next, change, (name) => previous(next, name))) {
      return `somebody else changed the same field between it and change ${next.id}: undo ${next.id} alone`;
    }
    return null;
  }
}

function refusalOf(change: Change): Pick<NotUndone, 'kind' | 'reason'> | null {
  const { status, base } = change;
  if (status === 'applied') return null;
  if (status === 'queued')
    return { kind: 'blocked', reason: 'it is still queued: use signalhouse changes cancel' };
  if (status === 'sending') {
    const reason = 'its request may have been sent: run signalhouse push to settle it, then undo it';
    return { kind: 'blocked', reason };
  }
  const part = madePart(change).map((name) => `${name}, which was ${valueText(base[name])}`);
  if (part.length > 0) {
    const reason = `it ended as ${status}, and the API has a part of it (${part.join('; ')}): set that back in a new sheet`;
    return { kind: 'blocked', reason };
  }
  const why = status === 'unchanged' ? 'the API already had its values' : `it was not applied (${status})`;
  return { kind: 'nothing', reason: `${why}: there is nothing to undo` };
}

/** The fields that a read after the request showed as wanted, of a change that ended otherwise for the others. */
function madePart({ status, wanted, base, remoteBefore, remoteAfter, firstSentAt }: Change): string[] {
  // A conflict stores what was read then in the place of what was there before.
  const [before, after] = status === 'conflict' ? [base, remoteBefore] : [remoteBefore, remoteAfter];
  if (firstSentAt === null || before === null || after === null) return [];
  return unlike(before, wanted).filter((name) => name in wanted && isSame(after[name], wanted[name]));
}

/** Whether the API has the values of an undo. */
function isDone({ status }: Change): boolean {
  return status === 'applied' || status === 'unchanged';
}

/** An undo that never happens: the change can be undone again. */
function isDropped(status: Change['status']): boolean {
  return status === 'cancelled' || status === 'superseded';
}

/** In the order in which the API applied them. */
function byApplication(one: Change, other: Change): number {
  const [a, b] = [`${one.settledAt} ${one.id}`, `${other.settledAt} ${other.id}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether the values in the fields that both changes set, as `found` gives them in the later one, are those of the earlier. */
function agrees(later: Change, earlier: Change, found: (name: string) => Value | undefined): boolean {
  return Object.keys(later.wanted).every(
    (name) => !(name in earlier.wanted) || isSame(found(name), earlier.wanted[name]),
  );
}

/** Changes of one entity in sets that share fields, each in the order in which they were applied. */
function connected(changes: readonly Change[]): Change[][] {
  let sets: Change[][] = [];
  for (const change of changes) {
    const isTouching = (set: readonly Change[]) => set.some((one) => shareGroup(one.wanted, change.wanted));
    const touching = [...sets.filter(isTouching).flat(), change];
    sets = [...sets.filter((set) => !isTouching(set)), touching.sort(byApplication)];
  }
  return sets;
}

/** What the API had before a change; undefined when that is not known. */
function previous({ remoteBefore, base }: Change, name: string): Value | undefined {
  return remoteBefore !== null && name in remoteBefore ? remoteBefore[name] : base[name];
}

interface Reverse {
  readonly wanted: Values;
  readonly base: Values;
  readonly kept: readonly Omit<KeptField, 'ids'>[];
}

/** The reverse of changes of one entity that were applied one after the other. */
function reverseOf(changes: readonly Change[]): Reverse {
  const entityType = changes[0]?.entityType ?? 'topic';
  const after: Record<string, Value> = {};
  for (const { wanted } of changes) {
    Object.assign(after, wanted);
    if (wanted.archived === false) after[archivedReason] = null;
  }
  const before = (name: string): Value | undefined => {
    const first = changes.find(({ wanted }) => shareGroup(wanted, { [name]: null }));
    return first && previous(first, name);
  };
  const wanted: Record<string, Value> = {};
  const base: Record<string, Value> = {};
  const kept: Omit<KeptField, 'ids'>[] = [];
  for (const field of fieldsOf[entityType]) {
    const { name } = field;
    const [now, then] = [after[name], before(name)];
    if (now === undefined || groupOf(name) === 'archived' || isSame(now, then)) continue;
    const reason = unsettableReason(then, field);
    if (reason !== null) kept.push({ field: name, reason });
    else {
      wanted[name] = then as Value;
      base[name] = now;
    }
  }
  const archiving = reverseOfArchiving(after, before);
  Object.assign(wanted, archiving.wanted);
  Object.assign(base, archiving.base);
  return { wanted, base, kept: [...kept, ...archiving.kept] };
}

const cannotClear = 'stays: it had no value before, and the API has no documented way to clear it';

/** Why a client cannot set the value that was there before. */
function unsettableReason(value: Value | undefined, { allowed }: Field): string | null {
  if (value === undefined) return 'stays: what it was before is not known';
  if (value === null || value === '') return cannotClear;
  return allowed && !allowed.includes(String(value))
    ? `stays: it was ${value} before, which can only be set by the service`
    : null;
}

/** `archived` and its reason are one decision: the API takes a reason only with an archiving, and drops it after it. */
function reverseOfArchiving(after: Values, before: (name: string) => Value | undefined): Reverse {
  const nothing: Reverse = { wanted: {}, base: {}, kept: [] };
  const reason = after[archivedReason];
  if (after.archived === undefined && reason === undefined) return nothing;
  const isArchived = after.archived ?? true;
  // Only an archived topic can get another reason. One that the API never showed as archived was not, when it was archived.
  const assumed = after.archived === undefined ? true : after.archived === true ? false : undefined;
  const wasArchived = before('archived') ?? assumed;
  if (wasArchived === undefined) {
    const why = 'stays: whether the topic was archived before is not known';
    return { ...nothing, kept: [{ field: 'archived', reason: why }] };
  }
  if (wasArchived === false)
    return isArchived === true
      ? { ...nothing, wanted: { archived: false }, base: { archived: true } }
      : nothing;
  const old = before(archivedReason);
  const hadReason = old !== undefined && old !== null && old !== '';
  if (isArchived === true) {
    if (reason === undefined || isSame(reason, old)) return nothing;
    if (!hadReason) return { ...nothing, kept: [{ field: archivedReason, reason: cannotClear }] };
  }
  return {
    wanted: { archived: true, ...(hadReason && { [archivedReason]: old }) },
    base: { archived: isArchived, ...(hadReason && { [archivedReason]: reason ?? null }) },
    kept: [],
  };
}

/** Where a reversal comes from: the undo of an undo is a redo. */
function sourceOf(source: string): string {
  return source.startsWith('undo of ')
    ? source.replace(/^undo/, 'redo')
    : `undo of ${source.replace(/^redo of /, '')}`;
}
