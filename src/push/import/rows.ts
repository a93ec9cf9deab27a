import { domainToASCII } from 'node:url';
import { closestMatch, folded } from '../../base/closest.js';
import { groupBy } from '../../base/group-by.js';
import { firstOf } from '../../base/units.js';
import { type Cell, type Grid, type GridRow, maxCellChars, noResult } from '../../sheet/grid.js';
import { archivedReason, type Field, type Value, type Values } from '../change.js';
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
  readonly problems: readonly ImportProblem[];
  /** The topic or company that was found by its title; null when the row has its id. */
  readonly foundBy: string | null;
}

/** A row that asks for nothing. */
export function emptyRow(row: number, baseAt: string | null): ParsedRow {
  const nothing = {
    id: null,
    title: null,
    edits: {},
    baseValues: {},
    reason: null,
    problems: [],
    foundBy: null,
  };
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
  const problems: ImportProblem[] = [];
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
    if (problem && !(field.name === archivedReason && edits.archived?.value === false))
      problems.push(problem);
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

/** What a cell asks for: nothing, a value, or something that is not possible. */
type ParsedCell =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problem'; readonly problem: string; readonly allowed?: readonly string[] };

/** Spreadsheet programs write TRUE and FALSE into a CSV file in the language of their user. */
const trueWords = new Set([
  'true',
  'yes',
  'y',
  't',
  '1',
  'x',
  'on',
  'wahr',
  'vrai',
  'verdadero',
  'vero',
  'waar',
]);
const falseWords = new Set(['false', 'no', 'n', 'f', '0', 'off', 'falsch', 'faux', 'falso', 'onwaar']);
const booleans = ['TRUE', 'FALSE'] as const;

/** The lifecycle state that only the service sets. */
const serviceState = 'unknown';

/** What people write for a value, in words that are not spelled like it. They are never taken for it: a person decides. */
const usualWords: Readonly<Record<string, readonly string[]>> = {
  very_high: ['p0', 'urgent', 'critical', 'blocker', 'highest', 'sehrhoch', 'dringend'],
  high: ['p1', 'hoch', 'important', 'haute', 'alta'],
  default: ['p2', 'medium', 'normal', 'mittel', 'none'],
  low: ['p3', 'niedrig', 'minor', 'basse', 'baja'],
  very_low: ['p4', 'lowest', 'trivial', 'sehrniedrig'],
  open: ['new', 'todo', 'offen', 'reopened'],
  in_progress: ['wip', 'doing', 'started', 'active', 'inarbeit'],
  completed: ['done', 'closed', 'fixed', 'resolved', 'erledigt', 'fertig'],
  dismissed: ['wontfix', 'rejected', 'declined', 'invalid', 'abgelehnt'],
};

/** The text of a cell as a person sees it, or null when it is empty. */
export function textOf(cell: Cell | undefined): string | null {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
  if (typeof cell === 'boolean') return cell ? 'TRUE' : 'FALSE';
  const text = String(cell).trim();
  return text === '' ? null : text;
}

/** Characters that look like a hyphen, and those that nobody sees: what is copied from a web page or a chat has them. */
const hyphens = /[\u2010\u2011\u2012\u2013\u2212\uFE63\uFF0D]/gu;
const unseen =
  /[\p{Cf}\p{Cc}\p{Variation_Selector}\u00A0\u115F\u1160\u2000-\u200A\u202F\u205F\u3000\u3164]/gu;

/**
 * The id in a cell: without what cannot be seen, with plain hyphens, and out of `="…"`, with which programs keep a spreadsheet
 * from changing it. Null when the cell is empty.
 */
export function idOf(cell: Cell | undefined): string | null {
  const text = textOf(cell);
  if (text === null || textProblem(text) !== null) return text;
  const [, inner = text] = /^=?"(.*)"$/su.exec(text) ?? [];
  return inner.replace(unseen, '').replace(hyphens, '-').trim() || null;
}

/** A text of which everything can be seen, for messages: an invisible character is shown as its number. */
export function visible(text: string): string {
  return text.replace(
    unseen,
    (found) => `<U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
  );
}

/** Why no column can have a text: it is a formula without a value, or DuckDB's JSON reader refuses it; null when it can. */
export function textProblem(text: string | null): string | null {
  if (text === noResult)
    return 'is a formula without a stored value: open the file in a spreadsheet program and save it there, or type the value';
  const at = text?.search(/\0|\p{Cs}/u) ?? -1;
  if (text === null || at === -1) return null;
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
  return `contains a character that cannot be stored (U+${code}, character ${at + 1}): delete it`;
}

/** Why a number is not the digits that a person typed: with more than 15, a spreadsheet program has rounded it; null when it is. */
function roundedProblem(cell: Cell | undefined): string | null {
  if (typeof cell !== 'number' || (Number.isInteger(cell) && Math.abs(cell) < 1e15)) return null;
  return 'is a number that may have lost digits: format the cell as text';
}

/** Reads a cell of a column that can be edited: tolerant about spelling, strict about meaning. */
export function parseCell(field: Field, cell: Cell | undefined): ParsedCell {
  const text = textOf(cell);
  if (text === null) return { kind: 'nothing' };
  const problem = textProblem(text);
  if (problem !== null) return { kind: 'problem', problem };
  if (field.kind === 'boolean') return parseBoolean(text);
  if (field.allowed) return parseChoice(text, field.allowed, field.name);
  return parseText(field, cell, text);
}

/** Reads a cell of a base column, which may also have a value that nobody can set. Undefined when the value is not known. */
function parseBaseCell(field: Field, cell: Cell | undefined): Value | undefined | 'damaged' {
  const text = textOf(cell);
  if (field.kind === 'boolean') {
    if (text === null) return undefined;
    const parsed = parseBoolean(text);
    return parsed.kind === 'value' ? parsed.value : 'damaged';
  }
  if (text === null || !field.allowed) return text;
  return [...field.allowed, serviceState].find((one) => folded(one) === folded(text)) ?? text;
}

function parseBoolean(text: string): ParsedCell {
  const word = folded(text);
  if (trueWords.has(word) || text === '✓' || text === '✔') return { kind: 'value', value: true };
  if (falseWords.has(word)) return { kind: 'value', value: false };
  return { kind: 'problem', problem: 'is neither TRUE nor FALSE', allowed: booleans };
}

function parseChoice(text: string, allowed: readonly string[], name: string): ParsedCell {
  const found = allowed.find((one) => folded(one) === folded(text));
  if (found !== undefined) return { kind: 'value', value: found };
  if (name === 'lifecycle_state' && folded(text) === serviceState) {
    return { kind: 'problem', problem: 'can only be set by the service', allowed };
  }
  const guess = allowed.find((one) => usualWords[one]?.includes(folded(text))) ?? closestMatch(text, allowed);
  const hint = guess === undefined ? '' : `; did you mean ${guess}?`;
  return { kind: 'problem', problem: `is not a ${name}${hint}`, allowed };
}

function parseText(field: Field, cell: Cell | undefined, text: string): ParsedCell {
  if (cell instanceof Date)
    return { kind: 'problem', problem: 'is a date; expected text: format the cell as text' };
  if (typeof cell === 'boolean')
    return { kind: 'problem', problem: 'is a boolean; expected text: format the cell as text' };
  const rounded = roundedProblem(cell);
  if (rounded !== null) return { kind: 'problem', problem: rounded };
  if (isFormulaError(text)) return { kind: 'problem', problem: 'is a formula error' };
  if (field.format === undefined || hasFormat[field.format](text)) return { kind: 'value', value: text };
  return { kind: 'problem', problem: `is not ${examples[field.format]}` };
}

const hasFormat = {
  'web address': (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  domain: isDomain,
  'e-mail address': (text: string) => isDomain(/^[^\s@<>,;:"]+@([^\s@]+)$/.exec(text)?.[1] ?? ''),
} as const;

const examples: Readonly<Record<NonNullable<Field['format']>, string>> = {
  'web address': 'an address that starts with https:// or http://',
  domain: 'a domain: write it like acme.example',
  'e-mail address': 'an e-mail address: write one, like kim@acme.example',
};

/** Whether a text is a host name with at least two parts, and nothing beside it. */
function isDomain(text: string): boolean {
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?';
  const isName = new RegExp(`^(?=.{4,253}$)(${label}\\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$`);
  return !/[^\p{L}\p{M}\p{N}._-]/u.test(text) && isName.test(domainToASCII(text));
}

export function isFormulaError(text: string): boolean {
  return /^#(REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!)$/.test(text);
}
