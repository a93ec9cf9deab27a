import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import {
  archivedReason,
  type Change,
  entityKey,
  type Field,
  groupOf,
  isOpen,
  kinds,
  shareGroup,
  type Value,
  type Values,
} from './change.js';
import { isSame } from './compare.js';
import { replacedValues } from './facts.js';
import { type ImportParts, type PreviewChange, previewOf, type Totals } from './import/preview.js';
import type { NewChange, Queue } from './queue.js';
import { storedEntitiesOf } from './stored.js';

/**
 * An undo is a change like any other: its base is what was applied, and it wants what was there before. Where something else is
 * there by now, comparing finds the conflict.
 */

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
  /** 3 when a change could not be undone or only in part, otherwise 0; also when it is undone already. */
  readonly exitCode: 0 | 3;
}

/** What an undo would do; nothing is queued yet. */
export interface PreparedUndo extends Omit<UndoReport, 'outcome' | 'queued'> {
  readonly newChanges: readonly NewChange[];
}

/**
 * Finds the changes that are named (each by its id, by its import, or by its file) and plans their reverse. Writes nothing.
 * Throws a UsageError when a name fits nothing, or several imports.
 */
export async function prepareUndo(
  { store, queue, settings }: ImportParts,
  names: readonly string[],
  { requestedBy, requestedReason = null, importId = randomUUID() }: UndoOptions,
): Promise<PreparedUndo> {
  const all = queue.all();
  const selected = select(all, names);
  const storedOf = await storedEntitiesOf(store, selected);
  const replaced = await replacedValues(store, selected);
  const plan = planUndo(all, selected, {
    blockedReason: (change) => {
      const { blockedReason = null, survivor = null, gone = null } = storedOf(change) ?? {};
      // Not that the survivor should be changed instead.
      return blockedReason && `the ${change.entityType} ${survivor ? gone : blockedReason}`;
    },
    previous: (change, name) => {
      const unseen = replaced(change).find(({ field }) => field === name);
      return unseen ? unseen.value : previousIn(change, name);
    },
  });
  const origin = { importId, requestedBy, requestedReason, sourceHash: null };
  const newChanges = plan.reversals.map((reversal) => ({ ...reversal, ...origin }));
  const hasTopics = newChanges.some(({ entityType }) => entityType === 'topic');
  const { changes: shown, totals } = await previewOf({ store, settings }, newChanges, storedOf, hasTopics);
  const notUndone = plan.notUndone.map((one) => ({ ...one, title: storedOf(one)?.title ?? null }));
  const isPartial = plan.kept.length > 0 || notUndone.some(({ kind }) => kind === 'blocked');
  return {
    importId,
    requestedBy,
    requestedReason,
    changes: shown.map((change, at) => ({ ...change, undoes: newChanges[at]?.undoes ?? [] })),
    newChanges,
    kept: plan.kept,
    notUndone,
    preview: totals,
    exitCode: isPartial ? 3 : 0,
  };
}

/** Queues the reverse changes as one import of their own, which can be undone like any other. */
export function enqueueUndo(queue: Pick<Queue, 'add' | 'all'>, prepared: PreparedUndo): UndoReport {
  // After a kill, it is confirmed again.
  const done = new Set(
    queue.all().flatMap((one) => (one.importId === prepared.importId ? [entityKey(one)] : [])),
  );
  const added = queue.add(prepared.newChanges.filter((one) => !done.has(entityKey(one))));
  const report = undoReportOf(prepared, added.length > 0 ? 'queued' : 'nothing');
  return { ...report, queued: added.map(({ id }) => id) };
}

/** The report of an undo that queues nothing: a dry run, or the user answered no. */
export function undoReportOf(prepared: PreparedUndo, outcome: UndoReport['outcome']): UndoReport {
  const { newChanges: _, ...report } = prepared;
  return { ...report, outcome, queued: [] };
}

function select(all: readonly Change[], names: readonly string[]): Change[] {
  const problems: { setting: string; problem: string }[] = [];
  const selected = names.flatMap((name) => {
    const byId = all.filter(({ id, importId }) => id === name || importId === name);
    const found = byId.length > 0 ? byId : changesOfFile(all, name);
    if (typeof found !== 'string') return found;
    problems.push({ setting: name, problem: found });
    return [];
  });
  if (problems.length === 0) return [...new Set(selected)];
  throw new UsageError('Cannot tell what to undo.', problems, {
    hint: 'signalhouse changes list shows every change with its id and its file.',
  });
}

