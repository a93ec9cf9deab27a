import { type Problem, UsageError } from '../../base/errors.js';
import { columnLetters, otherSheetsText, type SheetChoice } from '../../sheet/grid.js';
import { type EntityType, type Field, fieldsOf } from '../change.js';
import { sheetTables } from '../edit-sheet.js';
import { closestMatch, folded, withoutBrackets } from './cells.js';

/** A column that can be edited, and the base column that shows what the person saw in it. */
export interface EditedColumn {
  readonly field: Field;
  readonly at: number;
  /** As written in the file. */
  readonly header: string;
  readonly base: { readonly at: number; readonly header: string } | null;
}

/** What the columns of a file mean. */
export interface Header {
  readonly entityType: EntityType;
  readonly id: { readonly at: number; readonly header: string };
  readonly edited: readonly EditedColumn[];
  /** The column that says whose row it is: the title of a topic, or the name of a company when the sheet was written. */
  readonly title: { readonly at: number; readonly header: string } | null;
  /** The column that says how old the base columns are. */
  readonly baseAt: number | null;
  readonly notes: readonly string[];
}

interface Column {
  readonly at: number;
  readonly header: string;
  readonly name: string;
}

/** Other names that people use for these; a column with the proper name takes precedence. */
const aliases: Readonly<Record<EntityType, Readonly<Record<string, readonly string[]>>>> = {
  topic: {
    lifecycle_state: ['lifecycle', 'state', 'status'],
    archived: ['isarchived'],
    archived_reason: ['archivereason', 'archivingreason'],
  },
  company: {
    name: ['companyname'],
    primary_domain: ['domain'],
    logo_url: ['logo'],
    is_vip: ['vip'],
    connections_email: ['email'],
    connections_github: ['github'],
    connections_linkedin: ['linkedin'],
    connections_phone: ['phone'],
    connections_twitter: ['twitter'],
  },
};

/** The columns that say whose row it is, beside its id; the first that a file has counts. */
const titleNames: Readonly<Record<EntityType, readonly string[]>> = {
  topic: ['title', 'topictitle', 'topicname', 'topic', 'name', 'titel'],
  company: ['basename', 'company', 'title'],
};

/** The columns that a result adds to a file, which is then edited and imported again. */
export const resultNames = ['result', 'error', 'remote_value'] as const;

const idNames: Readonly<Record<EntityType, string>> = { topic: 'topic_id', company: 'company_id' };
const entityTypes = ['topic', 'company'] as const;

/**
 * Finds out from its header what a file changes. Tolerant about spelling, case and order; the notes name columns that
 * are not used. Raises UsageError, with every problem, when it cannot tell.
 */
export function parseHeader(columns: readonly string[], source: string, sheets?: SheetChoice): Header {
  const file = { source, sheets };
  const named: Column[] = columns.flatMap((header, at) =>
    header === '' ? [] : [{ at, header, name: folded(header) }],
  );
  const { entityType, id } = entityOf(named, file);
  const problems: Problem[] = [];
  const taken = new Set([id.at]);
  const notes: string[] = [];
  const columnNamed = (wanted: string): Column | undefined => {
    const [first, second] = named.filter(({ name }) => name === folded(wanted));
    if (first && second) problems.push(duplicateColumn(first, second, wanted));
    for (const column of [first, second]) if (column) taken.add(column.at);
    return first;
  };

  const edited = fieldsOf[entityType].flatMap((field): EditedColumn[] => {
    const proper = columnNamed(field.name);
    const column = proper ?? aliasOf(entityType, field, named, taken, problems, notes);
    if (!column) return [];
    taken.add(column.at);
    const base = columnNamed(`base_${field.name}`);
    return [{ field, at: column.at, header: column.header, base: base ? position(base) : null }];
  });
  const baseAt = columnNamed('base_updated_at');
  const title = titleNames[entityType]
    .flatMap((wanted) => named.find(({ name, at }) => name === wanted && !isEdited(edited, at)) ?? [])
    .at(0);
  const generated = new Set(
    [...sheetTables[entityType].context.map(({ key }) => key), ...resultNames].map(folded),
  );
  const bases = fieldsOf[entityType].flatMap(({ name }) => {
    const base = columnNamed(`base_${name}`);
    return base && !edited.some(({ field }) => field.name === name) ? [{ name, base }] : [];
  });
  const extra = named.filter(({ at, name }) => !taken.has(at) && at !== title?.at && !generated.has(name));
  const misspelled = extra.flatMap(({ header }) => {
    const guess = meantBy(header, entityType);
    const isMissing = guess !== undefined && !edited.some(({ field }) => field.name === guess);
    return isMissing ? [{ header, guess }] : [];
  });

  if (edited.length === 0 && problems.length === 0)
    problems.push(nothingToEdit(entityType, columns, misspelled));
  else {
    problems.push(...misspelled.map(misspelledColumn));
    // A sheet to edit has both columns, so that one was renamed, unless there is no column that it could be.
    const candidates = [...extra.map(({ header }) => `"${header}"`), ...unnamed(columns)];
    for (const { name, base } of bases)
      if (candidates.length > 0 && !misspelled.some(({ guess }) => guess === name))
        problems.push(renamedColumn(name, base, candidates));
  }
  if (problems.length > 0) throw unclearError(file, problems, entityType);
  if (extra.length > 0) notes.push(`Unused columns: ${extra.map(({ header }) => header).join(', ')}.`);
  return {
    ...{ entityType, id: position(id), edited, baseAt: baseAt?.at ?? null, notes },
    title: title ? position(title) : null,
  };
}

