import { randomUUID } from 'node:crypto';
import { countBy, groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Change, contested, mayBecome, type Reference, type Status, type Value } from '../change.js';
import { contestedText, contestsAmong, isContested } from '../contested.js';
import type { NewChange, Origin, Queue } from '../queue.js';
import { named, type StoredEntity, storedEntities } from '../stored.js';
import { undoneBy } from '../undo.js';
import {
  compareWithQueue,
  importedBefore,
  narrowed,
  type QueueComparison,
  setOtherwise,
} from './compare-with-queue.js';
import { type Header, parseHeader } from './header.js';
import { blockedProblems, compareWithWarehouse, matchRows } from './match.js';
import { isUndecided, parsePairs } from './pairs.js';
import {
  groupedProblems,
  type ImportParts,
  type ImportProblem,
  type ImportReport,
  type ImportRow,
  type PreviewChange,
  previewOf,
  type RowOutcome,
} from './preview.js';
import { combineRows, type EntityEdits, isAsking, type ParsedRow, parseRows } from './rows.js';
import type { ImportSource } from './source.js';
import { mixedUp, resolveTitles, wrongTitles } from './titles.js';

export interface ImportOptions {
  /** The person who asks; by default the last editor of the file, if it names one. */
  readonly requestedBy: string | null;
  /** Why, where a row does not say so itself. */
  readonly requestedReason?: string | undefined;
  /** By default a new one. */
  readonly importId?: string | undefined;
  /** Who asks where neither is known; by default nobody. */
  readonly otherwiseBy?: string;
  /** Queue the valid rows even when others are wrong. */
  readonly skipInvalid?: boolean;
  /** Match rows by their id even if the title is that of another. */
  readonly ignoreTitles?: boolean;
}

interface PlannedChange {
  readonly change: NewChange;
  readonly rows: readonly number[];
}

/** What an import would do, as a preview keeps it: confirming queues `newChanges`, and nothing else. */
export interface PreparedImport extends Omit<ImportReport, 'outcome' | 'queued' | 'conflicts'> {
  /** Empty when rows are wrong and not skipped. */
  readonly newChanges: readonly PlannedChange[];
  /** Nothing may be queued: rows are wrong, or the file as a whole is. */
  readonly isRefused: boolean;
}

/** What becomes of the rows of one id: each is like `row`, unless they have `problems`. */
interface EntityOutcome {
  readonly rows: readonly number[];
  readonly row?: Omit<ImportRow, 'row'>;
  readonly problems?: readonly ImportProblem[];
  readonly newChange?: PlannedChange;
  readonly supersedes?: number;
}

/**
 * Compares every row of a file with the warehouse and the queue, and finds every problem at once. Writes nothing. Raises
 * UsageError when it cannot tell what the file as a whole should change.
 */
