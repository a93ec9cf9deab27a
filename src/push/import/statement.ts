import type { Grid, GridRow } from '../../sheet/grid.js';
import { archivedReason, type Value, type Values } from '../fields.js';
import type { EditedColumn, Heading } from './heading.js';
import type { ImportProblem } from './report.js';
import { read, readBase, showSame, textOf } from './values.js';

/** One field that a row says something about. */
export interface Wanted {
  readonly value: Value;
  /** What the person saw there, where the file has a column for it and that is filled. */
  readonly base?: Value;
  /** Whether the file has a base column for it. */
  readonly fromFile: boolean;
  readonly row: number;
  readonly header: string;
  readonly text: string | null;
}

/** What one row says about one topic or company; without a field it says nothing. */
export interface Statement {
  readonly row: number;
  readonly id: string;
  readonly said: Readonly<Record<string, Wanted>>;
  /** What the base columns show, also of fields that are as they were. */
  readonly seen: Values;
  readonly baseAt: string | null;
}

/** What is said of a row beyond its cells. */
export interface RowRead {
  readonly row: number;
  /** Null when the cell of the id is empty. */
  readonly id: string | null;
  readonly statement: Statement | null;
  readonly problems: readonly ImportProblem[];
}

/** Reads one row by itself: no warehouse and no queue is needed to say what it wants, or what in it cannot be meant. */
export function readRow(heading: Heading, row: GridRow): RowRead {
  const problems: ImportProblem[] = [];
  const said: Record<string, Wanted> = {};
  const seen: Record<string, Value> = {};
  const id = textOf(row.cells[heading.id.at]);
  if (id === null) {
    const { header } = heading.id;
    problems.push({ row: row.number, column: header, value: null, problem: 'is empty: the id is missing' });
  }
  for (const column of heading.edited) {
    const problem = column.base ? readEdited(column, row, said, seen) : readListed(column, row, said);
    // Whoever takes a topic out of the archive need not keep its reason, and cannot.
    if (problem && !(column.field.name === archivedReason && said.archived?.value === false))
      problems.push(problem);
  }
  const good = problems.length === 0 && id !== null;
  const baseAt = momentIn(heading.baseAt === null ? null : textOf(row.cells[heading.baseAt]));
  const statement = good ? { row: row.number, id, said, seen, baseAt } : null;
  return { row: row.number, id, statement, problems };
}

/** Without a base column every cell that is filled is a wish. */
function readListed(
  { field, at, header }: EditedColumn,
  row: GridRow,
  said: Record<string, Wanted>,
): ImportProblem | undefined {
  const cell = row.cells[at];
  const result = read(field, cell);
  const text = textOf(cell);
  if (result.kind === 'problem') return problemAt(row, header, text, result);
  if (result.kind === 'value')
    said[field.name] = { value: result.value, fromFile: false, row: row.number, header, text };
  return undefined;
}

/** With one, a wish is where the cell differs from it. */
function readEdited(
  { field, at, header, base }: EditedColumn,
  row: GridRow,
  said: Record<string, Wanted>,
  seen: Record<string, Value>,
): ImportProblem | undefined {
  const [cell, baseCell] = [row.cells[at], base ? row.cells[base.at] : null];
  const text = textOf(cell);
  const was = readBase(field, baseCell);
  if (was === 'damaged') {
    const problem = 'was edited: base columns show what was there when the sheet was made, and must stay';
    return problemAt(row, base?.header ?? header, textOf(baseCell), { problem });
  }
  if (was !== undefined) seen[field.name] = was;
  if (showSame(cell, baseCell)) return undefined;
  const result = read(field, cell);
  if (result.kind === 'nothing') return was === false ? undefined : emptied(row, header, field.kind);
  // `Unknown` beside the base `unknown` is no edit either.
  if (field.kind === 'text' && field.allowed && was === readBase(field, cell)) return undefined;
  if (result.kind === 'problem') return problemAt(row, header, text, result);
  if (result.value === was) return undefined;
  const known = was === undefined ? {} : { base: was };
  said[field.name] = { value: result.value, ...known, fromFile: true, row: row.number, header, text };
  return undefined;
}

function emptied(row: GridRow, header: string, kind: 'text' | 'boolean'): ImportProblem {
  const problem =
    kind === 'boolean'
      ? 'was emptied: write FALSE to unset it'
      : 'was emptied, and the API shows no way to clear it: put the old value back, or another one';
  return { row: row.number, column: header, value: null, problem };
}

function problemAt(
  row: GridRow,
  column: string,
  value: string | null,
  { problem, allowed }: { problem: string; allowed?: readonly string[] },
): ImportProblem {
  return { row: row.number, column, value, problem, ...(allowed && { allowed }) };
}

/** A spreadsheet program may have made another form of the time; what is none is not relied on. */
function momentIn(text: string | null): string | null {
  if (text === null || !/^\d{4}-\d\d-\d\d/.test(text)) return null;
  const at = new Date(/Z$|[+-]\d\d:?\d\d$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Every row of a file. */
export function readRows(heading: Heading, grid: Grid): RowRead[] {
  return grid.rows.map((row) => readRow(heading, row));
}
