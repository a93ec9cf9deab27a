import { groupBy } from '../../base/group-by.js';
import { valueText } from '../../base/units.js';
import type { Grid, GridRow } from '../../sheet/grid.js';
import { archivedReason, type Field, type Value, type Values } from '../change.js';
import { idOf, parseBaseCell, parseCell, roundedProblem, textOf, textProblem, visible } from './cells.js';
import type { EditedColumn, Header, Place } from './header.js';
import type { ImportProblem } from './preview.js';

export interface Edit {
  readonly value: Value;
  /** What the person saw there, when the file has a base column for it and that is filled. */
  readonly base?: Value;
  /** Whether the file has a base column for it. */
  readonly fromFile: boolean;
  readonly row: number;
  readonly header: string;
  readonly text: string | null;
}

/** A problem of a row, and the cell in which it is, if the same value could be in the warehouse. */
interface RowProblem extends ImportProblem {
  readonly cell?: { readonly field: Field; readonly text: string | null };
}

/** What one row says about one topic or company; without edits it asks for nothing. */
export interface ParsedRow {
  readonly row: number;
  /** Null when the cell of the id is empty or unusable. */
  readonly id: string | null;
  /** The title or name that the row has beside its id; null when it is not a text, which says nothing. */
  readonly title: string | null;
  readonly edits: Readonly<Record<string, Edit>>;
  /** The values of the base columns, also of fields without an edit. */
  readonly baseValues: Values;
  readonly baseAt: string | null;
  /** Why, as the row says; null when it does not. */
  readonly reason: string | null;
  readonly problems: readonly RowProblem[];
  /** How it was read. */
  readonly texts: readonly string[];
}

/** A row that asks for nothing. */
export function emptyRow(row: number, baseAt: string | null): ParsedRow {
  const nothing = { id: null, title: null, edits: {}, baseValues: {}, reason: null, problems: [], texts: [] };
  return { row, baseAt, ...nothing };
}

/** Whether a row asks for something, as it should or wrongly. */
export function isAsking({ edits, problems }: ParsedRow): boolean {
  return Object.keys(edits).length > 0 || problems.length > 0;
}

/** Reads every row by itself, without the warehouse or the queue: what it asks for, and every cell that makes no sense. */
export function parseRows(header: Header, grid: Grid): ParsedRow[] {
  const { merged = [], columns, separator } = grid;
  // In a text file, a comma in a cell without quotes moves what follows it into other columns.
  const width =
    separator === undefined ? Number.POSITIVE_INFINITY : columns.findLastIndex((one) => one !== '') + 1;
  return grid.rows.map((row) => {
    const beyond = row.cells.slice(width).filter((cell) => textOf(cell) !== null);
    if (beyond.length > 0) return tooWide(row, beyond.length, separator ?? '');
    const over = merged.filter(({ top, bottom }) => top < row.number && row.number <= bottom);
    return parseRow(header, row, ({ at }) => {
      const range = over.find(({ left, right }) => left <= at && at <= right);
      return (
        range &&
        `is part of the merged cells ${range.text}, which have one value: unmerge them, and fill each cell`
      );
    });
  });
}

/** A row of a text file with more cells than the header has columns: nobody knows which cell belongs to which. */
function tooWide(row: GridRow, cells: number, separator: string): ParsedRow {
  const more = cells === 1 ? '1 cell more' : `${cells} cells more`;
  const problem = `has ${more} than the file has columns: put a text that contains ${separator === '\t' ? 'a tab' : `"${separator}"`} in quotes`;
  return {
    ...emptyRow(row.number, null),
    problems: [{ row: row.number, column: null, value: null, problem }],
  };
}

/** `mergedAbove`: what is wrong where a column has its value in merged cells that begin in a row above. */
function parseRow(
  header: Header,
  row: GridRow,
  mergedAbove: (column: Place) => string | undefined,
): ParsedRow {
  const textIn = (place: Place | null) => (place === null ? null : textOf(row.cells[place.at]));
  const problems: RowProblem[] = [];
  const edits: Record<string, Edit> = {};
  const baseValues: Record<string, Value> = {};
  const id = header.isKeyTitle ? textIn(header.id) : idOf(row.cells[header.id.at]);
  const emptyId = mergedAbove(header.id) ?? `is empty: the ${header.isKeyTitle ? 'title' : 'id'} is missing`;
  const idProblem = id === null ? emptyId : (textProblem(id) ?? roundedProblem(row.cells[header.id.at]));
  if (idProblem !== null) problems.push(problemAt(row, header.id, idProblem));
  for (const column of header.edited) {
    const { field } = column;
    const merged = textIn(column) === null ? mergedAbove(column) : undefined;
    const problem = merged ? problemAt(row, column, merged) : parseEdit(column, row, edits, baseValues);
    // A reason cannot be kept when the topic leaves the archive, so a bad one does not matter.
    if (!problem || (field.name === archivedReason && edits.archived?.value === false)) continue;
    const isOfBase = problem.column === column.base?.header;
    problems.push({ ...problem, ...(!isOfBase && { cell: { field, text: textIn(column) } }) });
  }
  const reason = textIn(header.reason);
  const reasonProblem = textProblem(reason);
  if (header.reason && reasonProblem !== null) problems.push(problemAt(row, header.reason, reasonProblem));
  const baseAt = timeOf(header.baseAt === null ? null : textOf(row.cells[header.baseAt]));
  const title =
    header.title !== null && typeof row.cells[header.title.at] === 'string' ? textIn(header.title) : null;
  return {
    ...emptyRow(row.number, baseAt),
    id: idProblem === null ? id : null,
    title,
    edits,
    baseValues,
    reason,
    problems,
  };
}