export async function prepareImport(
  { store, queue, settings }: ImportParts,
  source: ImportSource,
  options: ImportOptions,
): Promise<PreparedImport> {
  const { skipInvalid = false } = options;
  const header = parseHeader(source.grid.columns, source.name, source.grid.sheets);
  const { entityType } = header;
  const edits = await readEdits(store, source, header, options.ignoreTitles ?? false);

  const sameType = queue.all().filter((change) => change.entityType === entityType);
  const changes = groupBy(sameType, ({ entityId }) => entityId);
  const origin = {
    entityType,
    importId: options.importId ?? randomUUID(),
    source: source.name,
    sourceHash: source.hash,
    requestedBy: options.requestedBy ?? source.grid.lastEditor ?? options.otherwiseBy ?? null,
    requestedReason: options.requestedReason ?? null,
  };
  const outcomes = edits.entities.map((entity) =>
    outcomeOf(entity, edits, changes.get(entity.id) ?? [], header, origin),
  );

  const before = new Set(outcomes.flatMap((one) => (one.row?.outcome === 'imported_before' ? one.rows : [])));
  const wrong = new Map([...edits.wrongTitles].filter(([row]) => !before.has(row)));
  const refusal = mixedUp(entityType, wrong);
  const asked = [...edits.problems, ...outcomes.flatMap(({ problems = [] }) => problems)];
  const said = new Set(asked.map(({ row }) => row));
  const moved = refusal === null ? [] : [...wrong.values()].filter(({ row }) => !said.has(row));
  const problems = [...asked, ...moved];
  const isRefused = refusal !== null || (problems.length > 0 && !skipInvalid);
  const heldBack = refusal === null ? 'Other rows of the file are wrong.' : `${refusal}.`;
  const rows = rowsOf(source, header, outcomes, problems, isRefused ? heldBack : null).map((row) => {
    if (refusal !== null && wrong.has(row.row)) return { ...row, text: `${row.text}; ${refusal}.` };
    const text = edits.texts.get(row.row);
    const isExplained = text !== undefined && (row.outcome === 'queued' || row.outcome === 'unchanged');
    return isExplained ? { ...row, text } : row;
  });

  const found = outcomes.flatMap((one) => one.newChange ?? []);
  const isConflict = new Set(rows.flatMap(({ row, outcome }) => (outcome === 'conflict' ? [row] : [])));
  const sent = found.filter((one) => !one.rows.some((row) => isConflict.has(row)));
  const planned = sent.map(({ change, rows: ofChange }) => ({ ...change, rows: ofChange }));
  const storedOf = ({ entityId }: Reference) => edits.stored.get(entityId);
  const hasTopics = entityType === 'topic';
  const { changes: shown, totals } = await previewOf({ store, settings }, planned, storedOf, hasTopics);
  const fromWarehouse = planned.filter(({ baseFrom }) => baseFrom === 'warehouse');
  const [oldest = null] = fromWarehouse.flatMap(({ baseAt }) => baseAt ?? []).sort();
  const newChanges = isRefused ? [] : found;
  const sorted = inOrder(problems, header);
  return {
    ...origin,
    newChanges,
    isRefused,
    refusal,
    preview: {
      rows: countsOf(rows),
      ...totals,
      superseded: outcomes.reduce((sum, { supersedes = 0 }) => sum + supersedes, 0),
      base: { file: planned.length - fromWarehouse.length, warehouse: fromWarehouse.length, oldest },
    },
    rows,
    changes: shown,
    problems: sorted,
    problemGroups: groupedProblems(sorted),
    notes: [
      ...notesOf(source, header, edits.entities, rows, shown),
      // Last, because there may be one for each row.
      ...[...edits.texts].map(([row, text]) => `Row ${row}: ${text}.`),
    ],
    exitCode: problems.length > 0 || (!isRefused && isConflict.size > 0) ? 3 : 0,
  };
}

/** What the rows of a file ask for, by the ids that they change. */
interface Edits {
  readonly entities: readonly EntityEdits[];
  /** What the warehouse has of the ids. */
  readonly stored: ReadonlyMap<string, StoredEntity>;
  /** How titles and addresses were read, by row. */
  readonly texts: ReadonlyMap<number, string>;
  /** The problem of each row whose title is not that of its id. */
  readonly wrongTitles: ReadonlyMap<number, ImportProblem>;
  readonly problems: readonly ImportProblem[];
}