/** The changes of a file, by its bytes; by its name where the file is not there, and one import alone has it. Otherwise why none. */
function changesOfFile(all: readonly Change[], path: string): Change[] | string {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const hash = isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : null;
  const same = all.filter(({ sourceHash }) => hash !== null && sourceHash === hash);
  if (same.length > 0) return same;
  const named = groupBy(
    all.filter(({ source, undoes }) => source === basename(path) && undoes.length === 0),
    ({ importId }) => importId,
  );
  const [only] = named.values();
  if (only && named.size === 1 && !isFile) return only;
  const imports = [...named].slice(-5).map(([id, [change]]) => {
    const by = change.requestedBy === null ? '' : ` by ${change.requestedBy}`;
    return `${id} of ${change.queuedAt.slice(0, 16).replace('T', ' ')}${by}`;
  });
  if (imports.length === 0)
    return 'no change and no import has this id, and no change comes from such a file';
  const why = isFile ? 'no import had this content' : 'several imports had a file of this name';
  return `${why}: pass the id of the import that you mean (${imports.join('; ')})`;
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
type Reversal = Omit<NewChange, 'importId' | 'requestedBy' | 'requestedReason' | 'sourceHash'>;

interface Known {
  /** Why an entity cannot be changed any more; null when it can. */
  blockedReason(change: Change): string | null;
  /** What the API had in a field before a change; undefined when that is not known. */
  previous(change: Change, name: string): Value | undefined;
}

/** Plans the reverse of the selected changes. Those of one entity that share fields are undone together. */
export function planUndo(all: readonly Change[], selected: readonly Change[], known: Known) {
  const undos = undosOf(all);
  const notUndone: NotUndone[] = [];
  const refuse = ({ id, entityType, entityId, status }: Change, kind: NotUndone['kind'], reason: string) =>
    notUndone.push({ id, entityType, entityId, status, kind, reason });
  const ofEntity = groupBy(all, entityKey);
  const together = new Set(selected);
  const possible = selected.filter((change) => {
    const others = (ofEntity.get(entityKey(change)) ?? []).filter(
      (one) => one.id !== change.id && !together.has(one) && shareGroup(one.wanted, change.wanted),
    );
    const refusal = refusalOf(change, undos(change.id), known) ?? obstacleOf(change, others, undos);
    if (refusal) refuse(change, refusal.kind, refusal.reason);
    return refusal === null;
  });
  const reversals: Reversal[] = [];
  const kept: KeptField[] = [];
  for (const undone of groupBy(possible, entityKey).values()) {
    const applied = [...undone].sort(byApplication);
    const [first] = applied as [Change];
    const last = applied.at(-1) as Change;
    const reverse = reverseOf(applied, known);
    const ids = applied.map(({ id }) => id);
    if (Object.keys(reverse.wanted).length > 0) {
      kept.push(...reverse.kept.map((one) => ({ ids, ...one })));
      const { entityType, entityId, sourceRow, settledAt: baseAt } = last;
      const { wanted, base } = reverse;
      const source = sourceOf(first.source);
      reversals.push({
        entityType,
        entityId,
        wanted,
        base,
        baseFrom: 'warehouse',
        baseAt,
        source,
        sourceRow,
        undoes: ids,
      });
      continue;
    }
    const reasons = reverse.kept.map(({ field, reason }) => `${field} ${reason}`).join('; ');
    for (const change of applied)
      refuse(change, reasons === '' ? 'nothing' : 'blocked', reasons || 'it changed nothing in the API');
  }
  return { reversals, kept, notUndone };
}

/** The latest undo of each change that is undone: the id of the one that is applied. */
export function undoneBy(all: readonly Change[]): (id: string) => string | null {
  const undos = undosOf(all);
  return (id) => undos(id).find(isDone)?.id ?? null;
}

/** The undos of a change that are open, or done and not undone themselves; the latest first. */
function undosOf(all: readonly Change[]): (id: string) => Change[] {
  const undos = groupBy(
    all.flatMap((change) => change.undoes.map((undone) => ({ undone, change }))),
    ({ undone }) => undone,
  );
  const inEffect = (id: string): Change[] =>
    (undos.get(id) ?? [])
      .map(({ change }) => change)
      .filter((undo) => isOpen(undo) || (isDone(undo) && !inEffect(undo.id).some(isDone)))
      .reverse();
  return inEffect;
}

/** Whether the API has the values of an undo. */
function isDone({ status }: Change): boolean {
  return status === 'applied' || status === 'unchanged';
}

function refusalOf(
  change: Change,
  [undo]: readonly Change[],
  known: Known,
): Pick<NotUndone, 'kind' | 'reason'> | null {
  const { entityType, status, firstSentAt } = change;
  if (entityType === 'person') return { kind: 'blocked', reason: 'merging people cannot be undone' };
  if (status === 'queued')
    return { kind: 'blocked', reason: 'it is still queued: use signalhouse changes cancel' };
  if (status === 'sending') {
    const reason = 'its request may have been sent: run signalhouse push to settle it, then undo it';
    return { kind: 'blocked', reason };
  }
  if (status !== 'applied' && firstSentAt !== null && (status === 'failed' || status === 'conflict')) {
    const reason = `it ended as ${status} after it was sent: its error says what the API has; set that back in a new sheet`;
    return { kind: 'blocked', reason };
  }
  if (status !== 'applied') {
    const why = status === 'unchanged' ? 'the API already had its values' : `it was not applied (${status})`;
    return { kind: 'nothing', reason: `${why}: there is nothing to undo` };
  }
  if (undo) {
    const next = isOpen(undo) ? `its undo ${undo.id} is ${undo.status}: signalhouse push sends it` : null;
    return { kind: 'undone', reason: next ?? `it is undone already (change ${undo.id})` };
  }
  const blocked = known.blockedReason(change);
  return blocked === null ? null : { kind: 'blocked', reason: blocked };
}

/** Another change of the same fields that would be taken back as well, or has to be settled first; null when there is none. */
function obstacleOf(
  change: Change,
  others: readonly Change[],
  undos: (id: string) => readonly Change[],
): Pick<NotUndone, 'kind' | 'reason'> | null {
  const open = others.find(isOpen);
  if (open) {
    const next = open.status === 'queued' ? 'cancel it, or push it' : 'push it';
    return {
      kind: 'blocked',
      reason: `change ${open.id} of the same field is ${open.status}: ${next} first`,
    };
  }
  const later = others.find(
    (one) =>
      one.status === 'applied' &&
      one.undoes.length === 0 &&
      byApplication(change, one) < 0 &&
      !undos(one.id).some(isDone),
  );
  if (!later) return null;
  const reason = `change ${later.id} set the same field later: undo that one first, or both together`;
  return { kind: 'blocked', reason };
}

/** In the order in which the API applied them. */
function byApplication(one: Change, other: Change): number {
  const [a, b] = [`${one.settledAt} ${one.id}`, `${other.settledAt} ${other.id}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What the API had before a change, as far as it was read. */
export function previousIn({ remoteBefore, base }: Change, name: string): Value | undefined {
  return remoteBefore !== null && name in remoteBefore ? remoteBefore[name] : base[name];
}

interface Reverse {
  readonly wanted: Values;
  readonly base: Values;
  readonly kept: readonly Omit<KeptField, 'ids'>[];
}

/** The reverse of changes of one entity that were applied one after the other. */
function reverseOf(changes: readonly Change[], known: Known): Reverse {
  const entityType = changes[0]?.entityType ?? 'topic';
  const after: Record<string, Value> = {};
  for (const { wanted } of changes) {
    Object.assign(after, wanted);
    if (wanted.archived === false) after[archivedReason] = null;
  }
  const before = (name: string): Value | undefined => {
    const first = changes.find(({ wanted }) => shareGroup(wanted, { [name]: null }));
    return first && known.previous(first, name);
  };
  const wanted: Record<string, Value> = {};
  const base: Record<string, Value> = {};
  const kept: Omit<KeptField, 'ids'>[] = [];
  for (const field of kinds[entityType].fields) {
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
