import { closestMatch, folded, withoutBrackets } from '../../base/closest.js';
import { type Problem, UsageError } from '../../base/errors.js';
import { columnLetters, otherSheetsText, type SheetChoice } from '../../sheet/grid.js';
import { type EntityType, type Field, kinds } from '../change.js';
import { type SheetType, sheetTables } from '../edit-sheet.js';

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

/** The columns of a sheet of pairs: two topics in each row, and which of them stays. */
export interface PairColumns {
  readonly ids: readonly [Place, Place];
  readonly titles: readonly [Place | null, Place | null];
  readonly keep: Place;
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
  readonly baseAt: number | null;
  /** The column that says why. */
  readonly reason: Place | null;
  /** The columns of an earlier result. */
  readonly results: readonly number[];
  /** Of a sheet of pairs, which archives one of two topics; null for any other. Its `id` and `title` are those of the first. */
  readonly pair: PairColumns | null;
  readonly notes: readonly string[];
}

interface Column extends Place {
  /** The header without differences in case, spaces and signs: its usual spellings are one. */
  readonly name: string;
}

/** Other words that people use for a column: it has to be renamed, because they may mean something else. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  priority: ['prio', 'urgency', 'severity', 'prioritaet'],
  lifecycle_state: ['lifecycle', 'state', 'status'],
  archived: ['isarchived'],
  archived_reason: ['archivereason', 'archivingreason'],
  name: ['companyname'],
  primary_domain: ['domain'],
  logo_url: ['logo'],
  is_vip: ['vip'],
  connections_email: ['email'],
  connections_github: ['github'],
  connections_linkedin: ['linkedin'],
  connections_phone: ['phone'],
  connections_twitter: ['twitter'],
};

/** The column that says whose row it is, beside its id; the first that a file has counts. */
const titleNames: Readonly<Record<SheetType, readonly string[]>> = {
  topic: ['title'],
  company: ['basename', 'company'],
};

/** The columns that say which row is which where a file has no ids. */
const keyNames: Readonly<Record<SheetType, readonly string[]>> = {
  topic: ['title'],
  company: ['company', 'name'],
};

/** The columns that a result adds to a file; the other two where the person has a column of that name. */
export const resultNames = [
  ['result', 'reason'],
  ['push_result', 'push_reason'],
] as const;

/** Names of the column in which people say why. */
const reasonNames: readonly string[] = ['reason', 'requestedreason'];

/** The columns of a sheet of pairs. */
export const pairNames = {
  ids: ['topic_id_1', 'topic_id_2'],
  titles: ['title_1', 'title_2'],
  keep: 'keep',
} as const;

const sheetTypes = Object.keys(sheetTables) as SheetType[];

/** Finds out from its header what a file changes. Raises UsageError, with every problem, when it cannot tell. */
export function parseHeader(columns: readonly string[], source: string, sheets?: SheetChoice): Header {
  const file = { source, sheets };
  const named: Column[] = columns.flatMap((header, at) =>
    header === '' ? [] : [{ at, header, name: folded(header) }],
  );
  const pair = pairHeader(named, file);
  if (pair) return pair;
  const { entityType, id, isKeyTitle } = entityOf(named, file);
  // The name that says which company it is, is not a new one.
  const fields = kinds[entityType].fields.filter(({ name }) => !isKeyTitle || folded(name) !== id.name);
  const problems: Problem[] = [];
  const taken = new Set([id.at]);
  /** The column that a test finds; a second one is a problem. */
  const only = (isIt: (column: Column) => boolean, meaning: string): Column | undefined => {
    const found = named.filter(isIt);
    const [first, second] = found;
    if (first && second) {
      const problem = `and "${first.header}" both mean ${meaning}: rename or delete one of them`;
      problems.push({ setting: second.header, problem });
    }
    for (const { at } of found) taken.add(at);
    return first;
  };
  const columnNamed = (wanted: string) => only(({ name }) => name === folded(wanted), wanted);
  const bases = new Map(fields.map(({ name }) => [name, columnNamed(`base_${name}`) ?? null]));
  const edited = fields.flatMap((field): EditedColumn[] => {
    const column = columnNamed(field.name);
    return column ? [{ field, ...column, base: bases.get(field.name) ?? null }] : [];
  });
  const baseAt = columnNamed('base_updated_at');
  const title = firstOf(
    named.filter(({ at }) => !edited.some((one) => one.at === at)),
    titleNames[entityType],
  );
  const results = resultsIn(named);
  for (const at of results) taken.add(at);
  // Beside a result, it is why that row was not sent.
  const isReason = ({ name, at }: Column) => reasonNames.includes(name) && !taken.has(at);
  const reason = only(isReason, 'the reason of the row') ?? null;
  const generated = new Set(sheetTables[entityType].context.map(({ key }) => folded(key)));
  const extra = named.filter(({ at, name }) => !taken.has(at) && at !== title?.at && !generated.has(name));
  const unnamed = columns.flatMap((header, at) =>
    header === '' ? [`column ${columnLetters(at)} (no name)`] : [],
  );
  problems.push(...misspelled(entityType, { fields, edited, bases, extra, unnamed }, problems.length > 0));
  if (problems.length > 0) throw unclearError(file, problems, entityType);
  const notes = extra.length > 0 ? [`Unused columns: ${extra.map(({ header }) => header).join(', ')}.`] : [];
  return {
    entityType,
    id,
    isKeyTitle,
    edited,
    title: title ?? null,
    baseAt: baseAt?.at ?? null,
    reason,
    results,
    pair: null,
    notes,
  };
}