/** Reads every row, and finds its id in the warehouse. */
async function readEdits(
  store: ImportParts['store'],
  { grid }: ImportSource,
  header: Header,
  ignoreTitles: boolean,
): Promise<Edits> {
  const parsed = header.pair ? await parsePairs(store, header.pair, header, grid) : parseRows(header, grid);
  const { isKeyTitle, entityType } = header;
  // Rows that ask for nothing, most rows of a sheet with base columns, are looked up only for what they are called.
  const isCompared = header.title !== null && !ignoreTitles && !isKeyTitle;
  const lookUp = (rows: readonly ParsedRow[]) => {
    const ids = rows.flatMap((row) => (isCompared || isAsking(row) ? (row.id ?? []) : []));
    return storedEntities(store, entityType, [...new Set(ids)]);
  };
  const byId = isKeyTitle ? new Map<string, StoredEntity>() : await lookUp(parsed);
  const resolved = await resolveTitles(store, header, parsed, byId);
  const stored = isKeyTitle ? await lookUp(resolved) : byId;
  const matched = matchRows(resolved, stored, entityType);
  const none = new Map<number, ImportProblem>();
  const titles = ignoreTitles ? none : await wrongTitles(store, header, matched, stored);
  const rows = matched.map((row): ParsedRow => {
    const { id, problems } = row;
    if (id === null || problems.length === 0) return row;
    // A row with a wrong cell reports everything that is wrong with it at once, including its id.
    const blocked = blockedProblems(stored.get(id), header.id.header, id, [row.row]);
    const title = titles.get(row.row);
    return { ...row, problems: [...problems, ...blocked, ...(title ? [title] : [])] };
  });
  const { entities, problems } = combineRows(rows);
  return {
    entities,
    stored,
    wrongTitles: titles,
    problems: [...rows.flatMap((row) => row.problems), ...problems],
    texts: new Map(rows.flatMap(({ row, texts }) => (texts.length > 0 ? [[row, texts.join('; ')]] : []))),
  };
}

function outcomeOf(
  entity: EntityEdits,
  { stored, wrongTitles: titles }: Edits,
  changes: readonly Change[],
  header: Header,
  origin: Origin & Pick<NewChange, 'entityType'>,
): EntityOutcome {
  const { rows, edits } = entity;
  const as = (outcome: RowOutcome, text: string | null = null, change?: Change): EntityOutcome => {
    return { rows, row: { outcome, changeId: change?.id ?? null, text } };
  };
  // Checked first: what the same file asked for then may be impossible, or done, by now.
  const requested = Object.entries(edits).map(([name, { value }]): [string, Value] => [name, value]);
  const before = importedBefore(Object.fromEntries(requested), changes, origin.sourceHash);
  if (before) return as('imported_before', importedText(before, undoneBy(changes)(before.id)), before);
  const wrong = rows.flatMap((row) => titles.get(row) ?? []);
  if (wrong.length > 0) return { rows, problems: wrong };
  const request = compareWithWarehouse(entity, stored.get(entity.id), header.id.header);
  if ('problems' in request) return { rows, problems: request.problems };
  const wanted = setOtherwise(request.requested, request.wanted, changes);
  if (Object.keys(wanted).length === 0) return as('unchanged');
  const change: NewChange = {
    ...origin,
    entityId: entity.id,
    sourceRow: rows[0] ?? null,
    wanted,
    base: Object.fromEntries(Object.entries(request.base).filter(([name]) => name in wanted)),
    baseFrom: request.baseFrom,
    baseAt: request.baseAt,
    requestedReason: entity.reason ?? origin.requestedReason,
  };
  const comparison = compareWithQueue(change, changes);
  if (comparison.kind !== 'queue') return as(comparison.kind, earlierText(comparison), comparison.change);
  const { supersedes } = comparison;
  const conflict = conflictOf(change, comparison);
  const outcome = conflict === undefined ? as('queued') : as('conflict', conflict);
  return { ...outcome, newChange: { change, rows }, supersedes: supersedes.length };
}

/** Every row of the file has an outcome; a problem takes precedence over any other. */
function rowsOf(
  { grid }: ImportSource,
  { pair }: Header,
  outcomes: readonly EntityOutcome[],
  problems: readonly ImportProblem[],
  heldBack: string | null,
): ImportRow[] {
  const found = new Map<number, Omit<ImportRow, 'row'>>();
  const held = { outcome: 'not_queued', changeId: null, text: heldBack } as const;
  for (const { rows, row: own, newChange } of outcomes) {
    const result = newChange && heldBack !== null ? held : own;
    for (const row of rows) if (result) found.set(row, result);
  }
  for (const { row, column, value, problem } of problems) {
    const before = found.get(row);
    const sentence = `${column ?? 'row'}${value === null ? '' : ` "${value}"`} ${problem}`;
    const text = before?.outcome === 'invalid' ? `${before.text}; ${sentence}` : sentence;
    found.set(row, { outcome: 'invalid', changeId: null, text });
  }
  return grid.rows.map((row) => {
    const isQuiet = pair !== null && isUndecided(pair, row);
    const otherwise = { changeId: null, text: isQuiet ? null : 'Another row of the same id is wrong.' };
    const outcome = isQuiet ? 'unchanged' : 'invalid';
    return { row: row.number, ...(found.get(row.number) ?? { outcome, ...otherwise }) };
  });
}

