import { closestMatch, folded, withoutBrackets } from '../../base/closest.js';
import { type Problem, UsageError } from '../../base/errors.js';
import { columnLetters, type Grid, otherSheetsText } from '../../sheet/grid.js';
import { contextColumns, type SheetType, sheetTables } from '../edit-sheet.js';
import { type Field, kinds } from '../fields.js';

/** A column of the file: its place, and its header as written. */
export interface Place {
  readonly at: number;
  readonly header: string;
}

/** A column that can be edited, and the base column that shows what the person saw in it. */
export interface EditedColumn extends Place {
  readonly field: Field;
  readonly base: Place | null;
}

/** What the columns of a file mean. */
export interface Header {
  readonly entityType: SheetType;
  readonly id: Place;
  /** Whether the file has no ids, and `id` is the column of titles. */
  readonly isKeyTitle: boolean;
  readonly edited: readonly EditedColumn[];
  /** The column that says whose row it is: the title of a topic, or the name of a company when the sheet was written. */
  readonly title: Place | null;
  /** The column that says how old the base columns are. */
  readonly baseAt: Place | null;
  /** The column that says why. */
  readonly reason: Place | null;
  /** The columns of an earlier result. */
  readonly results: readonly number[];
  readonly notes: readonly string[];
}

interface Column extends Place {
  /** The header without differences in case, spaces and signs: its usual spellings are one. */
  readonly name: string;
}

/** The columns that say whose row it is, beside its id and where a file has no ids; the first that a file has counts. */
const titleNames: Readonly<
  Record<SheetType, { readonly beside: readonly string[]; readonly alone: readonly string[] }>
> = {
  topic: { beside: ['title'], alone: ['title'] },
  company: { beside: ['base_name', 'company'], alone: ['company', 'name'] },
};

/** The columns that a result adds to a file; the other two where the person has a column of that name. */
export const resultNames = [
  ['result', 'reason'],
  ['push_result', 'push_reason'],
] as const;

/** Columns of the warehouse that resemble one that can be changed, and are not meant for it. */
const otherColumns = [
  ...['archived_at', 'priority_rank', 'from_priority', 'to_priority', 'topic_lifecycle_state'],
  ...['company_no', 'connections_title', 'connections_website', 'primary_email', 'name_1', 'name_2'],
].map(folded);

const sheetTypes = Object.keys(sheetTables) as SheetType[];

/** Finds out from its header what a file changes. Raises UsageError, with every problem, when it cannot tell. */
export function parseHeader({ columns, sheets }: Pick<Grid, 'columns' | 'sheets'>, source: string): Header {
  const named = columns.flatMap((header, at): Column[] =>
    header === '' ? [] : [{ at, header, name: folded(header) }],
  );
  const problems: Problem[] = [];
  const wrong = (setting: string, problem: string) => problems.push({ setting, problem });
  const refuse = (entityType: SheetType = 'topic') =>
    new UsageError(`Cannot tell what ${source} should change.`, problems, {
      hint: `A list with the columns ${kinds[entityType].column} and ${entityType === 'topic' ? 'priority' : 'is_vip'} is enough.${otherSheetsText(sheets)}`,
    });
  const key = keyOf(named, wrong);
  if (key === null) throw refuse();
  const { entityType, id, isKeyTitle } = key;
  const taken = new Set([id.at]);
  /** The column of a name that is not taken yet; a second one is a problem. */
  const take = (wanted: string): Column | null => {
    const [first = null, second] = named.filter(({ at, name }) => name === folded(wanted) && !taken.has(at));
    if (first && second)
      wrong(second.header, `and "${first.header}" both mean ${wanted}: rename or delete one of them`);
    if (first) taken.add(first.at);
    return first;
  };
  // The name that says which company it is, is not a new one.
  const fields = kinds[entityType].fields.filter(({ name }) => !isKeyTitle || folded(name) !== id.name);
  const found = fields.map((field) => ({
    field,
    base: take(`base_${field.name}`),
    column: take(field.name),
  }));
  const edited = found.flatMap(({ field, base, column }) => (column ? [{ field, ...column, base }] : []));
  const baseAt = take('base_updated_at');
  const results = resultNames.flatMap((names) => {
    const places = names.flatMap((name) => named.find((one) => one.name === folded(name)) ?? []);
    // One of the two alone is the person's own.
    return places.length === names.length ? places.map(({ at }) => at) : [];
  });
  for (const at of results) taken.add(at);
  const reason = take('reason') ?? take('requested_reason');
  const title = firstOf(
    named.filter(({ at }) => !edited.some((one) => one.at === at)),
    titleNames[entityType].beside,
  );
  const context = new Set(contextColumns(entityType).map((column) => folded(column.key)));
  const extra = named.filter(({ at, name }) => !taken.has(at) && at !== title?.at && !context.has(name));
  const guessed = new Set<string>();
  for (const { header } of extra) {
    const guess = meantBy(header, fields);
    if (guess === undefined || edited.some(({ field }) => field.name === guess)) continue;
    guessed.add(guess);
    wrong(
      header,
      `is not a column that can be changed; did you mean ${guess}? Rename it to that, or, if it is your own column, to something else`,
    );
  }
  if (edited.length === 0) {
    const unnamed = columns.flatMap((header, at) => (header === '' ? [columnLetters(at)] : []));
    const without = unnamed.length > 0 ? `; these have no name: ${unnamed.join(', ')}` : '';
    wrong(
      'columns',
      `none can be changed: add one of ${fields.map(({ name }) => name).join(', ')}${without}`,
    );
  }
  // A sheet to edit has both columns: one was renamed or deleted.
  for (const { field, base, column } of edited.length > 0 ? found : [])
    if (base && !column && !guessed.has(field.name))
      wrong(
        base.header,
        `has no column ${field.name} beside it: rename the one that has its values to ${field.name}, or delete ${base.header}`,
      );
  if (problems.length > 0) throw refuse(entityType);
  const notes = extra.length > 0 ? [`Unused columns: ${extra.map(({ header }) => header).join(', ')}.`] : [];
  return { entityType, id, isKeyTitle, edited, title: title ?? null, baseAt, reason, results, notes };
}

