import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Grid, type GridRow, maxCellChars } from '../../sheet/grid.js';
import { archivedReason, type Value, type Values } from '../fields.js';
import type { ImportProblem } from '../plan.js';
import type { EditedColumn, Header, Place } from './header.js';
import { idOf, parseBaseCell, parseCell, roundedProblem, textOf, textProblem, visible } from './values.js';

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

/** What one row says about one topic or company; without edits it asks for nothing. */
export interface ParsedRow {
  readonly row: number;
  /** Null when the cell of the id is empty or unusable; in a file without ids, it is the title. */
  readonly id: string | null;
  /** The title or name that the row has beside its id; null when it is not a text, which says nothing. */
  readonly title: string | null;
  readonly edits: Readonly<Record<string, Edit>>;
  /** The values of the base columns, also of fields without an edit. */
  readonly baseValues: Values;
  readonly baseAt: string | null;
  /** Why, as the row says; null when it does not. */
  readonly reason: string | null;
  readonly problems: readonly ImportProblem[];
}

/** Whether a row asks for something, as it should or wrongly. */
export function isAsking({ edits, problems }: ParsedRow): boolean {
  return Object.keys(edits).length > 0 || problems.length > 0;
}

/** Reads every row by itself, without the warehouse or the queue: what it asks for, and every cell that makes no sense. */
export function parseRows(header: Header, { rows, merged = [], columns, separator }: Grid): ParsedRow[] {
  // In a text file, a comma in a cell without quotes moves what follows it into other columns.
  const width =
    separator === undefined ? Number.POSITIVE_INFINITY : columns.findLastIndex((one) => one !== '') + 1;
  return rows.map((row) => {
    const beyond = row.cells.slice(width).filter((cell) => textOf(cell) !== null).length;
    const over = merged.filter(({ top, bottom }) => top < row.number && row.number <= bottom);
    const mergedAbove = ({ at }: Place) => {
      const range = over.find(({ left, right }) => left <= at && at <= right);
      return (
        range &&
        `is part of the merged cells ${range.text}, which have one value: unmerge them, and fill each cell`
      );
    };
    const parsed = parseRow(header, row, mergedAbove);
    if (beyond === 0) return parsed;
    const problem = `has ${beyond === 1 ? '1 cell' : `${beyond} cells`} more than the file has columns: put a text that contains ${separator === '\t' ? 'a tab' : `"${separator}"`} in quotes`;
    return { ...parsed, edits: {}, problems: [{ row: row.number, column: null, value: null, problem }] };
  });
}

/** `mergedAbove`: what is wrong where a column has its value in merged cells that begin in a row above. */
function parseRow(
  header: Header,
  row: GridRow,
  mergedAbove: (column: Place) => string | undefined,
): ParsedRow {
  const textIn = (place: Place | null) => (place === null ? null : textOf(row.cells[place.at]));
  const problems: ImportProblem[] = [];
  const wrong = (place: Place, problem: string | null, allowed?: readonly string[]) => {
    const text = textIn(place);
    const value = text === null ? null : visible(text);
    if (problem !== null)
      problems.push({ row: row.number, column: place.header, value, problem, ...(allowed && { allowed }) });
  };
  const idCell = row.cells[header.id.at];
  const id = header.isKeyTitle ? textOf(idCell) : idOf(idCell);
  const emptyId = mergedAbove(header.id) ?? `is empty: the ${header.isKeyTitle ? 'title' : 'id'} is missing`;
  const idProblem = id === null ? emptyId : (textProblem(id) ?? roundedProblem(idCell));
  wrong(header.id, idProblem);
  const edits: Record<string, Edit> = {};
  const baseValues: Record<string, Value> = {};
  for (const column of header.edited) {
    const merged = textIn(column) === null ? mergedAbove(column) : undefined;
    const {
      edit,
      baseValue,
      problem,
      place = column,
      allowed,
    } = merged ? { problem: merged } : editIn(column, row);
    if (edit) edits[column.field.name] = edit;
    if (baseValue !== undefined) baseValues[column.field.name] = baseValue;
    // A reason cannot be kept when the topic leaves the archive, so a bad one does not matter.
    const isMoot = column.field.name === archivedReason && edits.archived?.value === false;
    if (!isMoot) wrong(place, problem ?? null, allowed);
  }
  const reason = textIn(header.reason);
  if (header.reason) wrong(header.reason, textProblem(reason));
  const title = header.title && typeof row.cells[header.title.at] === 'string' ? textIn(header.title) : null;
  return {
    row: row.number,
    id: idProblem === null ? id : null,
    title,
    edits,
    baseValues,
    baseAt: timeOf(textIn(header.baseAt)),
    reason,
    problems,
  };
}

