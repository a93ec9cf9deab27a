import { type Problem, UsageError } from '../../base/errors.js';
import { forms } from '../edit-sheet/columns.js';
import { type EntityType, type Field, fieldsOf } from '../fields.js';
import { resultNames } from '../result.js';
import { folded, nearest } from './spelling.js';

/** A column that can be edited, and the column that shows what the person saw in it. */
export interface EditedColumn {
  readonly field: Field;
  readonly at: number;
  /** As written in the file. */
  readonly header: string;
  readonly base: { readonly at: number; readonly header: string } | null;
}

/** What the columns of a file mean. */
export interface Heading {
  readonly entityType: EntityType;
  readonly id: { readonly at: number; readonly header: string };
  readonly edited: readonly EditedColumn[];
  /** Where the file says as of when its base columns are known. */
  readonly baseAt: number | null;
  readonly notes: readonly string[];
}

interface Column {
  readonly at: number;
  readonly header: string;
  readonly name: string;
}

/** Other names under which people keep these; a column of the proper name goes before them. */
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

const idNames: Readonly<Record<EntityType, string>> = { topic: 'topic_id', company: 'company_id' };
const entityTypes = ['topic', 'company'] as const;

/**
 * Tells by its header what a file is about. Forgiving about spelling, case and order; columns that mean nothing here
 * are named in the notes. Raises UsageError, with every problem, when it is not clear what is to be changed.
 */
export function headingOf(columns: readonly string[], source: string): Heading {
  const named: Column[] = columns.flatMap((header, at) =>
    header === '' ? [] : [{ at, header, name: folded(header) }],
  );
  const { entityType, id } = entityOf(named, source);
  const problems: Problem[] = [];
  const taken = new Set([id.at]);
  const notes: string[] = [];
  const one = (wanted: string): Column | undefined => {
    const [first, second] = named.filter(({ name }) => name === folded(wanted));
    if (first && second) problems.push(twice(first, second, wanted));
    for (const column of [first, second]) if (column) taken.add(column.at);
    return first;
  };

  const edited = fieldsOf[entityType].flatMap((field): EditedColumn[] => {
    const proper = one(field.name);
    const column = proper ?? aliased(entityType, field, named, taken, problems, notes);
    if (!column) return [];
    taken.add(column.at);
    const base = one(`base_${field.name}`);
    return [{ field, at: column.at, header: column.header, base: base ? place(base) : null }];
  });
  const baseAt = one('base_updated_at');
  // Base columns of what the file does not let edit are no extra columns.
  for (const { name } of fieldsOf[entityType]) one(`base_${name}`);

  if (edited.length === 0 && problems.length === 0) problems.push(nothingToEdit(entityType, named));
  if (problems.length > 0) throw unclear(source, problems, entityType);
  const ours = new Set([...forms[entityType].shown.map(({ key }) => key), ...resultNames].map(folded));
  const extra = named.filter(({ at, name }) => !taken.has(at) && !ours.has(name)).map(({ header }) => header);
  if (extra.length > 0) notes.push(`Columns that are not used: ${extra.join(', ')}.`);
  return { entityType, id: place(id), edited, baseAt: baseAt?.at ?? null, notes };
}

function entityOf(named: readonly Column[], source: string): { entityType: EntityType; id: Column } {
  const found = entityTypes.flatMap((entityType) =>
    named
      .filter(({ name }) => name === folded(idNames[entityType]))
      .map((id) => ({ entityType, id, setting: id.header })),
  );
  const [first, second] = found;
  if (first && second) {
    const problem =
      first.entityType === second.entityType
        ? `is there twice, as "${first.setting}" and "${second.setting}"`
        : 'and topic_id are both there: a file changes either topics or companies';
    throw unclear(source, [{ setting: second.setting, problem }]);
  }
  if (first) return first;
  const bare = named.find(({ name }) => name === 'id');
  const fitting = entityTypes.filter((one) => editable(one, named).length > 0);
  const [only] = fitting;
  if (bare && only && fitting.length === 1) return { entityType: only, id: bare };
  const problem = bare
    ? 'may be of topics or of companies: call the column topic_id or company_id'
    : `is missing: there must be a column topic_id (or company_id); the columns are ${named.map(({ header }) => header).join(', ') || 'nameless'}`;
  throw unclear(source, [{ setting: bare?.header ?? 'topic_id', problem }]);
}

/** Names that only topics or only companies have decide; `name`, which anything may have, does not. */
function editable(entityType: EntityType, named: readonly Column[]): Column[] {
  const names = new Set(fieldsOf[entityType].flatMap(({ name }) => [folded(name), folded(`base_${name}`)]));
  names.delete('name');
  return named.filter(({ name }) => names.has(name));
}

function aliased(
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
    problems.push(twice(first, second, field.name));
    return undefined;
  }
  notes.push(`The column "${first.header}" is taken for ${field.name}.`);
  return first;
}

function place({ at, header }: Column): { at: number; header: string } {
  return { at, header };
}

function twice(first: Column, second: Column, name: string): Problem {
  return {
    setting: second.header,
    problem: `and "${first.header}" both mean ${name}: rename or delete one of them`,
  };
}

function nothingToEdit(entityType: EntityType, named: readonly Column[]): Problem {
  const names = fieldsOf[entityType].map(({ name }) => name);
  const guesses = named.flatMap(({ header }) => {
    const guess = nearest(header, names);
    return guess === undefined ? [] : [`"${header}" for ${guess}`];
  });
  const hint = guesses.length > 0 ? `; is ${guesses.join(', ')}?` : '';
  return {
    setting: 'columns',
    problem: `none can be changed: there must be one of ${names.join(', ')}${hint}`,
  };
}

function unclear(source: string, problems: readonly Problem[], entityType: EntityType = 'topic'): UsageError {
  return new UsageError(`It is not clear what ${source} shall change.`, problems, {
    hint: `A list with the columns ${idNames[entityType]} and ${entityType === 'topic' ? 'priority' : 'is_vip'} is enough; signalhouse changes sheet writes one that is ready to be edited.`,
  });
}
