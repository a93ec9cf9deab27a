import { randomUUID } from 'node:crypto';
import { groupBy } from '../../base/group-by.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import type { Change } from '../change.js';
import { storedCounts } from '../context.js';
import type { Value } from '../fields.js';
import type { NewChange, Queue } from '../queue/queue.js';
import { importedBefore, ruleOn } from './against-queue.js';
import { type Combined, combine } from './combine.js';
import { type Heading, headingOf } from './heading.js';
import { type Known, lookUp } from './known.js';
import { type CostSettings, previewOf } from './preview.js';
import type { ImportProblem, ImportReport, ImportRow, RowOutcome } from './report.js';
import type { ImportSource } from './source.js';
import { readRows } from './statement.js';
import { type Wish, whyClosed, wishOf } from './wish.js';

export interface ImportParts {
  readonly store: Pick<Warehouse, 'all'>;
  readonly queue: Pick<Queue, 'all'>;
  readonly settings: CostSettings;
}

export interface ImportOptions {
  readonly requestedBy: string;
  /** Queue the good rows although others are wrong. */
  readonly skipInvalid?: boolean;
}

/** A change that would be queued. */
export interface Fresh {
  readonly change: NewChange;
  readonly supersedes: readonly Change[];
  /** The rows that it comes from. */
  readonly rows: readonly number[];
}

/** What an import would do; nothing is queued yet. */
export interface Prepared extends Omit<ImportReport, 'outcome' | 'queued' | 'exitCode'> {
  /** None when rows are wrong and not skipped. */
  readonly fresh: readonly Fresh[];
  /** Rows are wrong, and for that nothing may be queued. */
  readonly isRefused: boolean;
}

/** What was found out about the rows of one id. */
interface Found {
  readonly rows: readonly number[];
  readonly outcome: RowOutcome;
  readonly change?: Change;
  readonly text?: string;
  readonly fresh?: Fresh;
}

/**
 * Holds a file against the warehouse and the queue, every row of it, and finds every problem at once. Writes nothing.
 * Raises UsageError when it is not clear what the file as a whole shall change.
 */
export async function prepareImport(
  { store, queue, settings }: ImportParts,
  source: ImportSource,
  { requestedBy, skipInvalid = false }: ImportOptions,
): Promise<Prepared> {
  const heading = headingOf(source.grid.columns, source.name);
  const { entityType } = heading;
  const importId = randomUUID();
  const read = readRows(heading, source.grid);
  const together = combine(read.flatMap(({ statement }) => statement ?? []));
  const speaking = together.combined.filter(({ said }) => Object.keys(said).length > 0);
  // A row with a bad cell says all that is wrong with it at once, its id included.
  const broken = read.filter(({ statement, id }) => statement === null && id !== null);
  const ids = [...speaking, ...broken].map(({ id }) => id as string);
  const known = await lookUp(store, entityType, [...new Set(ids)]);
  const ours = queue.all().filter((change) => change.entityType === entityType);
  const changes = groupBy(ours, ({ entityId }) => entityId);
  const origin = { entityType, requestedBy, source: source.name, sourceHash: source.hash, importId };
  const problems: ImportProblem[] = [
    ...read.flatMap((one) => one.problems),
    ...broken.flatMap(({ row, id }) => {
      const problem = whyClosed(known.get(id as string));
      return problem === null ? [] : [{ row, column: heading.id.header, value: id, problem }];
    }),
    ...together.problems,
  ];
  const found = together.combined.flatMap((combined) => {
    const of = changes.get(combined.id) ?? [];
    const one = findOut(combined, known.get(combined.id), of, heading, origin);
    if ('problems' in one) problems.push(...one.problems);
    return 'problems' in one ? [] : [one];
  });

  const isRefused = problems.length > 0 && !skipInvalid;
  const rows = rowsOf(source, found, problems, isRefused);
  const fresh = found.flatMap((one) => one.fresh ?? []);
  const counts = await storedCounts(store);
  const superseded = fresh.reduce((sum, one) => sum + one.supersedes.length, 0);
  const planned = fresh.map(({ change }) => change);
  return {
    importId,
    source: source.name,
    sourceHash: source.hash,
    entityType,
    requestedBy,
    fresh: isRefused ? [] : fresh,
    isRefused,
    preview: previewOf(entityType, planned, rows, superseded, counts[entityType], settings),
    problems: inOrder(problems, heading),
    rows,
    notes: notesOf(source, heading, together.repeated, found, known),
  };
}