function countsOf(rows: readonly ImportRow[]): ImportReport['preview']['rows'] {
  const none = { queued: 0, not_queued: 0, unchanged: 0, duplicate: 0, imported_before: 0 };
  return { ...none, conflict: 0, invalid: 0, ...countBy(rows, ({ outcome }) => outcome) };
}

function inOrder(problems: readonly ImportProblem[], header: Header): ImportProblem[] {
  const positions = new Map(header.edited.map((column) => [column.header, column.at]));
  const at = ({ column }: ImportProblem) => (column === null ? -1 : (positions.get(column) ?? -1));
  return [...problems].sort((a, b) => a.row - b.row || at(a) - at(b));
}

const minute = (at: string) => at.slice(0, 16).replace('T', ' ');

function importedText({ id, queuedAt, status }: Change, undo: string | null): string {
  const undone = undo === null ? '' : ` and undone by change ${undo}; undo that one to make it again`;
  const next = mayBecome(status, 'queued') ? '; retry that change to send it again' : undone;
  return `already imported on ${minute(queuedAt)} UTC as change ${id} (${status})${next}`;
}

/** Why a row makes no change: of an earlier one that wants the same. */
function earlierText({ kind, change }: Exclude<QueueComparison, { kind: 'queue' }>): string {
  const { id, queuedAt, settledAt, source } = change;
  if (kind === 'duplicate')
    return `change ${id} of ${minute(queuedAt)} UTC (${source}) wants the same and is still open`;
  return `in conflict since ${minute(settledAt ?? queuedAt)} UTC (change ${id}): write a new sheet and decide there, or retry that change with overwriting`;
}

/** The conflict of a new change with what other people want, or with whoever changed it since the sheet was written. */
function conflictOf(
  change: NewChange,
  { rivals, repeats }: Extract<QueueComparison, { kind: 'queue' }>,
): string | undefined {
  if (rivals.length > 0) return contestedText(change, rivals);
  return repeats === undefined
    ? undefined
    : `change ${repeats.id} of ${minute(repeats.queuedAt)} UTC (${repeats.source}) did this already, and it was changed since: retry this change to do it again, or cancel it`;
}

/**
 * Queues what was prepared, exactly: its values and its bases, however long ago that was. What was queued in between is respected:
 * the same is not queued twice, and what contradicts somebody else is recorded as a conflict, as is theirs if it still waits.
 */
export function enqueue(queue: Queue, { newChanges, isRefused, ...prepared }: PreparedImport): ImportReport {
  const byEntity = groupBy(queue.all(), ({ entityId }) => entityId);
  const texts = new Map<number, Partial<ImportRow>>();
  const planned = newChanges.flatMap(({ change, rows }) => {
    const changes = (byEntity.get(change.entityId) ?? []).filter(
      (one) => one.entityType === change.entityType,
    );
    // After a kill, it is confirmed again.
    const done = changes.find(({ importId }) => importId === change.importId);
    for (const row of done ? rows : []) texts.set(row, { changeId: done?.id ?? null });
    if (done) return [];
    const comparison = compareWithQueue(change, changes);
    if (comparison.kind === 'queue')
      return [{ change, rows, conflict: conflictOf(change, comparison), ...comparison }];
    const { kind: outcome, change: earlier } = comparison;
    for (const row of rows) texts.set(row, { outcome, text: earlierText(comparison), changeId: earlier.id });
    return [];
  });
  const added = queue.add(
    planned.map(({ change, conflict, supersedes }) => ({ ...change, conflict, supersedes })),
  );
  for (const [at, { change, rows, narrows, conflict }] of planned.entries()) {
    queue.update(narrows, (one) => narrowed(one, change.wanted));
    const changeId = added[at]?.id ?? null;
    const outcome =
      conflict === undefined ? { changeId } : ({ changeId, outcome: 'conflict', text: conflict } as const);
    for (const row of rows) texts.set(row, outcome);
  }
  const waiting = contest(
    queue,
    planned.flatMap(({ rivals }) => rivals),
  );
  const rows = prepared.rows.map((row) => ({ ...row, ...texts.get(row.row) }));
  const idsOf = (status: Status) => added.flatMap((one) => (one.status === status ? [one.id] : []));
  const queued = idsOf('queued');
  const outcome = isRefused ? 'refused' : queued.length > 0 ? 'queued' : 'nothing_new';
  const conflicts = [...idsOf('conflict'), ...waiting.map(({ id }) => id)];
  const exitCode = conflicts.length > 0 ? 3 : prepared.exitCode;
  return { ...prepared, outcome, queued, conflicts, rows, exitCode };
}

