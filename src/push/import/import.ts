import { randomUUID } from 'node:crypto';
import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Change, isOpen } from '../change.js';
import { isSame } from '../compare.js';
import { archivedReason, inGroupsOf, type Value, type Values } from '../fields.js';
import {
  type ImportProblem,
  type ImportRow,
  type Plan,
  type PlanParts,
  planOf,
  type RowOutcome,
  type Wish,
} from '../plan.js';
import type { NewChange, Origin } from '../queue.js';
import { importedBefore } from '../queueing.js';
import type { StoredEntity } from '../stored.js';
import { type Header, parseHeader } from './header.js';
import { type Edits, readEdits } from './match.js';
import { type Edit, type EntityEdits, problemOf } from './rows.js';
import type { ImportSource } from './source.js';

export interface ImportOptions {
  /** The person who asks; by default the last editor of the file, if it names one. */
  readonly requestedBy: string | null;
  /** Why, where a row does not say so itself. */
  readonly requestedReason?: string | undefined;
  /** Who asks where neither is known; by default no person. */
  readonly otherwiseBy?: string;
  /** Queue the valid rows even when others are wrong. */
  readonly skipInvalid?: boolean;
}

/** What becomes of the rows of one id: each is like `row`, unless they have `problems`. */
interface EntityOutcome {
  readonly rows: readonly number[];
  readonly row?: Omit<ImportRow, 'row'>;
  readonly problems?: readonly ImportProblem[];
  readonly wish?: Wish;
}

/**
 * Compares every row of a file with the warehouse and the queue, and finds every problem at once. Writes nothing. Raises
 * UsageError when it cannot tell what the file as a whole should change.
 */
export async function prepareImport(
  { store, queue, settings }: PlanParts,
  source: ImportSource,
  options: ImportOptions,
): Promise<Plan> {
  const { grid, name, hash: sourceHash } = source;
  const header = parseHeader(grid, name);
  const { entityType } = header;
  const edits = await readEdits(store, header, grid);
  const ofType = queue.all().filter((change) => change.entityType === entityType);
  const changes = groupBy(ofType, ({ entityId }) => entityId);
  const origin = {
    importId: randomUUID(),
    source: name,
    sourceHash,
    requestedBy: options.requestedBy ?? grid.lastEditor ?? options.otherwiseBy ?? null,
    requestedReason: options.requestedReason ?? null,
  };
  const outcomes = edits.entities.map((entity) =>
    outcomeOf(entity, edits, changes.get(entity.id) ?? [], { ...origin, entityType }),
  );
  const found = [...edits.problems, ...outcomes.flatMap((one) => one.problems ?? [])];
  const rows = rowsOf(source, outcomes, found);
  const plan = {
    ...origin,
    kind: 'import',
    isRefused: found.length > 0 && options.skipInvalid !== true,
    wishes: outcomes.flatMap(({ wish }) => wish ?? []),
    rows,
    problems: inOrder(found, header),
    leftOut: [],
    notes: [
      ...notesOf(source, header, edits.entities, rows),
      // Last, because there may be one for each row.
      ...edits.notes,
    ],
  } as const;
  return planOf(plan, ofType, settings);
}

function outcomeOf(
  entity: EntityEdits,
  { storedOf, idProblems }: Edits,
  changes: readonly Change[],
  origin: Origin & Pick<NewChange, 'entityType'>,
): EntityOutcome {
  const { rows, id: entityId } = entity;
  const as = (outcome: RowOutcome, text: string | null = null, change?: Change): EntityOutcome => {
    return { rows, row: { outcome, changeId: change?.id ?? null, text } };
  };
  // Checked first: what the same file asked for then may be impossible, or done, by now.
  const asked = Object.entries(entity.edits).map(([name, { value }]) => [name, value] as const);
  const before = importedBefore(Object.fromEntries(asked), changes, origin.sourceHash);
  if (before) return as(before.kind, before.text, before.change);
  const wrong = rows.flatMap((row) => idProblems.get(row) ?? []);
  if (wrong.length > 0) return { rows, problems: wrong };
  const stored = storedOf({ entityType: origin.entityType, entityId });
  const request = compareWithWarehouse(entity, stored, changes);
  if ('problem' in request) return { rows, problems: [request.problem] };
  if (Object.keys(request.wanted).length === 0) return as('unchanged');
  const requestedReason = entity.reason ?? origin.requestedReason;
  const title = stored?.title ?? null;
  const wish = { ...origin, entityId, sourceRow: rows[0] ?? null, ...request, requestedReason, title, rows };
  return { ...as('queued'), wish };
}