function isEdited(edited: readonly EditedColumn[], at: number): boolean {
  return edited.some((column) => column.at === at);
}

/** The columns without a name, such as a separator, or one whose name was deleted. */
function unnamed(columns: readonly string[]): string[] {
  return columns.flatMap((header, at) => (header === '' ? [`column ${columnLetters(at)} (no name)`] : []));
}

function entityOf(named: readonly Column[], file: NamedFile): { entityType: EntityType; id: Column } {
  const found = entityTypes.flatMap((entityType) =>
    named
      .filter(({ name }) => name === folded(idNames[entityType]))
      .map((id) => ({ entityType, id, setting: id.header })),
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
  const possible = entityTypes.filter((one) => editable(one, named).length > 0);
  const [only] = possible;
  if (bare && only && possible.length === 1) return { entityType: only, id: bare };
  const problem = bare
    ? 'may refer to topics or to companies: rename the column to topic_id or company_id'
    : `is missing: add a column topic_id (or company_id); the columns are ${named.map(({ header }) => header).join(', ') || 'without names'}`;
  throw unclearError(file, [{ setting: bare?.header ?? 'topic_id', problem }]);
}

/** The columns that only topics or only companies have; `name` does not count, because anything may have one. */
function editable(entityType: EntityType, named: readonly Column[]): Column[] {
  const names = new Set(fieldsOf[entityType].flatMap(({ name }) => [folded(name), folded(`base_${name}`)]));
  names.delete('name');
  return named.filter(({ name }) => names.has(name));
}

function aliasOf(
  entityType: EntityType,
  field: Field,
  named: readonly Column[],
  taken: ReadonlySet<number>,
  problems: Problem[],
  notes: string[],
): Column | undefined {
  const names = aliases[entityType][field.name] ?? [];
  const [first, second] = named.filter(({ name, at }) => names.includes(name) && !taken.has(at));
  if (!first) return undefined;
  if (second) {
    problems.push(duplicateColumn(first, second, field.name));
    return undefined;
  }
  notes.push(`The column "${first.header}" was read as ${field.name}.`);
  return first;
}

/** Columns of the warehouse that resemble one that can be changed, and are not meant for it. */
const otherColumns: ReadonlySet<string> = new Set([
  ...['archivedat', 'priorityrank', 'frompriority', 'topriority', 'topiclifecyclestate'],
  ...['connectionstitle', 'connectionswebsite', 'primaryemail'],
]);

/** Other names that are shorter than this resemble too many words: `stage` is not `state`. */
const leastSimilar = 8;

/** The field that a column was most likely meant for, by its name or by one that people use for it. */
function meantBy(header: string, entityType: EntityType): string | undefined {
  if (otherColumns.has(folded(header))) return undefined;
  const bare = folded(withoutBrackets(header));
  const fields = fieldsOf[entityType].map(({ name }) => ({ name, others: aliases[entityType][name] ?? [] }));
  const exact = fields.find(({ others }) => others.includes(bare));
  if (exact) return exact.name;
  const names = fields.map(({ name, others }) => [
    name,
    ...others.filter((one) => one.length >= leastSimilar),
  ]);
  const guess = closestMatch(header, names.flat());
  return guess === undefined ? undefined : fields[names.findIndex((one) => one.includes(guess))]?.name;
}

function position({ at, header }: Column): { at: number; header: string } {
  return { at, header };
}

function duplicateColumn(first: Column, second: Column, name: string): Problem {
  return {
    setting: second.header,
    problem: `and "${first.header}" both mean ${name}: rename or delete one of them`,
  };
}

interface Misspelled {
  readonly header: string;
  readonly guess: string;
}

function nothingToEdit(
  entityType: EntityType,
  columns: readonly string[],
  misspelled: readonly Misspelled[],
): Problem {
  const names = fieldsOf[entityType].map(({ name }) => name);
  const guesses = misspelled.map(({ header, guess }) => `${guess} instead of "${header}"`);
  const hints = [
    ...(guesses.length > 0 ? [`did you mean ${guesses.join(', ')}?`] : []),
    ...(unnamed(columns).length > 0 ? [`these have no name: ${unnamed(columns).join(', ')}`] : []),
  ];
  return {
    setting: 'columns',
    problem: ['none can be changed: add one of '.concat(names.join(', ')), ...hints].join('; '),
  };
}

function misspelledColumn({ header, guess }: Misspelled): Problem {
  const problem = `is not a column that can be changed; did you mean ${guess}? Rename it to that, or, if it is your own column, to something else`;
  return { setting: header, problem };
}

function renamedColumn(name: string, base: Column, candidates: readonly string[]): Problem {
  const problem = `has no column ${name} beside it: rename the one that has its values to ${name} (the sheet has ${candidates.join(', ')}), or delete ${base.header}`;
  return { setting: base.header, problem };
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
    hint: `A list with the columns ${idNames[entityType]} and ${entityType === 'topic' ? 'priority' : 'is_vip'} is enough; signalhouse changes sheet writes a sheet that is ready to edit.${otherSheetsText(sheets)}`,
  });
}