interface Found {
  readonly fields: readonly Field[];
  readonly edited: readonly EditedColumn[];
  readonly bases: ReadonlyMap<string, Place | null>;
  readonly extra: readonly Column[];
  readonly unnamed: readonly string[];
}

/** Columns that were probably meant for one that can be changed, and base columns without theirs. */
function misspelled(entityType: SheetType, found: Found, hasProblems: boolean): Problem[] {
  const { fields, edited, bases, extra, unnamed } = found;
  const isEdited = (wanted: string) => edited.some(({ field }) => field.name === wanted);
  const guesses = extra.flatMap(({ header }) => {
    const guess = meantBy(header, entityType);
    // In a sheet of ours, what has no base column was not meant to be edited.
    const isOurs = [...bases.values()].some((base) => base !== null);
    const isOwn = guess === undefined || isEdited(guess) || (isOurs && !bases.get(guess));
    return isOwn ? [] : [{ header, guess }];
  });
  if (edited.length === 0 && !hasProblems) {
    const parts = [
      `none can be changed: add one of ${fields.map(({ name }) => name).join(', ')}`,
      ...guesses.map(({ header, guess }) => `did you mean ${guess} instead of "${header}"?`),
      ...(unnamed.length > 0 ? [`these have no name: ${unnamed.join(', ')}`] : []),
    ];
    return [{ setting: 'columns', problem: parts.join('; ') }];
  }
  const renamed = guesses.map(({ header: setting, guess }): Problem => {
    const problem = `is not a column that can be changed; did you mean ${guess}? Rename it to that, or, if it is your own column, to something else`;
    return { setting, problem };
  });
  // A sheet to edit has both columns, so that one was renamed, unless there is no column that it could be.
  const candidates = [...extra.map(({ header }) => `"${header}"`), ...unnamed];
  const lost = [...bases].flatMap(([name, base]): Problem[] => {
    if (!base || isEdited(name) || candidates.length === 0) return [];
    if (guesses.some(({ guess }) => guess === name)) return [];
    const problem = `has no column ${name} beside it: rename the one that has its values to ${name} (the sheet has ${candidates.join(', ')}), or delete ${base.header}`;
    return [{ setting: base.header, problem }];
  });
  return [...renamed, ...lost];
}

/** The column that has the first of these names that one has. */
function firstOf(named: readonly Column[], names: readonly string[]): Column | undefined {
  return names.flatMap((wanted) => named.find(({ name }) => name === wanted) ?? []).at(0);
}

/** The columns of an earlier result; one of the two alone is the person's own. */
function resultsIn(named: readonly Column[]): number[] {
  return resultNames.flatMap((names) => {
    const found = named.filter(({ name }) => names.some((one) => folded(one) === name));
    return found.length === names.length ? found.map(({ at }) => at) : [];
  });
}