/** The column that has the first of these names that one has. */
function firstOf(named: readonly Column[], names: readonly string[]): Column | undefined {
  return names.flatMap((wanted) => named.find(({ name }) => name === folded(wanted)) ?? []).at(0);
}

/** The column that says which topic or company a row is about, and whether that is its title; null with a problem. */
function keyOf(
  named: readonly Column[],
  wrong: (setting: string, problem: string) => void,
): (Pick<Header, 'entityType' | 'isKeyTitle'> & { readonly id: Column }) | null {
  const keys = sheetTypes.flatMap((entityType) =>
    named
      .filter(({ name }) => name === folded(kinds[entityType].column))
      .map((id) => ({ entityType, id, isKeyTitle: false })),
  );
  const [first, second] = keys;
  if (first && second) {
    const problem =
      first.entityType === second.entityType
        ? `occurs twice, as "${first.id.header}" and "${second.id.header}"`
        : 'and topic_id are both present: a file changes either topics or companies';
    wrong(second.id.header, problem);
    return null;
  }
  if (first) return first;
  const bare = named.find(({ name }) => name === 'id');
  const possible = sheetTypes.filter((entityType) => hasFieldOf(entityType, named));
  const [only, other] = possible;
  if (bare && only && !other) return { entityType: only, id: bare, isKeyTitle: false };
  // Where no column can be changed, that is what is wrong with a list of titles.
  const [titled] = (only ? possible : sheetTypes).flatMap((entityType) => {
    const id = firstOf(named, titleNames[entityType].alone);
    return id ? [{ entityType, id, isKeyTitle: true }] : [];
  });
  if (titled && !bare && !other) return titled;
  if (bare)
    wrong(bare.header, 'may refer to topics or to companies: rename the column to topic_id or company_id');
  else {
    const all = named.map(({ header }) => header).join(', ') || 'without names';
    wrong(
      'topic_id',
      `is missing: add a column topic_id (or company_id), or one with titles; the columns are ${all}`,
    );
  }
  return null;
}

/** Whether a column is one that only topics or only companies have; `name` does not count, because anything may have one. */
function hasFieldOf(entityType: SheetType, named: readonly Column[]): boolean {
  const names = kinds[entityType].fields.flatMap(({ name }) => [folded(name), folded(`base_${name}`)]);
  return named.some(({ name }) => name !== 'name' && names.includes(name));
}

/** The field that a column was most likely meant for, by its name or by another word that people use for it. */
function meantBy(header: string, fields: readonly Field[]): string | undefined {
  if (otherColumns.includes(folded(header))) return undefined;
  const bare = folded(withoutBrackets(header));
  const exact = fields.find(({ otherWords }) => otherWords.includes(bare));
  if (exact) return exact.name;
  // Shorter words resemble too many others: `stage` is not `state`.
  const words = fields.flatMap(({ name, otherWords }) => [
    name,
    ...otherWords.filter((one) => one.length >= 8),
  ]);
  const guess = closestMatch(header, words);
  return fields.find(({ name, otherWords }) => name === guess || otherWords.includes(guess ?? ''))?.name;
}
