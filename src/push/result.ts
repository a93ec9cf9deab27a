import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, join, parse, resolve } from 'node:path';
import { systemClock } from '../base/clock.js';
import { messageOf, UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { valueText } from '../base/units.js';
import type { Cell, Grid, GridRow, SheetColumn, Tone, WrittenCell } from '../sheet/grid.js';
import { type GridSheet, measuredColumns, writeGrid, writeGrids } from '../sheet/write.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { type Change, kinds, type Status } from './change.js';
import { settersOf } from './contested.js';
import { duplicatesName, howToDecide } from './duplicates-sheet.js';
import { editedColumns, howTo, type SheetType, sheetTables } from './edit-sheet.js';
import { idOf } from './import/cells.js';
import { type EditedColumn, type Header, parseHeader, resultNames } from './import/header.js';
import type { ImportRow, RowOutcome } from './import/preview.js';
import { type ImportCopy, Previews } from './previews.js';
import { noteFor, type Store, type StoredOf, storedEntitiesOf } from './stored.js';

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
 * imports, or from one whose file is not kept (SQL), it writes a row for each change, topics and companies apart. A push
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
 * title, which is added where they lack it. Colours say what became of each row, and notes what a changed cell was before.
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
  if (sheets.length === 0) return writeGrid(out, nothing, { overwrite: true });
  if (ext.toLowerCase() === '.xlsx') return writeGrids(out, sheets, { overwrite: true });
  for (const [at, sheet] of sheets.entries()) {
    const path = at === 0 ? out : join(dir, `${name}-${sheet.name.toLowerCase()}${ext}`);
    await writeGrids(path, [sheet], { overwrite: true });
  }
}

/** The result of a push when there never was a change. */
const nothing: Grid = {
  columns: ['topic_id', 'title', 'result', 'reason'],
  headerRow: 1,
  rows: [],
  notes: [],
};

async function resultSheet(
  store: Store,
  { grid, rows }: ImportedSheet,
  changes: readonly Change[],
): Promise<GridSheet> {
  const header = parseHeader(grid.columns, '');
  const { entityType } = header;
  const byId = new Map(changes.map((change) => [change.id, change]));
  const cellId = ({ cells }: GridRow) => idOf(cells[header.id.at]) ?? '';
  const references = [...grid.rows.map(cellId), ...rows.map((row) => byId.get(row.changeId ?? '')?.entityId)];
  // A warehouse that fails must not cost the results: they have no titles then.
  const find = (from: Store | null) =>
    storedEntitiesOf(
      from,
      references.flatMap((entityId) => (entityId ? [{ entityType, entityId }] : [])),
    );
  const storedOf = await find(store).catch(() => find(null));
  const resultOf = rowResults(rows, changes, storedOf);
  const titleOf = (row: GridRow) => storedOf({ entityType, entityId: cellId(row) })?.title ?? null;
  const columns = resultColumns(header, grid, titleOf);
  const table = sheetTables[entityType];
  const at = columns.findIndex(({ column }) => /^(push_)?result$/.test(column.key));
  return {
    name: header.pair ? duplicatesName : table.name,
    grid,
    hasNotes: true,
    columns: columns.map(({ column }) => column),
    cells: (row) => {
      const result = resultOf(row);
      return columns.map(({ cell }) => cell(row, result));
    },
    // As far as the result, where that leaves room on a laptop for what is beside it.
    frozenColumns: at <= 2 ? at + 1 : 1,
    howTo: [...(header.pair ? howToDecide(null) : howTo(table)), ...howToRead],
  };
}

/** What "How to use" says about a result. */
const howToRead = [
  'The column "result" says what became of each row, and "reason" why. Green: applied. Blue: not sent, or not answered yet. Amber: a conflict with another value. Red: wrong or refused. The note of a changed cell has the value from before.',
  'You can edit this file and send it again. The columns "result" and "reason" are ignored then.',
];

/** A column of a result: its look, and its cell in each row. */
interface ResultColumn {
  readonly column: SheetColumn;
  readonly cell: (row: GridRow, result: RowResult | undefined) => WrittenCell;
}

/** The columns of the file as they are in a sheet to edit, and beside the title what became of each row. */
function resultColumns(header: Header, grid: Grid, titleOf: (row: GridRow) => string | null): ResultColumn[] {
  const { entityType, id, title, edited, results, pair } = header;
  const own = new Set(grid.columns.flatMap((name, at) => (results.includes(at) ? [] : [name.toLowerCase()])));
  const [resultName, reasonName] =
    resultNames.find((names) => !names.some((one) => own.has(one))) ?? resultNames[1];
  const wide = { type: 'text', wrap: true } as const;
  const added: ResultColumn[] = [
    { column: { key: titleNameOf[entityType], width: 36, ...wide }, cell: titleOf },
    {
      column: { key: resultName, type: 'text', width: 12 },
      cell: (_, of) => (of ? { value: of.result.replaceAll('_', ' '), tone: toneOf[of.result] } : null),
    },
    { column: { key: reasonName, width: 40, ...wide }, cell: (_, of) => of?.reason ?? null },
  ];
  // The name of a company stands in a column to edit, beside the hidden one that says whose row it is.
  const name = edited.find(({ field }) => field.name === 'name' && title !== null);
  const beside = pair?.keep.at ?? name?.at ?? title?.at ?? id.at;
  return measuredColumns(grid).flatMap((column, at) => [
    ...(results.includes(at) ? [] : [columnOf(header, column, at)]),
    ...(at === beside ? added.slice(title === null ? 0 : 1) : []),
  ]);
}

