import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { type Change, entityKey, isOpen } from './change.js';
import { isSame } from './compare.js';
import { replacedValues } from './facts.js';
import {
  archivedReason,
  type Field,
  inGroupsOf,
  kinds,
  shareGroup,
  type Value,
  type Values,
} from './fields.js';
import { type LeftOut, type Plan, type PlanParts, planOf, type Wish } from './plan.js';
import { storedEntitiesOf } from './stored.js';

/**
 * An undo is a change like any other: its base is what was applied, and it wants what was there before. Where something else is
 * there by now, comparing finds the conflict.
 */

export interface UndoOptions {
  /** The person who asks; null when no person was named. */
  readonly requestedBy: string | null;
  /** Why. */
  readonly requestedReason?: string | undefined;
}

/**
 * Finds the changes that are named (each by its id, by its import, or by its file) and plans their reverse. Writes nothing.
 * Throws a UsageError when a name fits nothing, or several imports.
 */
export async function prepareUndo(
  { store, queue, settings }: PlanParts,
  names: readonly string[],
  { requestedBy, requestedReason }: UndoOptions,
): Promise<Plan> {
  const all = queue.all();
  const selected = select(all, names);
  const storedOf = await storedEntitiesOf(store, selected);
  const replacedOf = await replacedValues(store, selected);
  const importId = randomUUID();
  const undos = undosOf(all);
  const notes: string[] = [];
  const leftOut: LeftOut[] = [];
  const titleOf = (change: Change) => storedOf(change)?.title ?? change.entityId;
  const possible = selected.filter((change) => {
    const what = `${titleOf(change)} (${change.id})`;
    const nothing = nothingToUndo(change, undos(change.id));
    if (nothing !== null) notes.push(`${what}: ${nothing}.`);
    const why = nothing === null ? refusalOf(change, storedOf(change)?.blockedReason ?? null) : null;
    if (why !== null) leftOut.push({ what, why });
    return nothing === null && why === null;
  });
  const before = (change: Change, name: string): Value | undefined => {
    const unseen = replacedOf(change).find(({ field }) => field === name);
    return unseen ? unseen.value : previousIn(change, name);
  };
  const wishes = [...groupBy(possible, entityKey).values()].flatMap((undone): Wish[] => {
    const applied = [...undone].sort(byApplication);
    const [first] = applied as [Change, ...Change[]];
    const last = applied.at(-1) as Change;
    const { wanted, base, kept } = reverseOf(applied, before);
    const what = `${titleOf(first)} (${applied.map(({ id }) => id).join(', ')})`;
    leftOut.push(...kept.map((why) => ({ what, why })));
    if (Object.keys(wanted).length === 0) {
      if (kept.length === 0) notes.push(`${what}: it changed nothing in the API.`);
      return [];
    }
    const { entityType, entityId } = first;
    return [
      {
        entityType,
        entityId,
        wanted,
        base,
        baseFrom: 'warehouse',
        baseAt: last.settledAt,
        source: `undo of ${first.source.replace(/^undo of /, '')}`,
        sourceHash: null,
        sourceRow: last.sourceRow,
        importId,
        requestedBy,
        requestedReason: requestedReason ?? null,
        undoes: applied.map(({ id }) => id),
        title: storedOf(first)?.title ?? null,
        rows: [],
      },
    ];
  });
  const plan = {
    kind: 'undo',
    isRefused: false,
    importId,
    source: names.join(', '),
    sourceHash: null,
    requestedBy,
    requestedReason: requestedReason ?? null,
    wishes,
    rows: [],
    problems: [],
    leftOut,
    notes,
  } as const;
  return planOf(plan, all, settings);
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

/**
 * The changes of a file, by its bytes, where one person imported them; by its name where the file is not there, and one import
 * alone has it. Otherwise why none.
 */
function changesOfFile(all: readonly Change[], path: string): Change[] | string {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const hash = isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : null;
  const same = all.filter(({ sourceHash }) => hash !== null && sourceHash === hash);
  if (new Set(same.map(({ requestedBy }) => requestedBy)).size === 1) return same;
  const ofName = all.filter(({ source, undoes }) => source === basename(path) && undoes.length === 0);
  const found = groupBy(same.length > 0 ? same : ofName, ({ importId }) => importId);
  const [only] = found.values();
  if (only && found.size === 1 && !isFile) return only;
  const imports = [...found].slice(-5).map(([id, [change]]) => {
    const by = change.requestedBy === null ? '' : ` by ${change.requestedBy}`;
    return `${id} of ${change.queuedAt.slice(0, 16).replace('T', ' ')}${by}`;
  });
  if (imports.length === 0)
    return 'no change and no import has this id, and no change comes from such a file';
  const why =
    same.length > 0
      ? 'several people imported this content'
      : isFile
        ? 'no import had this content'
        : 'several imports had a file of this name';
  return `${why}: pass the id of the import that you mean (${imports.join('; ')})`;
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

/** Why a change leaves nothing to undo; null when it may. */
function nothingToUndo({ status, firstSentAt }: Change, [undo]: readonly Change[]): string | null {
  if (undo) return `it is undone already (change ${undo.id}, ${undo.status})`;
  const mayBeApplied = ['applied', 'queued', 'sending'].includes(status) || firstSentAt !== null;
  return mayBeApplied && status !== 'unchanged' ? null : `it is ${status}: there is nothing to undo`;
}

/** Why a change cannot be undone; null when it can. */
function refusalOf({ entityType, status }: Change, blocked: string | null): string | null {
  if (entityType === 'person') return 'merging people cannot be undone';
  if (status === 'queued') return 'it is still queued: use signalhouse changes cancel';
  if (status === 'sending')
    return 'its request may have been sent: run signalhouse push to settle it, then undo it';
  if (status !== 'applied')
    return `it ended as ${status} after it was sent: its error says what the API has; set that back in a new sheet`;
  return blocked === null ? null : `the ${entityType} ${blocked}`;
}

/** In the order in which the API applied them. */
function byApplication(one: Change, other: Change): number {
  const [a, b] = [`${one.settledAt} ${one.id}`, `${other.settledAt} ${other.id}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What the API had before a change, as far as it was read. */
function previousIn({ remoteBefore, base }: Change, name: string): Value | undefined {
  return remoteBefore !== null && name in remoteBefore ? remoteBefore[name] : base[name];
}

interface Reverse {
  readonly wanted: Values;
  readonly base: Values;
  /** Why fields stay as they are. */
  readonly kept: readonly string[];
}

/** The reverse of changes of one entity that were applied one after the other. */
function reverseOf(
  changes: readonly Change[],
  previous: (change: Change, name: string) => Value | undefined,
): Reverse {
  const [{ entityType }] = changes as [Change, ...Change[]];
  const after: Record<string, Value> = {};
  for (const { wanted } of changes) {
    Object.assign(after, wanted);
    if (wanted.archived === false) after[archivedReason] = null;
  }
  const before = (name: string): Value | undefined => {
    const first = changes.find(({ wanted }) => shareGroup(wanted, { [name]: null }));
    const value = first && previous(first, name);
    if (value !== undefined || name !== 'archived' || after.archived === false) return value;
    // One that the API never showed as archived was not, when it was archived. Only an archived topic can get another reason.
    return after.archived !== true;
  };
  const wanted: Record<string, Value> = {};
  const kept: string[] = [];
  for (const field of kinds[entityType].fields) {
    const { name } = field;
    const [now, then] = [after[name], before(name)];
    // The API takes a reason only with an archiving, and drops it when the topic leaves the archive.
    const isMoot = name === archivedReason && before('archived') !== true;
    if (now === undefined || isMoot || isSame(now, then)) continue;
    const reason = unsettableReason(then, field);
    if (reason === null) wanted[name] = then as Value;
    else kept.push(`${name} ${reason}`);
  }
  return { wanted, base: inGroupsOf(after, Object.keys(wanted)), kept };
}

/** Why a client cannot set the value that was there before. */
function unsettableReason(value: Value | undefined, { allowed }: Field): string | null {
  if (value === undefined) return 'stays: what it was before is not known';
  if (value === null || value === '')
    return 'stays: it had no value before, and the API has no documented way to clear it';
  return allowed && !allowed.includes(String(value))
    ? `stays: it was ${value} before, which can only be set by the service`
    : null;
}