/** Without a base column, every filled cell is an edit; with one, a cell that differs from its base. */
function parseEdit(
  column: EditedColumn,
  row: GridRow,
  edits: Record<string, Edit>,
  baseValues: Record<string, Value>,
): ImportProblem | undefined {
  const { field, at, header, base } = column;
  const cell = row.cells[at];
  const text = textOf(cell);
  const from = { fromFile: base !== null, row: row.number, header, text };
  const result = parseCell(field, cell);
  if (!base) {
    if (result.kind === 'value') edits[field.name] = { value: result.value, ...from };
    return result.kind === 'problem' ? problemAt(row, column, result.problem, result.allowed) : undefined;
  }
  const baseText = textOf(row.cells[base.at]);
  const baseProblem = textProblem(baseText);
  if (baseProblem !== null) return problemAt(row, base, baseProblem);
  const baseValue = parseBaseCell(field, row.cells[base.at]);
  if (baseValue === 'damaged') {
    const problem =
      'was edited, but must stay: it holds the value from when the sheet was written. Put the old value back';
    return problemAt(row, base, problem);
  }
  if (baseValue !== undefined) baseValues[field.name] = baseValue;
  if (text === baseText) return undefined;
  if (result.kind === 'nothing') {
    const emptied =
      field.kind === 'boolean'
        ? 'was emptied: write FALSE to unset it'
        : 'was emptied, but the API has no documented way to clear it: restore the old value, or set another one';
    return baseValue === false ? undefined : problemAt(row, column, emptied);
  }
  // `Unknown` beside the base `unknown` is not an edit either.
  if (field.kind === 'text' && field.allowed && baseValue === parseBaseCell(field, cell)) return undefined;
  if (result.kind === 'problem') return problemAt(row, column, result.problem, result.allowed);
  if (result.value === baseValue) return undefined;
  edits[field.name] = { value: result.value, ...(baseValue !== undefined && { base: baseValue }), ...from };
  return undefined;
}

/** A problem of a cell. */
export function problemAt(
  { number, cells }: GridRow,
  { at, header }: Place,
  problem: string,
  allowed?: readonly string[],
): ImportProblem {
  const text = textOf(cells[at]);
  const value = text === null ? null : visible(text);
  return { row: number, column: header, value, problem, ...(allowed && { allowed }) };
}

/** A time as ISO 8601, also when a spreadsheet program has reformatted it; null for anything else. */
export function timeOf(text: string | null): string | null {
  if (text === null || !/^\d{4}-\d\d-\d\d/.test(text)) return null;
  const at = new Date(/Z$|[+-]\d\d:?\d\d$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** What all rows of a file together say about one topic or company. */
export interface EntityEdits extends Pick<ParsedRow, 'edits' | 'baseValues' | 'baseAt' | 'reason'> {
  readonly id: string;
  /** In the order of the file; a change records the first one. */
  readonly rows: readonly number[];
}

/** Combines the rows of each id. No row is used of an id whose rows contradict each other (`problems`). */
export function combineRows(rows: readonly ParsedRow[]): {
  readonly entities: readonly EntityEdits[];
  readonly problems: readonly ImportProblem[];
} {
  const entities: EntityEdits[] = [];
  const problems: ImportProblem[] = [];
  const valid = rows.filter((one) => one.problems.length === 0);
  for (const [id, sameId] of groupBy(valid, (one) => one.id)) {
    const found = contradictions(sameId);
    problems.push(...found);
    if (id !== null && found.length === 0) entities.push(combined(id, sameId));
  }
  return { entities, problems };
}

function combined(id: string, rows: readonly ParsedRow[]): EntityEdits {
  // Of two bases the newer one is used, so that the order of the rows does not matter.
  const oldestFirst = rows
    .map((one) => ({ one, key: baseKey(one) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ one }) => one);
  return {
    id,
    rows: rows.map(({ row }) => row),
    edits: Object.assign({}, ...oldestFirst.map(({ edits }) => edits)),
    baseValues: Object.assign({}, ...oldestFirst.map(({ baseValues }) => baseValues)),
    baseAt: oldestFirst.at(-1)?.baseAt ?? null,
    reason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
  };
}

function baseKey({ baseAt, baseValues }: ParsedRow): string {
  const sorted = Object.entries(baseValues).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${baseAt ?? ''} ${JSON.stringify(sorted)}`;
}

/** Each row that sets another value than the first row that sets one, and that first row. */
function contradictions(rows: readonly ParsedRow[]): ImportProblem[] {
  const firsts = new Map<string, Edit>();
  const found = new Map<string, ImportProblem>();
  const contradicts = (name: string, one: Edit, other: Edit) => {
    const problem = `contradicts row ${other.row}, which sets ${valueText(other.value)} for the same id: delete one of them`;
    found.set(`${one.row} ${name}`, problemOf(one, problem));
  };
  for (const [name, edit] of rows.flatMap(({ edits }) => Object.entries(edits))) {
    const first = firsts.get(name) ?? edit;
    firsts.set(name, first);
    if (first.value === edit.value) continue;
    contradicts(name, first, edit);
    contradicts(name, edit, first);
  }
  return [...found.values()];
}

/** What is wrong with an edit. */
export function problemOf({ row, header, text }: Edit, problem: string): ImportProblem {
  return { row, column: header, value: text, problem };
}