const titleNameOf: Readonly<Record<SheetType, string>> = { topic: 'title', company: 'company' };

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
  const { entityType, id, isKeyTitle, edited, baseAt, pair } = header;
  const valueIn = ({ cells }: GridRow) => cells[at] ?? null;
  const as = (look: Partial<SheetColumn>, cell: ResultColumn['cell'] = valueIn): ResultColumn => ({
    column: { ...column, ...look, key: column.key },
    cell,
  });
  if (at === pair?.keep.at)
    return as({ width: 10, edited: {} }, (row, of) => ({
      value: valueIn(row),
      tone: of?.change ? toneOf[of.result] : undefined,
    }));
  const isId = pair ? pair.ids.some((place) => place.at === at) : at === id.at && !isKeyTitle;
  if (isId) return as({ width: 10, wrap: false, faint: true });
  const one = edited.find((of) => of.at === at || of.base?.at === at);
  // They are for the import; here they would stand between the rows and their results.
  if (at === baseAt || (one && one.at !== at)) return as({ hidden: true }, one && changedCell(one, at));
  if (!one)
    return as(sheetTables[entityType].context.find(({ key }) => key === column.key.toLowerCase()) ?? {});
  const { sql: _, ...looks } = editedColumns(one.field).edited;
  return as({ ...looks, edited: { base: one.base?.header } }, changedCell(one, at));
}

/** The cell of a column to edit, or of its base: with a colour and a note where the row's change is about it. */
function changedCell({ field, at: editedAt }: EditedColumn, at: number): ResultColumn['cell'] {
  return ({ cells }, { change = null, result }: Partial<RowResult> = {}) => {
    const value = cells[at] ?? null;
    const wanted = change?.wanted[field.name];
    // Of rows that were combined, each is marked where it has a value.
    if (!change || !result || wanted === undefined || (cells[editedAt] ?? null) === null) return value;
    // What the API has now is what the person sees from now on, in its spelling: another edit is compared with it.
    const shown = result === 'applied' || result === 'unchanged' ? wanted : value;
    if (at !== editedAt) return shown;
    return { value: shown, tone: toneOf[result], note: noteOf(change, field.name) };
  };
}

/** The value that a changed cell had before, and in a conflict the value that somebody else set. */
function noteOf({ status, base, remoteBefore }: Change, field: string): string | undefined {
  const [found, seen] = [remoteBefore?.[field], base[field]];
  if (status === 'conflict' && found !== undefined)
    return `Now: ${valueText(found)}${seen === undefined ? '' : `\nWhen you saw it: ${valueText(seen)}`}`;
  const before = found ?? seen;
  return before === undefined ? undefined : `Before: ${valueText(before)}`;
}

/** The result of each row: the state of its change, what happened to its topic or company, and who made the other change. */
function rowResults(
  rows: readonly ImportRow[],
  changes: readonly Change[],
  storedOf: StoredOf,
): (row: GridRow) => RowResult | undefined {
  const byNumber = new Map(rows.map((row) => [row.row, row]));
  const byId = new Map(changes.map((change) => [change.id, change]));
  const setterOf = settersOf(changes);
  return ({ number }) => {
    const row = byNumber.get(number);
    if (!row) return undefined;
    const change = byId.get(row.changeId ?? '');
    if (!change) return { result: row.outcome, reason: row.text, change: null };
    const { outcome } = row;
    const { status } = change;
    const superseded = `A later change replaces it${change.supersededBy === null ? '' : ` (${change.supersededBy})`}.`;
    const error = status === 'superseded' ? superseded : change.error;
    // The change itself does not say that it follows a merge.
    const more = outcome === 'queued' || (outcome === 'conflict' && status === 'conflict') ? row.text : null;
    const note = noteFor(storedOf(change), change.wanted);
    const all = [
      error,
      setterOf(change),
      more === error ? null : more,
      note && `the ${change.entityType} ${note}`,
    ];
    // For a duplicate of an earlier change, the state of that change says more than `duplicate`.
    return { result: status, reason: all.filter(Boolean).join('; ') || null, change };
  };
}

/** Changes as sheets, one for topics and one for companies: the wanted values, and where each change came from. */
export function plainSheets(changes: readonly Change[]): ImportedSheet[] {
  const types: readonly SheetType[] = ['topic', 'company'];
  const ofSheets = groupBy(changes, ({ entityType }) => entityType);
  return types
    .flatMap((entityType) => [[entityType, ofSheets.get(entityType) ?? []] as const])
    .filter(([, ofType]) => ofType.length > 0)
    .map(([entityType, ofType]) => {
      const names = kinds[entityType].fields.map(({ name }) => name);
      const used = names.filter((name) => ofType.some(({ wanted }) => wanted[name] !== undefined));
      return {
        grid: {
          columns: [kinds[entityType].column, ...used, 'source', 'source_row', 'requested_by'],
          headerRow: 1,
          notes: [],
          rows: ofType.map(({ entityId, wanted, source, sourceRow, requestedBy }, index) => {
            const values = used.map((name): Cell => wanted[name] ?? null);
            return { number: index + 2, cells: [entityId, ...values, source, sourceRow, requestedBy] };
          }),
        },
        rows: ofType.map(({ id: changeId }, index) => {
          return { row: index + 2, outcome: 'queued', changeId, text: null };
        }),
      };
    });
}