interface FoundEdit {
  readonly edit?: Edit;
  readonly baseValue?: Value;
  readonly problem?: string;
  /** Where the problem is, if not in the cell itself. */
  readonly place?: Place;
  readonly allowed?: readonly string[] | undefined;
}

/** Without a base column, every filled cell is an edit; with one, a cell that differs from its base. */
function editIn({ field, at, header, base }: EditedColumn, { number: row, cells }: GridRow): FoundEdit {
  const cell = cells[at];
  const text = textOf(cell);
  const from = { fromFile: base !== null, row, header, text };
  const parsed = parseCell(field, cell);
  if (!base) {
    if (parsed.kind === 'value') return { edit: { value: parsed.value, ...from } };
    return parsed.kind === 'problem' ? parsed : {};
  }
  const baseText = textOf(cells[base.at]);
  const baseProblem = textProblem(baseText);
  if (baseProblem !== null) return { problem: baseProblem, place: base };
  const baseValue = parseBaseCell(field, cells[base.at]);
  if (baseValue === 'damaged') {
    const problem =
      'was edited, but must stay: it holds the value from when the sheet was written. Put the old value back';
    return { problem, place: base };
  }
  const seen = baseValue === undefined ? {} : { baseValue };
  if (text === baseText) return seen;
  if (parsed.kind === 'nothing') {
    const emptied =
      field.kind === 'boolean'
        ? 'was emptied: write FALSE to unset it'
        : 'was emptied, but the API has no documented way to clear it: restore the old value, or set another one';
    return baseValue === false ? seen : { ...seen, problem: emptied };
  }
  // `Unknown` beside the base `unknown` is not an edit either.
  if (field.kind === 'text' && field.allowed && baseValue === parseBaseCell(field, cell)) return seen;
  if (parsed.kind === 'problem') return { ...seen, problem: parsed.problem, allowed: parsed.allowed };
  if (parsed.value === baseValue) return seen;
  const edit = { value: parsed.value, ...(baseValue !== undefined && { base: baseValue }), ...from };
  return { ...seen, edit };
}

/** A title without differences in case, spaces and the form of Unicode. titled.sql does the same. */
export function titleKey(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/gu, ' ').trim();
}

/** Whether a cell has this title. Sheets that we write protect a text that looks like a formula, and cut one that is too long. */
export function isSameTitle(cell: string, title: string): boolean {
  const [one, other] = [titleKey(cell.replace(/^'/, '')), titleKey(title.replace(/^'/, ''))];
  return one === other || (title.length >= maxCellChars && other.startsWith(one.replace(/…$/, '')));
}

/** A time as ISO 8601, also when a spreadsheet program has reformatted it; null for anything else. */
function timeOf(text: string | null): string | null {
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

/** The rows of one id as one. Of two bases the newer one is used. */
function combined(id: string, rows: readonly ParsedRow[]): EntityEdits {
  const byTime = groupBy(rows, ({ baseAt }) => baseAt ?? '');
  const oldestFirst = [...byTime.keys()].sort().flatMap((time) => byTime.get(time) ?? []);
  return {
    id,
    rows: rows.map(({ row }) => row),
    edits: Object.assign({}, ...oldestFirst.map(({ edits }) => edits)),
    baseValues: Object.assign({}, ...oldestFirst.map(({ baseValues }) => baseValues)),
    baseAt: oldestFirst.at(-1)?.baseAt ?? null,
    reason: rows.find(({ reason }) => reason !== null)?.reason ?? null,
  };
}

/** Each edit of a field that rows of one id set to different values. */
function contradictions(rows: readonly ParsedRow[]): ImportProblem[] {
  const edits = groupBy(
    rows.flatMap((row) => Object.entries(row.edits)),
    ([name]) => name,
  );
  return [...edits.values()].flatMap((same) => {
    if (new Set(same.map(([, { value }]) => value)).size === 1) return [];
    const where = firstOf(
      same.map(([, { row }]) => row),
      5,
    );
    const problem = `is not the same in all rows of this id (rows ${where}): keep one of them`;
    return same.map(([, edit]) => problemOf(edit, problem));
  });
}

/** What is wrong with an edit. */
export function problemOf({ row, header, text }: Edit, problem: string): ImportProblem {
  return { row, column: header, value: text, problem };
}