/** What the rows about one topic or company ask for: what is not up to date in the warehouse, or would not be after a push. */
function compareWithWarehouse(
  { baseValues, baseAt, edits: found }: EntityEdits,
  stored: StoredEntity | undefined,
  changes: readonly Change[],
): Pick<Change, 'wanted' | 'base' | 'baseFrom' | 'baseAt'> | { readonly problem: ImportProblem } {
  const { values = {}, syncedAt = null } = stored ?? {};
  const baseOf = (name: string, { fromFile, base }: Partial<Edit> = found[name] ?? {}): Value | undefined => {
    if (fromFile) return base;
    return name in baseValues ? baseValues[name] : values[name];
  };
  let edits = found;
  const { [archivedReason]: reason, ...others } = edits;
  // The API would silently ignore a reason without an archiving.
  if (reason && (edits.archived?.value ?? baseOf('archived')) !== true) {
    const isStored = !reason.fromFile && isSameCell(values[archivedReason], reason.value);
    const problem = 'is only used when archived is TRUE: set archived to TRUE, or delete the reason';
    if (!isStored) return { problem: problemOf(reason, problem) };
    edits = others;
  }
  const requested: Record<string, Value> = {};
  for (const [name, edit] of Object.entries(edits)) requested[name] = edit.value;
  // The API reads a reason only together with the archiving itself.
  if (requested[archivedReason] !== undefined) requested.archived = true;
  const names = Object.keys(requested);
  // When a sheet is edited further after its push, the warehouse already has the values that were pushed.
  const isStoredNewer = baseAt === null || (syncedAt ?? '') >= baseAt;
  const isUpToDate = (name: string) =>
    isSameCell(baseOf(name), requested[name]) || (isStoredNewer && isSameCell(values[name], requested[name]));
  const isSetOtherwise = (name: string) => {
    const open = changes.findLast((change) => isOpen(change) && name in change.wanted);
    return open !== undefined && !isSame(open.wanted[name], requested[name]);
  };
  const open = names.filter((name) => !isUpToDate(name) || isSetOtherwise(name));
  const wanted = inGroupsOf(requested, open);
  const isFromFile = Object.values(edits).every(({ fromFile }) => fromFile);
  const known = {
    ...values,
    ...baseValues,
    ...Object.fromEntries(names.map((name) => [name, baseOf(name)])),
  };
  const base = Object.fromEntries(
    Object.entries(inGroupsOf(known as Values, open)).filter(([, value]) => value !== undefined),
  );
  const [baseFrom, at] = isFromFile ? (['file', baseAt] as const) : (['warehouse', syncedAt] as const);
  return { wanted, base, baseFrom, baseAt: at };
}

/** Whether a known value is the one of a cell, which is read without the spaces around it. */
function isSameCell(known: Value | undefined, cell: Value | undefined): boolean {
  return known !== undefined && isSame(typeof known === 'string' ? known.trim() : known, cell);
}

/** Every row of the file has an outcome; a problem takes precedence over any other. */
function rowsOf(
  { grid }: ImportSource,
  outcomes: readonly EntityOutcome[],
  problems: readonly ImportProblem[],
): ImportRow[] {
  const found = new Map<number, Omit<ImportRow, 'row'>>();
  for (const { rows, row: own } of outcomes) for (const row of rows) if (own) found.set(row, own);
  for (const { row, column, value, problem } of problems) {
    const before = found.get(row);
    const sentence = `${column ?? 'row'}${value === null ? '' : ` "${value}"`} ${problem}`;
    const text = before?.outcome === 'invalid' ? `${before.text}; ${sentence}` : sentence;
    found.set(row, { outcome: 'invalid', changeId: null, text });
  }
  const text = 'Another row of the same id is wrong.';
  const otherwise = { outcome: 'invalid', changeId: null, text } as const;
  return grid.rows.map(({ number }) => ({ row: number, ...(found.get(number) ?? otherwise) }));
}

function inOrder(problems: readonly ImportProblem[], header: Header): ImportProblem[] {
  const positions = new Map(header.edited.map((column) => [column.header, column.at]));
  const at = ({ column }: ImportProblem) => (column === null ? -1 : (positions.get(column) ?? -1));
  return [...problems].sort((a, b) => a.row - b.row || at(a) - at(b));
}

/** What the user should know about a file as a whole, beside its changes and its wrong rows. */
function notesOf(
  { grid }: ImportSource,
  header: Header,
  entities: readonly EntityEdits[],
  rows: readonly ImportRow[],
): string[] {
  const notes = [...grid.notes, ...header.notes];
  if (grid.rows.length === 0) notes.push('There are no rows below the header.');
  const repeated = entities.filter(({ rows: of }) => of.length > 1).length;
  if (repeated > 0) notes.push(`Ids that occur in several rows, which make one change each: ${repeated}.`);
  const hidden = new Set(grid.rows.flatMap((row) => (row.hidden ? [row.number] : [])));
  const unseen = rows.flatMap(({ row, outcome }) => (outcome === 'queued' && hidden.has(row) ? [row] : []));
  if (unseen.length > 0)
    notes.push(`Changes are also in rows that are hidden or filtered out: rows ${firstOf(unseen, 10)}.`);
  return notes;
}
