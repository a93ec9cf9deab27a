import { z } from 'zod';
import { classOf, type Field, fieldsOf, type Kind } from '../contract/privacy.js';
import { documentFields, resources } from '../contract/resources.js';
import { identifier, literal } from '../store/sql.js';
import { kindsOfColumns } from './policy.js';

/**
 * Which entities documents are about, and which of their fields stay when an entity is forgotten. Both are read from the schemas
 * of the API, where each field says its kind: a resource or field that comes later is known here without a line.
 */

export type Entity = 'person' | 'author' | 'company' | 'conversation' | 'message' | 'identity';

/** The fields that say which entity it is, by their kind. They stay, because other rows refer to them. */
const ownIds: Readonly<Record<Entity, readonly Kind[]>> = {
  person: ['person_id'],
  author: ['author_id', 'account_id'],
  company: ['company_id'],
  conversation: ['conversation_id'],
  message: ['message_id'],
  identity: ['account_id'],
};
const all = Object.keys(ownIds) as Entity[];

/** What a document is, and what its parent is; undefined for anything that cannot be forgotten. */
export interface About {
  readonly entity?: Entity | undefined;
  readonly parent?: Entity | undefined;
}

interface Entities {
  /** By the kind of documents. */
  readonly about: ReadonlyMap<string, About>;
  /** What an object is, by the name of the member that holds it. */
  readonly ofMember: ReadonlyMap<string, Entity | undefined>;
  /** The fields of each that stay when it was forgotten. */
  readonly kept: ReadonlyMap<Entity, ReadonlySet<string>>;
  /** What stays of a message that the API deleted: where it is in its source says nothing of what was written. */
  readonly keptOfDeleted: ReadonlySet<string>;
  /** The kinds of documents whose id is that of a person, and those whose parent is one. */
  readonly kindsOfPeople: { readonly own: string[]; readonly within: string[] };
}

let read: Entities | undefined;

/** Read when it is first needed: as long as nothing was forgotten, nothing asks for it. */
export function entities(): Entities {
  read ??= readEntities();
  return read;
}

function readEntities(): Entities {
  const { lists, children, embedded } = resources;
  const documents = documentFields(resources);
  const about = new Map<string, About>(
    [...documents].map(([kind, fields]) => [kind, { entity: entityOf(fields) }]),
  );
  const inside = Object.entries(embedded).map(([name, { parent }]) => ({ name, parent }));
  for (const { name, parent } of [...children, ...inside])
    about.set(name, { ...about.get(name), parent: about.get(parent ?? '')?.entity });
  const mergesOfPeople = children.flatMap(({ name, answer }) =>
    answer.form === 'history' && about.get(name)?.parent === 'person' ? answer.merges.kind : [],
  );
  const kindsWhere = (matches: (one: About) => boolean): string[] =>
    [...about].flatMap(([kind, one]) => (matches(one) ? kind : []));
  const objects = [
    ...documents.values(),
    ...[...lists, ...children].map(({ endpoint }) => fieldsOf(z.object({ answer: endpoint.response }))),
  ].flatMap((fields) => objectsIn({ name: '', kind: undefined, fields }));
  return {
    about,
    ofMember: membersIn(objects),
    kept: new Map(all.map((entity) => [entity, stayingOf(entity, ownIds[entity], objects)])),
    keptOfDeleted: stayingOf('message', [...ownIds.message, 'source_id', 'source_url'], objects),
    kindsOfPeople: {
      own: [...kindsWhere(({ entity }) => entity === 'person'), ...mergesOfPeople],
      within: kindsWhere(({ parent }) => parent === 'person'),
    },
  };
}

/** What an object with these fields is: an account, or what its id says. */
function entityOf(fields: readonly Field[]): Entity | undefined {
  if (fields.some(({ name }) => name === 'platformId')) return 'identity';
  const id = fields.find(({ name }) => name === 'id')?.kind;
  return all.find((entity) => id !== undefined && ownIds[entity][0] === id);
}

/** The entity of that name, as a member or a story's reference calls it. */
export function entityNamed(name: string): Entity | undefined {
  return all.find((entity) => entity === name);
}

