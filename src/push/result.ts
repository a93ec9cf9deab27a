import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, join, parse, resolve } from 'node:path';
import { systemClock } from '../base/clock.js';
import { messageOf, UsageError } from '../base/errors.js';
import { valueText } from '../base/units.js';
import type { Warehouse } from '../load/warehouse.js';
import type { Cell, Grid, GridRow, SheetColumn, Tone, WrittenCell } from '../sheet/grid.js';
import { type GridSheet, measuredColumns, writeGrids } from '../sheet/write.js';
import type { Change, Status } from './change.js';
import { contextColumns, editedColumns, howTo, type SheetType, sheetTables } from './edit-sheet.js';
import { kinds } from './fields.js';
import { type Header, parseHeader, resultNames } from './import/header.js';
import { idOf } from './import/values.js';
import type { ImportRow, RowOutcome } from './plan.js';
import { type ImportCopy, Previews } from './previews.js';
import { type Store, type StoredOf, storedEntitiesOf } from './stored.js';

type ImportedSheet = Pick<ImportCopy, 'grid' | 'rows'>;

interface RowResult {
  readonly result: Status | RowOutcome;
  readonly reason: string | null;
  /** What asked for its values; null when nothing did. */
  readonly change: Change | null;
}

/** Throws a UsageError when the result cannot be written to `out`: its ending, or its folder. */
export function checkResultPath(out: string): void {
  const problem = problemOf(out);
  if (problem !== null)
    throw new UsageError('The result cannot be written.', [{ setting: '--result', problem }]);
}

function problemOf(out: string): string | null {
  if (!['.xlsx', '.csv', '.tsv'].includes(extname(out).toLowerCase()))
    return `${out} does not end in .xlsx, .csv or .tsv`;
  const folder = dirname(resolve(out));
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  try {
    if (!isFolder(folder)) return `the folder ${folder} does not exist`;
    if (isFolder(out)) return `${out} is a folder`;
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return `the folder ${folder} cannot be written to: ${messageOf(error)}`;
  }
}

/**
 * Writes the imported file of a push again. When the changes that it settled or sent (`touched`) come from several
 * imports, or from one whose file is not kept, it writes a row for each change, topics and companies apart. A push
 * that had nothing to do writes the file of the last import. `changes` are all of the queue, oldest first.
 */
export async function writeResult(
  out: string,
  warehouse: Warehouse,
  changes: readonly Change[],
  touched: ReadonlySet<string>,
): Promise<void> {
  const own = changes.filter(({ id }) => touched.has(id));
  const [only, second] = new Set((own.length > 0 ? own : changes.slice(-1)).map(({ importId }) => importId));
  const previews = new Previews(warehouse.dataDir, systemClock);
  const kept = only !== undefined && second === undefined ? await previews.copy(only) : null;
  await writeResults(out, warehouse, kept ? [kept] : plainSheets(own), changes);
}

/**
 * Writes sheets again in their own form: the columns, rows and lists that they have, with `result` and `reason` beside the
 * title, which is added where they lack it. Colours say the outcome of each row, and notes what a changed cell was before.
 * The file can be edited and imported again. As text, the sheet of companies becomes a file beside that of topics.
 */
export async function writeResults(
  out: string,
  store: Store,
  imported: readonly ImportedSheet[],
  changes: readonly Change[],
): Promise<void> {
  const sheets: GridSheet[] = [];
  for (const one of imported) sheets.push(await resultSheet(store, one, changes));
  const { dir, name, ext } = parse(out);
  if (ext.toLowerCase() === '.xlsx') return writeGrids(out, sheets, { overwrite: true });
  for (const [at, sheet] of sheets.entries()) {
    const path = at === 0 ? out : join(dir, `${name}-${sheet.name.toLowerCase()}${ext}`);
    await writeGrids(path, [sheet], { overwrite: true });
  }
}