/** Puts changes of other people into conflict that contradict what was just queued; returns those that waited to be sent. */
function contest(queue: Queue, found: readonly Change[]): Change[] {
  const rivals = [...new Map(found.map((one) => [one.id, one])).values()];
  if (rivals.length === 0) return [];
  const rivalsOf = contestsAmong(queue.all());
  const textOf = (rival: Change) => contestedText(rival, rivalsOf(rival));
  const waiting = rivals.filter(({ status }) => status === 'queued');
  queue.move(waiting, 'conflict', (rival) => ({ errorCode: contested, error: textOf(rival) }));
  queue.update(rivals.filter(isContested), (rival) => ({ error: textOf(rival) }));
  return waiting;
}

/** The report of an import that queues nothing: there is nothing to queue, a dry run, or the user answered no. */
export function reportWithoutQueueing(
  { newChanges: _, isRefused, ...prepared }: PreparedImport,
  outcome: 'dry_run' | 'declined' | 'nothing',
): ImportReport {
  if (outcome === 'nothing')
    return { ...prepared, outcome: isRefused ? 'refused' : 'nothing_new', queued: [], conflicts: [] };
  const text = outcome === 'dry_run' ? 'It was a dry run.' : 'The import was declined.';
  const rows = prepared.rows.map(
    (row): ImportRow => (row.outcome === 'queued' ? { ...row, outcome: 'not_queued', text } : row),
  );
  const preview = { ...prepared.preview, rows: countsOf(rows) };
  return { ...prepared, outcome, queued: [], conflicts: [], rows, preview };
}

/** What the user should know about a file as a whole, beside its changes and its wrong rows. */
function notesOf(
  { grid }: ImportSource,
  header: Header,
  entities: readonly EntityEdits[],
  rows: readonly ImportRow[],
  changes: readonly PreviewChange[],
): string[] {
  const notes = [...grid.notes, ...header.notes];
  if (grid.rows.length === 0) notes.push('There are no rows below the header.');
  const repeated = entities.filter(({ rows: of }) => of.length > 1).length;
  if (repeated === 1) notes.push('One id occurs in several rows, which make one change.');
  if (repeated > 1) notes.push(`${repeated} ids occur in several rows; the rows of each id make one change.`);
  const hidden = new Set(grid.rows.flatMap((row) => (row.hidden ? [row.number] : [])));
  const unseen = rows.flatMap(({ row, outcome }) => (outcome === 'queued' && hidden.has(row) ? [row] : []));
  if (unseen.length > 0)
    notes.push(`Changes are also in rows that are hidden or filtered out: ${rowsText(unseen)}.`);
  const happened = changes.flatMap(({ entityId, title, note }) =>
    note === null ? [] : [`${named(entityId, title)} ${note}`],
  );
  notes.push(...happened.slice(0, mostNotes).map((note) => `${note}.`));
  if (happened.length > mostNotes)
    notes.push(`${happened.length - mostNotes} more were archived or superseded.`);
  return notes;
}

const mostNotes = 10;

function rowsText(rows: readonly number[]): string {
  return `${rows.length === 1 ? 'row' : 'rows'} ${firstOf(rows, mostNotes)}`;
}