/** The columns of a sheet of pairs (`changes sheet --duplicates`); undefined for another file. */
function pairHeader(named: readonly Column[], file: NamedFile): Header | undefined {
  const column = (wanted: string) => named.find(({ name }) => name === folded(wanted));
  const [one, other] = [column(pairNames.ids[0]), column(pairNames.ids[1])];
  if (!one || !other) return undefined;
  const keep = column(pairNames.keep);
  if (!keep) {
    const problem = 'is missing: in it, 1 or 2 says which of the two topics stays';
    throw unclearError(file, [{ setting: pairNames.keep, problem }]);
  }
  const problems = kinds.topic.fields.flatMap(({ name }) => {
    const problem = 'is not changed by a sheet of pairs: put it into a list of its own, beside topic_id';
    const added = column(name);
    return added ? [{ setting: added.header, problem }] : [];
  });
  if (problems.length > 0) throw unclearError(file, problems);
  const titles = [column(pairNames.titles[0]) ?? null, column(pairNames.titles[1]) ?? null] as const;
  return {
    entityType: 'topic',
    id: one,
    isKeyTitle: false,
    edited: [],
    title: titles[0],
    baseAt: column('base_updated_at')?.at ?? null,
    reason: null,
    results: resultsIn(named),
    pair: { ids: [one, other], titles, keep },
    notes: [],
  };
}

/** The column that says which topic or company a row is about, and whether that is its title. */
function entityOf(
  named: readonly Column[],
  file: NamedFile,
): Pick<Header, 'entityType' | 'isKeyTitle'> & { readonly id: Column } {
  const found = sheetTypes.flatMap((entityType) =>
    named
      .filter(({ name }) => name === folded(kinds[entityType].column))
      .map((id) => ({ entityType, id, isKeyTitle: false, setting: id.header })),
  );
  const [first, second] = found;
  if (first && second) {
    const problem =
      first.entityType === second.entityType
        ? `occurs twice, as "${first.setting}" and "${second.setting}"`
        : 'and topic_id are both present: a file changes either topics or companies';
    throw unclearError(file, [{ setting: second.setting, problem }]);
  }
  if (first) return first;
  const bare = named.find(({ name }) => name === 'id');
  const possible = sheetTypes.filter((one) => hasFieldOf(one, named));
  const [only, other] = possible;
  if (bare && only && !other) return { entityType: only, id: bare, isKeyTitle: false };
  // Where no column can be changed, that is what is wrong with a list of titles.
  const titled = (possible.length > 0 ? possible : sheetTypes).flatMap((entityType) => {
    const id = firstOf(named, keyNames[entityType]);
    return id ? [{ entityType, id, isKeyTitle: true }] : [];
  });
  if (titled[0] && !bare && !other) return titled[0];
  const problem = bare
    ? 'may refer to topics or to companies: rename the column to topic_id or company_id'
    : `is missing: add a column topic_id (or company_id), or one with titles; the columns are ${named.map(({ header }) => header).join(', ') || 'without names'}`;
  throw unclearError(file, [{ setting: bare?.header ?? 'topic_id', problem }]);
}

/** Whether a column is one that only topics or only companies have; `name` does not count, because anything may have one. */
function hasFieldOf(entityType: EntityType, named: readonly Column[]): boolean {
  const names = kinds[entityType].fields.flatMap(({ name }) => [folded(name), folded(`base_${name}`)]);
  return named.some(({ name }) => name !== 'name' && names.includes(name));
}

/** Columns of the warehouse that resemble one that can be changed, and are not meant for it. */
const otherColumns: ReadonlySet<string> = new Set([
  'archivedat',
  'priorityrank',
  'frompriority',
  'topriority',
  'topiclifecyclestate',
  'connectionstitle',
  'connectionswebsite',
  'primaryemail',
  'name1',
  'name2',
]);

/** The field that a column was most likely meant for, by its name or by another word that people use for it. */
function meantBy(header: string, entityType: EntityType): string | undefined {
  if (otherColumns.has(folded(header))) return undefined;
  const names = kinds[entityType].fields.map(({ name }) => name);
  const bare = folded(withoutBrackets(header));
  const exact = names.find((name) => otherWords[name]?.includes(bare));
  if (exact !== undefined) return exact;
  // Shorter words resemble too many others: `stage` is not `state`.
  const words = names.flatMap((name) => (otherWords[name] ?? []).filter((word) => word.length >= 8));
  const guess = closestMatch(header, [...names, ...words]);
  return names.find((name) => name === guess || (guess !== undefined && otherWords[name]?.includes(guess)));
}

/** What errors say about where a header is. */
interface NamedFile {
  readonly source: string;
  readonly sheets: SheetChoice | undefined;
}

function unclearError(
  { source, sheets }: NamedFile,
  problems: readonly Problem[],
  entityType: EntityType = 'topic',
): UsageError {
  return new UsageError(`Cannot tell what ${source} should change.`, problems, {
    hint: `A list with the columns ${kinds[entityType].column} and ${entityType === 'topic' ? 'priority' : 'is_vip'} is enough.${otherSheetsText(sheets)}`,
  });
}