/** What "How to use" says about a result. */
const howToRead = [
  'The column "result" says what became of each row, and "reason" why. Green: applied. Blue: not sent, or not answered yet. Amber: a conflict with another value. Red: wrong or refused. The note of a changed cell has the value from before.',
  'You can edit this file and send it again. The columns "result" and "reason" are ignored then.',
];

async function resultSheet(
  store: Store,
  { grid, rows }: ImportedSheet,
  changes: readonly Change[],
): Promise<GridSheet> {
  const header = parseHeader(grid, '');
  const { entityType } = header;
  const byId = new Map(changes.map((change) => [change.id, change]));
  const byNumber = new Map(rows.map((row) => [row.row, row]));
  const changeOf = ({ number }: GridRow) => byId.get(byNumber.get(number)?.changeId ?? '') ?? null;
  const idIn = (row: GridRow) => changeOf(row)?.entityId ?? idOf(row.cells[header.id.at]) ?? '';
  // A warehouse that fails must not cost the results: they have no titles then.
  const references = grid.rows.map((row) => ({ entityType, entityId: idIn(row) }));
  const storedOf = await storedEntitiesOf(store, references).catch((): StoredOf => () => undefined);
  const titleOf = (row: GridRow) => storedOf({ entityType, entityId: idIn(row) })?.title ?? null;
  const columns = resultColumns(header, grid, titleOf);
  const at = columns.findIndex(({ column }) => /^(push_)?result$/.test(column.key));
  return {
    name: sheetTables[entityType].name,
    grid,
    hasNotes: true,
    columns: columns.map(({ column }) => column),
    cells: (row) => {
      const result = resultOf(byNumber.get(row.number), changeOf(row));
      return columns.map(({ cell }) => cell(row, result));
    },
    // As far as the result, where that leaves room on a laptop for what is beside it.
    frozenColumns: at <= 2 ? at + 1 : 1,
    howTo: [...howTo(entityType), ...howToRead],
  };
}

/** The result of a row: the state of its change, or why there is none. */
function resultOf(row: ImportRow | undefined, change: Change | null): RowResult | undefined {
  if (!row) return undefined;
  if (!change) return { result: row.outcome, reason: row.text, change };
  const { status, supersededBy, error } = change;
  const replaced = `A later change replaces it${supersededBy === null ? '' : ` (${supersededBy})`}.`;
  // For a duplicate of an earlier change, the state of that change says more than `duplicate`.
  return { result: status, reason: status === 'superseded' ? replaced : error, change };
}

/** A column of a result: its look, and its cell in each row. */
interface ResultColumn {
  readonly column: SheetColumn;
  readonly cell: (row: GridRow, result: RowResult | undefined) => WrittenCell;
}

/** The columns of the file as they are in a sheet to edit, and beside the title the outcome of each row. */
function resultColumns(header: Header, grid: Grid, titleOf: (row: GridRow) => string | null): ResultColumn[] {
  const { entityType, id, title, edited, results } = header;
  const own = new Set(grid.columns.flatMap((name, at) => (results.includes(at) ? [] : [name.toLowerCase()])));
  const [resultName, reasonName] =
    resultNames.find((names) => !names.some((one) => own.has(one))) ?? resultNames[1];
  const wide = { type: 'text', wrap: true } as const;
  const added: ResultColumn[] = [
    { column: { key: entityType === 'topic' ? 'title' : 'company', width: 36, ...wide }, cell: titleOf },
    {
      column: { key: resultName, type: 'text', width: 12 },
      cell: (_, of) => (of ? { value: of.result.replaceAll('_', ' '), tone: toneOf[of.result] } : null),
    },
    { column: { key: reasonName, width: 40, ...wide }, cell: (_, of) => of?.reason ?? null },
  ];
  // The name of a company stands in a column to edit, beside the hidden one that says whose row it is.
  const name = edited.find(({ field }) => field.name === 'name' && title !== null);
  const beside = name?.at ?? title?.at ?? id.at;
  return measuredColumns(grid).flatMap((column, at) => [
    ...(results.includes(at) ? [] : [columnOf(header, column, at)]),
    ...(at === beside ? added.slice(title === null ? 0 : 1) : []),
  ]);
}

