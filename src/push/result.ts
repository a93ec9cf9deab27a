import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import type { DataDir } from '../base/encryption.js';
import { messageOf, UsageError } from '../base/errors.js';
import type { Cell, Grid, GridRow } from '../sheet/grid.js';
import { writeGrid } from '../sheet/write.js';
import { type Change, fieldsOf, type Values, valueText } from './change.js';
import { pick } from './compare.js';
import { colleagues } from './contested.js';
import { resultNames } from './import/header.js';
import type { ImportRow } from './import/preview.js';
import { readImportCopy } from './import/source.js';

/** The result of one row of an imported file, as the columns `result`, `error` and `remote_value`. */
type RowResult = readonly [result: string, error: string | null, remoteValue: string | null];

/** What happened to the topics or companies of changes, by the id of the change. */
type Notes = ReadonlyMap<string, string | null>;

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
 * Writes the imported file of a push again. When the changes that it settled or sent (`touched`) come from several
 * imports, or from one whose file is not kept (SQL), it writes a sheet with a row for each change. A push that had nothing
 * to do writes the file of the last import. `changes` are all of the queue, oldest first.
 */
export async function writeResult(
  out: string,
  folder: DataDir,
  changes: readonly Change[],
  touched: Notes,
): Promise<void> {
  const own = changes.filter(({ id }) => touched.has(id));
  const [only, second] = new Set((own.length > 0 ? own : changes.slice(-1)).map(({ importId }) => importId));
  const kept = only !== undefined && second === undefined ? await readImportCopy(folder, only) : null;
  const { grid, rows } = kept ?? { grid: plainGrid(own), rows: plainRows(own) };
  await writeResults(out, grid, rows, changes, touched);
}

/** Writes a sheet with `result`, `error` and `remote_value` in each row, and without its base columns in sight. */
export function writeResults(
  out: string,
  grid: Grid,
  rows: readonly ImportRow[],
  changes: readonly Change[],
  notes: Notes = new Map(),
): Promise<void> {
  const resultOf = rowResults(rows, changes, notes);
  const added = resultNames.map((name, at) => ({
    name,
    cell: ({ number }: GridRow) => resultOf(number)?.[at] ?? null,
  }));
  // Base columns are for the import; here they would stand between the rows and their results.
  const hidden = (name: string) => name.toLowerCase().startsWith('base_');
  return writeGrid(out, grid, added, { overwrite: true, hidden });
}

/**
 * The results of an import by row number: the state of the change where there is one, what happened to its topic or company,
 * and who made the other change of a conflict. Undefined when there is no such row.
 */
function rowResults(
  rows: readonly ImportRow[],
  changes: readonly Change[],
  notes: Notes,
): (row: number) => RowResult | undefined {
  const byNumber = new Map(rows.map((row) => [row.row, row]));
  const byId = new Map(changes.map((change) => [change.id, change]));
  const colleagueOf = colleagues(changes);
  return (number) => {
    const row = byNumber.get(number);
    if (!row) return undefined;
    const first = byId.get(row.changeId ?? '');
    if (!first) return [row.outcome.replaceAll('_', ' '), row.text, null];
    const successor = survivorChange(first, byId);
    const change = successor ?? first;
    const merged = successor && `was merged into ${successor.entityId}, which is changed instead`;
    const note = [merged, notes.get(change.id)].filter(Boolean).join(' and ');
    const { outcome } = row;
    const { status } = change;
    const superseded = `A later change replaces it${change.supersededBy === null ? '' : ` (${change.supersededBy})`}.`;
    const error = status === 'superseded' ? superseded : change.error;
    // The change itself does not say that it follows a merge, or what to do about a conflict that an earlier import met.
    const more = outcome === 'queued' || (outcome === 'conflict' && status === 'conflict') ? row.text : null;
    const all = [
      error,
      successor ? null : colleagueOf(change),
      more === error ? null : more,
      note && `the ${change.entityType} ${note}`,
    ];
    const values = change.remoteAfter ?? (change.remoteBefore && pick(change.remoteBefore, change.wanted));
    // For a duplicate of an earlier change, the state of that change says more than `duplicate`.
    return [status, all.filter(Boolean).join('; ') || null, values && valuesText(values)];
  };
}

/** The change of a survivor that replaces one of what was merged into it (`changes retry --follow-merges`). */
function survivorChange(
  { status, supersededBy, importId, entityId }: Change,
  byId: ReadonlyMap<string, Change>,
): Change | undefined {
  const next = status === 'superseded' ? byId.get(supersededBy ?? '') : undefined;
  if (!next || next.importId !== importId || next.entityId === entityId) return undefined;
  return survivorChange(next, byId) ?? next;
}

function valuesText(values: Values): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${valueText(value)}`)
    .join(', ');
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