/** An object, and every object in it, under the name of the member that holds it. */
function objectsIn(object: Field): Field[] {
  return [object, ...object.fields.filter(({ fields }) => fields.length > 0).flatMap(objectsIn)];
}

function membersIn(objects: readonly Field[]): Map<string, Entity | undefined> {
  const members = new Map<string, Entity | undefined>(all.map((entity) => [entity, entity]));
  for (const { name, fields } of objects) {
    const entity = entityOf(fields);
    // A name that holds different ones, such as the `data` of lists, says nothing.
    members.set(name, members.has(name) && members.get(name) !== entity ? undefined : entity);
  }
  return members;
}

/**
 * The fields of an entity that stay: what is counted, what is of one of these kinds, and what has an id of its own. Any other is
 * removed, also one that is new in the API.
 */
function stayingOf(entity: Entity, kinds: readonly Kind[], objects: readonly Field[]): Set<string> {
  const stays = ({ kind, fields }: Field): boolean =>
    fields.length > 0
      ? fields.some((inside) => inside.name === 'id' || stays(inside))
      : kind !== undefined && (classOf(kind) === 'none' || kinds.includes(kind));
  const fields = objects.filter((one) => entityOf(one.fields) === entity).flatMap((one) => one.fields);
  const removed = new Set(fields.flatMap((field) => (stays(field) ? [] : field.name)));
  return new Set(['id', 'type', ...fields.map(({ name }) => name)].filter((name) => !removed.has(name)));
}

/**
 * The columns that say who a person, a company or an account is, in every table that has them beside the id: from the kinds
 * of columns, so that a table or column that comes later is searched and emptied as well.
 */

type Named = 'person' | 'company' | 'author';

export interface OwnColumns {
  /** Whose columns they are. */
  readonly of: Named;
  readonly table: string;
  /** The column with the id. */
  readonly id: string;
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
}

/** The kinds of the columns of each table of the schema main. */
export function tablesOfEntities() {
  return Object.entries(kindsOfColumns().tables).filter(([table]) => !table.includes('.'));
}

/** The column that says which person, company or account a row is about. */
function idColumn(of: Named, kinds: Readonly<Record<string, Kind>>): string | undefined {
  return ['id', `${of}_id`].find((name) => kinds[name] === `${of}_id`);
}

/** The personal columns of the tables that have a person, company or account by its id. */
export function ownColumns(of: Named): OwnColumns[] {
  const prefix = of === 'company' ? 'company_' : 'person_';
  return tablesOfEntities().flatMap(([table, kinds]) => {
    const id = idColumn(of, kinds);
    const columns = Object.entries(kinds).flatMap(([name, kind]) =>
      classOf(kind) === 'personal' && (kind.startsWith(prefix) || kind === 'account_name')
        ? { name, kind }
        : [],
    );
    return id === undefined || columns.length === 0 ? [] : { of, table, id, columns };
  });
}

/** The kinds of columns whose values are looked for in texts of others when an entity is forgotten. */
const lookedFor: readonly Kind[] = [
  'person_name',
  'person_contact',
  'person_picture',
  'account_name',
  'company_name',
  'company_contact',
];

/** By what people, companies and accounts are named, as SQL: rows of `part`, `id` and `value`, which may be NULL. */
export function namesInColumns(): string {
  const named = (['person', 'company', 'author'] as const).flatMap(ownColumns);
  const selects = named.flatMap(({ of, table, id, columns }) => {
    const values = columns.filter(({ kind }) => lookedFor.includes(kind)).map(({ name }) => identifier(name));
    if (values.length === 0) return [];
    return `SELECT ${literal(of)} AS part, ${identifier(id)} AS id, unnest([${values.join(', ')}]) AS value FROM ${identifier(table)}`;
  });
  return selects.join('\nUNION ALL\n');
}

/** Of which people something personal is stored, as SQL: rows of `id`. */
export function storedPeople(): string {
  const selects = ownColumns('person').map(({ table, id, columns }) => {
    const isStored = columns.map(({ name }) => `${identifier(name)} IS NOT NULL`).join(' OR ');
    return `SELECT ${identifier(id)} AS id FROM ${identifier(table)} WHERE ${isStored}`;
  });
  return selects.join('\nUNION ALL\n');
}