const toneOf: Readonly<Partial<Record<RowResult['result'], Tone>>> = {
  applied: 'done',
  queued: 'open',
  sending: 'open',
  not_queued: 'open',
  conflict: 'conflict',
  failed: 'wrong',
  invalid: 'wrong',
};

/** A column of the file as it is in a sheet to edit; one that the person added stays as it is. */
function columnOf(header: Header, column: SheetColumn, at: number): ResultColumn {
  const { entityType, id, isKeyTitle, edited, baseAt } = header;
  const cell = ({ cells }: GridRow) => cells[at] ?? null;
  const looksAs = (look: Partial<SheetColumn>) => ({ ...column, ...look, key: column.key });
  if (at === id.at && !isKeyTitle) return { column: looksAs({ width: 10, wrap: false, faint: true }), cell };
  const one = edited.find((of) => of.at === at || of.base?.at === at);
  const isBase = one !== undefined && one.at !== at;
  if (!one) {
    const context = contextColumns(entityType).find(({ key }) => key === column.key.toLowerCase());
    return { column: looksAs({ ...context, ...(at === baseAt?.at && { hidden: true }) }), cell };
  }
  const { sql: _, ...looks } = editedColumns(one.field).edited;
  return {
    // Base columns are for the import; here they would stand between the rows and their results.
    column: looksAs(isBase ? { hidden: true } : { ...looks, edited: { base: one.base?.header } }),
    cell: (row, { change = null, result }: Partial<RowResult> = {}) => {
      const wanted = change?.wanted[one.field.name];
      // Of rows that were combined, each is marked where it has a value.
      if (!change || !result || wanted === undefined || (row.cells[one.at] ?? null) === null)
        return cell(row);
      // What the API has now is what the person sees from now on, in its spelling: another edit is compared with it.
      const value = result === 'applied' || result === 'unchanged' ? wanted : cell(row);
      return isBase ? value : { value, tone: toneOf[result], note: noteOf(change, one.field.name) };
    },
  };
}

/** The value that a changed cell had before, and in a conflict the value that another person set. */
function noteOf({ status, base, remoteBefore }: Change, field: string): string | undefined {
  const [found, seen] = [remoteBefore?.[field], base[field]];
  if (status === 'conflict' && found !== undefined)
    return `Now: ${valueText(found)}${seen === undefined ? '' : `\nWhen you saw it: ${valueText(seen)}`}`;
  const before = found ?? seen;
  return before === undefined ? undefined : `Before: ${valueText(before)}`;
}

/** Changes as sheets, one for topics and one for companies: the wanted values, and where each change came from. */
export function plainSheets(changes: readonly Change[]): ImportedSheet[] {
  const types: readonly SheetType[] = ['topic', 'company'];
  const isEmpty = changes.every((change) => change.entityType === 'person');
  return types.flatMap((entityType) => {
    const ofType = changes.filter((change) => change.entityType === entityType);
    // Where there is no change, a sheet of topics is empty.
    if (ofType.length === 0 && !(isEmpty && entityType === 'topic')) return [];
    const { fields, column } = kinds[entityType];
    const names = fields.map(({ name }) => name);
    const used =
      ofType.length === 0 ? names : names.filter((name) => ofType.some(({ wanted }) => name in wanted));
    const grid: Grid = {
      columns: [column, ...used, 'source', 'source_row', 'requested_by'],
      headerRow: 1,
      notes: [],
      rows: ofType.map(({ entityId, wanted, source, sourceRow, requestedBy }, index) => {
        const values = used.map((name): Cell => wanted[name] ?? null);
        return { number: index + 2, cells: [entityId, ...values, source, sourceRow, requestedBy] };
      }),
    };
    const rows = ofType.map(({ id: changeId }, index): ImportRow => {
      return { row: index + 2, outcome: 'queued', changeId, text: null };
    });
    return [{ grid, rows }];
  });
}
