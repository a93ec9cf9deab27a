import { type Problem, UsageError } from '../../base/errors.js';
import { otherSheetsText, type SheetChoice } from '../../sheet/grid.js';
import { sheetTables } from '../edit-sheet/columns.js';
import { type EntityType, type Field, fieldsOf } from '../fields.js';
import { closestMatch, folded } from './cells.js';

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
  // Base columns without their editable column are not reported as unused.
  for (const { name } of fieldsOf[entityType]) columnNamed(`base_${name}`);

  if (edited.length === 0 && problems.length === 0) problems.push(nothingToEdit(entityType, named));
  if (problems.length > 0) throw unclearError(file, problems, entityType);
  const generated = new Set(
    [...sheetTables[entityType].context.map(({ key }) => key), ...resultNames].map(folded),
  );
  const extra = named
    .filter(({ at, name }) => !taken.has(at) && !generated.has(name))
    .map(({ header }) => {
      const guess = meantBy(header, entityType);
      const isMissing = guess !== undefined && !edited.some(({ field }) => field.name === guess);
      return isMissing ? `${header} (did you mean ${guess}?)` : header;
    });
  if (extra.length > 0) notes.push(`Unused columns: ${extra.join(', ')}.`);
  return { entityType, id: position(id), edited, baseAt: baseAt?.at ?? null, notes };
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

/** The field that a column was most likely meant for, by its name or by one that people use for it. */
function meantBy(header: string, entityType: EntityType): string | undefined {
  const fields = fieldsOf[entityType].map(({ name }) => ({
    name,
    names: [name, ...(aliases[entityType][name] ?? [])],
  }));
  const guess = closestMatch(
    header,
    fields.flatMap(({ names }) => names),
  );
  return fields.find(({ names }) => guess !== undefined && names.includes(guess))?.name;
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

function nothingToEdit(entityType: EntityType, named: readonly Column[]): Problem {
  const names = fieldsOf[entityType].map(({ name }) => name);
  const guesses = named.flatMap(({ header }) => {
    const guess = meantBy(header, entityType);
    return guess === undefined ? [] : [`${guess} instead of "${header}"`];
  });
  const hint = guesses.length > 0 ? `; did you mean ${guesses.join(', ')}?` : '';
  return {
    setting: 'columns',
    problem: `none can be changed: add one of ${names.join(', ')}${hint}`,
  };
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
