import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import type { DataDir } from '../base/encryption.js';
import { messageOf, UsageError } from '../base/errors.js';
import type { Cell, Grid } from '../sheet/grid.js';
import { type AddedColumn, writeGrid } from '../sheet/write.js';
import { type Change, fieldsOf, type Values } from './change.js';
import { pick } from './compare.js';
import { colleagues } from './contested.js';
import { resultNames } from './import/header.js';
import type { ImportRow } from './import/preview.js';
import { readImportCopy } from './import/source.js';

/** The result of one row of an imported file. */
export interface RowResult {
  readonly result: string;
  readonly error: string | null;
  /** What the API has, or had when it was last read. */
  readonly remoteValue: string | null;
}

/**
 * The results of an import by row number: the state of the change where there is one, and what happened to its topic or
 * company (`noteOf`, by the id of the change), and who made the other change of a conflict. Undefined when there is no such row.
 */
export function rowResults(
  rows: readonly ImportRow[],
  changeOf: (id: string) => Change | undefined,
  noteOf: (id: string) => string | null = () => null,
  colleagueOf: (change: Change) => string | null = () => null,
): (row: number) => RowResult | undefined {
  const byNumber = new Map(rows.map((row) => [row.row, row]));
  return (number) => {
    const row = byNumber.get(number);
    const change = row?.changeId ? changeOf(row.changeId) : undefined;
    if (!row || !change) return row && resultOf(row, undefined, null);
    const successor = survivorChange(change, changeOf);
    if (!successor) return resultOf(row, change, noteOf(change.id), colleagueOf(change));
    const note = noteOf(successor.id);
    const merged = `was merged into ${successor.entityId}, which is changed instead`;
    return resultOf(row, successor, note === null ? merged : `${merged} and ${note}`);
  };
}

/** The change of a survivor that replaces one of what was merged into it (`changes retry --follow-merges`). */
function survivorChange(
  { status, supersededBy, importId, entityId }: Change,
  changeOf: (id: string) => Change | undefined,
): Change | undefined {
  const next = status === 'superseded' && supersededBy !== null ? changeOf(supersededBy) : undefined;
  if (!next || next.importId !== importId || next.entityId === entityId) return undefined;
  return survivorChange(next, changeOf) ?? next;
}

/** Base columns are for the import; in a result they would stand between the rows and their results. */
export function isBaseColumn(name: string): boolean {
  return name.toLowerCase().startsWith('base_');
}

/** The columns that are added at the right of the imported file, for `writeGrid`; empty in rows without a result. */
export function resultColumns(resultOfRow: (row: number) => RowResult | undefined): AddedColumn[] {
  const [result, error, remoteValue] = resultNames;
  return [
    { name: result, cell: ({ number }) => resultOfRow(number)?.result ?? null },
    { name: error, cell: ({ number }) => resultOfRow(number)?.error ?? null },
    { name: remoteValue, cell: ({ number }) => resultOfRow(number)?.remoteValue ?? null },
  ];
}

/** For a duplicate of an earlier change, the state of that change says more than `duplicate`. */
function resultOf(
  { outcome, text }: ImportRow,
  change: Change | undefined,
  note: string | null,
  colleague: string | null = null,
): RowResult {
  if (!change) return { result: outcome.replaceAll('_', ' '), error: text, remoteValue: null };
  const error = change.status === 'superseded' ? supersededText(change) : change.error;
  // The change itself does not say that it follows a merge, or what to do about a conflict that an earlier import met.
  const more = outcome === 'queued' || (outcome === 'conflict' && change.status === 'conflict') ? text : null;
  return {
    result: change.status,
    error:
      [error, colleague, more === error ? null : more, note && `the ${change.entityType} ${note}`]
        .filter(Boolean)
        .join('; ') || null,
    remoteValue: valuesText(
      change.remoteAfter ?? (change.remoteBefore && pick(change.remoteBefore, change.wanted)),
    ),
  };
}

function supersededText({ supersededBy }: Change): string {
  return `A later change replaces it${supersededBy === null ? '' : ` (${supersededBy})`}.`;
}

function valuesText(values: Values | null): string | null {
  if (values === null) return null;
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${value === null || value === '' ? '(none)' : value}`)
    .join(', ');
}

/** What the results of a push are made from. */
interface ResultParts {
  readonly folder: DataDir;
  /** Every change of the queue, oldest first. */
  readonly changes: readonly Change[];
  /** The ids of those that this push settled or sent. */
  readonly touched: ReadonlySet<string>;
  /** What happened to the topic or company of a change, by the id of the change. */
  readonly noteOf: (id: string) => string | null;
}

/** Throws a UsageError when the result cannot be written to `out`: its ending, or its folder. */
export function checkResultPath(out: string): void {
  const problem = resultPathProblem(out);
  if (problem === null) return;
  throw new UsageError('The result cannot be written.', [{ setting: '--result', problem }]);
}

function resultPathProblem(out: string): string | null {
  if (!['.xlsx', '.csv', '.tsv'].includes(extname(out).toLowerCase()))
    return `${out} does not end in .xlsx, .csv or .tsv`;
  const folder = dirname(resolve(out));
  try {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      return `the folder ${folder} does not exist`;
    if (statSync(out, { throwIfNoEntry: false })?.isDirectory()) return `${out} is a folder`;
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return `the folder ${folder} cannot be written to: ${messageOf(error)}`;
  }
}

/**
 * Writes the imported file again, with `result`, `error` and `remote_value` in each row. When the changes of the push
 * come from several imports, or from one whose file is not kept (SQL), it writes a sheet with a row for each change. A
 * push that had nothing to do writes the file of the last import.
 */
export async function writeResult(out: string, parts: ResultParts): Promise<void> {
  const { changes, touched, folder, noteOf } = parts;
  const ownChanges = changes.filter(({ id }) => touched.has(id));
  const last = changes.at(-1);
  const imports = new Set(
    (ownChanges.length > 0 ? ownChanges : last ? [last] : []).map(({ importId }) => importId),
  );
  const [only] = imports;
  const kept = imports.size === 1 && only !== undefined ? await readImportCopy(folder, only) : null;
  const byId = new Map(changes.map((change) => [change.id, change]));
  const grid = kept?.grid ?? plainGrid(ownChanges);
  const rows = kept?.rows ?? plainRows(ownChanges);
  const added = resultColumns(rowResults(rows, (id) => byId.get(id), noteOf, colleagues(changes)));
  await writeGrid(out, grid, added, { overwrite: true, hidden: isBaseColumn });
}

/** Changes as a sheet: topic or company, wanted values, and where the change came from. */
function plainGrid(changes: readonly Change[]): Grid {
  const names = (['topic', 'company'] as const).flatMap((type) => fieldsOf[type].map(({ name }) => name));
  const used = [...new Set(names)].filter((name) => changes.some(({ wanted }) => wanted[name] !== undefined));
  return {
    columns: ['topic_id', 'company_id', ...used, 'source', 'source_row', 'requested_by'],
    headerRow: 1,
    notes: [],
    rows: changes.map((change, index) => ({
      number: index + 2,
      cells: [
        change.entityType === 'topic' ? change.entityId : null,
        change.entityType === 'company' ? change.entityId : null,
        ...used.map((name): Cell => change.wanted[name] ?? null),
        ...[change.source, change.sourceRow, change.requestedBy],
      ],
    })),
  };
}

function plainRows(changes: readonly Change[]): ImportRow[] {
  return changes.map(({ id }, index) => ({ row: index + 2, outcome: 'queued', changeId: id, text: null }));
}