function findOut(
  combined: Combined,
  known: Known | undefined,
  changes: readonly Change[],
  heading: Heading,
  origin: Pick<NewChange, 'entityType' | 'requestedBy' | 'source' | 'sourceHash' | 'importId'>,
): Found | { readonly problems: readonly ImportProblem[] } {
  const { rows } = combined;
  // Before anything else: what a file wanted then may be impossible, or done, by now.
  const said = Object.entries(combined.said).map(([name, { value }]): [string, Value] => [name, value]);
  const before = importedBefore(Object.fromEntries(said), changes, origin.sourceHash);
  if (before) return { rows, outcome: 'imported_before', change: before, text: importedText(before) };
  const { wish, problems } = wishOf(combined, known, heading.id.header);
  if (!wish) return { problems };
  const ruling = ruleOn(wish, changes);
  if (ruling.kind === 'unchanged') return { rows, outcome: 'unchanged' };
  if (ruling.kind === 'duplicate')
    return { rows, outcome: 'duplicate', change: ruling.change, text: duplicateText(ruling.change) };
  if (ruling.kind === 'conflict')
    return { rows, outcome: 'conflict', change: ruling.change, text: conflictText(ruling.change) };
  const { wanted, base, supersedes } = ruling;
  const change: NewChange = { ...origin, ...placeOf(wish), entityId: wish.id, wanted, base };
  return { rows, outcome: 'queued', fresh: { change, supersedes, rows } };
}

function placeOf({ rows, baseFrom, baseAt }: Wish): Pick<NewChange, 'sourceRow' | 'baseFrom' | 'baseAt'> {
  return { sourceRow: rows[0] ?? null, baseFrom, baseAt };
}

/** What is left is a good row about an id of which another row is wrong. */
const another = { outcome: 'invalid', changeId: null, text: 'Another row of the same id is wrong.' } as const;

/** Every row of the file has an outcome: what is wrong in it goes before what could have become of it. */
function rowsOf(
  { grid }: ImportSource,
  found: readonly Found[],
  problems: readonly ImportProblem[],
  isRefused: boolean,
): ImportRow[] {
  const outcomes = new Map<number, Omit<ImportRow, 'row'>>();
  for (const { rows, outcome, change, text } of found) {
    const held = outcome === 'queued' && isRefused;
    const made = held
      ? { outcome: 'not_queued' as const, changeId: null, text: 'Other rows of the file are wrong.' }
      : { outcome, changeId: change?.id ?? null, text: text ?? null };
    for (const row of rows) outcomes.set(row, made);
  }
  for (const { row, column, value, problem } of problems) {
    const told = outcomes.get(row);
    const sentence = `${column ?? 'row'}${value === null ? '' : ` "${value}"`} ${problem}`;
    const text = told?.outcome === 'invalid' ? `${told.text}; ${sentence}` : sentence;
    outcomes.set(row, { outcome: 'invalid', changeId: null, text });
  }
  return grid.rows.map(({ number: row }) => ({
    row,
    ...(outcomes.get(row) ?? another),
  }));
}

function inOrder(problems: readonly ImportProblem[], heading: Heading): ImportProblem[] {
  const place = new Map(heading.edited.map(({ header, at }) => [header, at]));
  const at = ({ column }: ImportProblem) => (column === null ? -1 : (place.get(column) ?? -1));
  return [...problems].sort((a, b) => a.row - b.row || at(a) - at(b));
}

const day = (at: string) => at.slice(0, 16).replace('T', ' ');

function importedText({ id, queuedAt, status }: Change): string {
  const next =
    status === 'conflict' || status === 'failed' ? `; signalhouse changes retry ${id} tries it again` : '';
  return `already imported on ${day(queuedAt)} UTC as change ${id} (${status})${next}`;
}

function duplicateText({ id, queuedAt, source }: Change): string {
  return `change ${id} of ${day(queuedAt)} UTC (${source}) wants the same and is still open`;
}

function conflictText({ id, settledAt, queuedAt }: Change): string {
  return `in conflict since ${day(settledAt ?? queuedAt)} UTC (change ${id}): export a new sheet and decide there, or signalhouse changes retry ${id} --overwrite`;
}

function notesOf(
  { grid }: ImportSource,
  heading: Heading,
  repeated: number,
  found: readonly Found[],
  known: ReadonlyMap<string, Known>,
): string[] {
  const notes = [...grid.notes, ...heading.notes];
  if (grid.rows.length === 0) notes.push('There are no rows under the header.');
  if (repeated === 1) notes.push('One id stands in several rows; it makes one change.');
  if (repeated > 1) notes.push(`${repeated} ids stand in several rows; each makes one change.`);
  const noted = found.flatMap(({ fresh }) => {
    const note = fresh && known.get(fresh.change.entityId)?.note;
    return note ? [`${fresh.change.entityId} ${note}`] : [];
  });
  notes.push(...noted.slice(0, 10).map((note) => `${note}.`));
  if (noted.length > 10) notes.push(`And ${noted.length - 10} more that were superseded.`);
  return notes;
}
