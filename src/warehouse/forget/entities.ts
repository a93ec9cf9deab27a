import { z } from 'zod';
import { isObject } from '../../base/json.js';
import { classOf, type Field, fieldsOf, type Kind } from '../../contract/privacy.js';
import { documentFields, resources } from '../../contract/resources.js';
import type { DocumentKey } from '../load/batch.js';
import { kindsOfColumns } from '../privacy/policy.js';
import { identifier, listLiteral } from '../sql.js';
import { type Fingerprint, type Fingerprints, isPseudonym, type Part } from './fingerprints.js';

/**
 * Whom documents are about, and which of their fields stay when somebody is forgotten. Both are read from the schemas of the
 * API, where each field says its kind: a resource or field that comes later is known here without a line.
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
  /** Fields in which an entity has its own name. */
  readonly nameFields: ReadonlySet<string>;
  /** The kinds of documents with a field that says who somebody is. */
  readonly personalKinds: ReadonlySet<string>;
  /** The kinds of documents whose id is that of a person, and those whose parent is one. */
  readonly kindsOfPeople: { readonly own: string[]; readonly within: string[] };
  /** The kinds of documents that say when the person that they are was last seen. */
  readonly ofLastSeen: ReadonlySet<string>;
}

let read: Entities | undefined;

/** Read when it is first needed: as long as nothing was forgotten, nobody asks. */
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
  const kindsWith = (matches: (fields: readonly Field[]) => boolean) =>
    new Set([...documents].flatMap(([kind, fields]) => (matches(fields) ? kind : [])));
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
    nameFields: new Set(objects.flatMap(({ fields }) => fields.filter(isName).map(({ name }) => name))),
    personalKinds: kindsWith((fields) => fields.some(isPersonal)),
    kindsOfPeople: {
      own: [...kindsWhere(({ entity }) => entity === 'person'), ...mergesOfPeople],
      within: kindsWhere(({ parent }) => parent === 'person'),
    },
    ofLastSeen: kindsWith(
      (fields) => entityOf(fields) === 'person' && fields.some(({ name }) => name === 'lastSeenAt'),
    ),
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

function isPersonal({ kind, fields }: Field): boolean {
  return (kind !== undefined && classOf(kind) === 'personal') || fields.some(isPersonal);
}

const nameKinds: readonly (Kind | undefined)[] = [
  'person_name',
  'company_name',
  'account_name',
  'entity_name',
];

function isName({ kind }: Field): boolean {
  return nameKinds.includes(kind);
}

/**
 * The columns that say who a person or a company is, in every table that has them beside the id: from the kinds of columns, so
 * that a table or column that comes later is searched, emptied and recognized as well.
 */

const named = ['person', 'company'] as const;
type Named = (typeof named)[number];

export interface OwnColumns {
  /** Whose columns they are. */
  readonly of: Named;
  readonly table: string;
  /** The column with the id of the person or company. */
  readonly id: string;
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
}

/** What a column stands for, by its kind, where somebody can be recognized by it. */
const partsOfKind: Readonly<Record<Named, Partial<Record<Kind, readonly Part[]>>>> = {
  person: {
    person_name: ['name'],
    person_email: ['email', 'text'],
    person_contact: ['text'],
    person_picture: ['text'],
    account_name: ['name'],
  },
  company: {
    company_name: ['name'],
    company_domain: ['text'],
    company_logo: ['text'],
    company_contact: ['text'],
    account_name: ['text'],
  },
};

/** The kinds of the columns of each table of the schema main. */
export function tablesOfEntities() {
  return Object.entries(kindsOfColumns().tables).filter(([table]) => !table.includes('.'));
}

/** The column that says which person or company a row is about. */
export function idColumn(type: Named, kinds: Readonly<Record<string, Kind>>): string | undefined {
  return ['id', `${type}_id`].find((name) => kinds[name] === `${type}_id`);
}

/** The personal columns of the tables that have a person or company by its id. */
export function ownColumns(type: Named): OwnColumns[] {
  return tablesOfEntities().flatMap(([table, kinds]) => {
    const id = idColumn(type, kinds);
    const columns = Object.entries(kinds).flatMap(([name, kind]) =>
      classOf(kind) === 'personal' && (kind.startsWith(`${type}_`) || kind === 'account_name')
        ? { name, kind }
        : [],
    );
    return id === undefined || columns.length === 0 ? [] : { of: type, table, id, columns };
  });
}

/** Those of one table of the schema main: of people, of companies, or of both. */
export function ownColumnsIn(name: string): OwnColumns[] {
  return named.flatMap(ownColumns).filter(({ table }) => table === name);
}

/** By what people or companies are recognized, as SQL: rows of `id`, `part` and `value`, which may be NULL. */
export function recognizedBy(type: Named): string {
  const selects = ownColumns(type).flatMap(({ table, id, columns }) => {
    const found = columns.flatMap(({ name, kind }) =>
      (partsOfKind[type][kind] ?? []).map((part) => ({ name: identifier(name), part })),
    );
    if (found.length === 0) return [];
    const values = found.map(({ name }) => name).join(', ');
    const parts = listLiteral(found.map(({ part }) => part));
    return `SELECT ${identifier(id)} AS id, unnest(${parts}) AS part, unnest([${values}]) AS value FROM ${identifier(table)}`;
  });
  return selects.join('\nUNION ALL\n');
}

/** Of whom something personal is stored, as SQL: rows of `id`. */
export function storedOf(type: Named): string {
  const selects = ownColumns(type).map(({ table, id, columns }) => {
    const isStored = columns.map(({ name }) => `${identifier(name)} IS NOT NULL`).join(' OR ');
    return `SELECT ${identifier(id)} AS id FROM ${identifier(table)} WHERE ${isStored}`;
  });
  return selects.join('\nUNION ALL\n');
}

/**
 * What a document that `mayConcern` shows of somebody who was forgotten and comes under another id: a further account, the authors of an
 * account, the messages of a conversation, and the people or companies that they were merged with. It is added to
 * `forgotten`; returns what is new.
 */
export function learnFrom(
  forgotten: Fingerprints,
  document: DocumentKey & { readonly body: string },
): Fingerprint[] {
  const entity = entities().about.get(document.endpoint)?.entity;
  const learn = merges[document.endpoint] ?? (entity && learners[entity]);
  if (!learn) return [];
  const item: unknown = JSON.parse(document.body);
  if (!isObject(item)) return [];
  return learn(forgotten, item, document).flatMap(([part, value]) => {
    const fingerprint = typeof value === 'string' && value !== '' ? forgotten.of(part, value) : null;
    return fingerprint && forgotten.add(fingerprint) ? [fingerprint] : [];
  });
}

type Learned = readonly [part: Part, value: unknown];
type Item = Readonly<Record<string, unknown>>;
type Learn = (forgotten: Fingerprints, item: Item, key: DocumentKey) => Learned[];

/** Also somebody under a new id who has an address or an account of a person that was forgotten. */
const person: Learn = (forgotten, item, { id }) => {
  const isForgotten =
    forgotten.has('person', id) ||
    forgotten.has('email', item.primaryEmail) ||
    (Array.isArray(item.identities) && item.identities.some((one) => isAccount(forgotten, one)));
  return isForgotten ? [['person', id], ...address(item.primaryEmail), ...accountsIn(item.identities)] : [];
};

/** A company is known by its id alone: its accounts may be addresses of people. */
const account: Learn = (forgotten, item, { endpoint, parentId }) => {
  if (entities().about.get(endpoint)?.parent === 'company')
    return forgotten.has('company', parentId) ? accountsIn([item]) : [];
  const isForgotten = forgotten.has('person', parentId) || isAccount(forgotten, item);
  return isForgotten ? [['person', parentId], ...accountsIn([item])] : [];
};

function isAccount(forgotten: Fingerprints, identity: unknown): boolean {
  if (!isObject(identity) || typeof identity.platformId !== 'string') return false;
  const { platform, platformId } = identity;
  return (
    !isPseudonym(platformId) &&
    (forgotten.has('identity', `${platform}:${platformId}`) || forgotten.has('email', platformId))
  );
}

const author: Learn = (forgotten, item, { id }) => {
  const { sourceName, sourceAuthorId } = item;
  return forgotten.has('identity', `${sourceName}:${sourceAuthorId}`) ? [['author', id]] : [];
};

const message: Learn = (forgotten, item, { id, parentId }) => {
  const author = isObject(item.author) ? item.author.id : null;
  const isForgotten = forgotten.has('conversation', parentId) || forgotten.has('author', author);
  return isForgotten
    ? [
        ['message', id],
        ['source_id', item.sourceMessageId],
      ]
    : [];
};

/** Who was merged with somebody is the same person, or the same company. */
function merged(part: 'person' | 'company', target: string, sources: string): Learn {
  return (forgotten, item, { id }) => {
    const into = isObject(item.mergedInto) ? item.mergedInto[target] : null;
    const merges = Array.isArray(item.merges) ? item.merges.filter(isObject) : [];
    const from = merges.flatMap((one) => (Array.isArray(one[sources]) ? (one[sources] as unknown[]) : []));
    const ids = [id, ...[into, ...from].filter(isObject).map((one) => one.id)];
    return ids.some((one) => forgotten.has(part, one)) ? ids.map((one) => [part, one] as const) : [];
  };
}

const learners: Readonly<Partial<Record<Entity, Learn>>> = { person, author, message, identity: account };

const merges: Readonly<Record<string, Learn>> = {
  person_merges: merged('person', 'targetPerson', 'sourcePersons'),
  company_merges: merged('company', 'targetCompany', 'sourceCompanies'),
};

function accountsIn(identities: unknown): Learned[] {
  if (!Array.isArray(identities)) return [];
  return identities.filter(isObject).flatMap(({ platform, platformId }) => {
    if (typeof platformId !== 'string' || isPseudonym(platformId)) return [];
    const isAddress = platformId.includes('@');
    return [['identity', `${platform}:${platformId}`] as const, ...(isAddress ? address(platformId) : [])];
  });
}

function address(email: unknown): Learned[] {
  return typeof email === 'string' && email !== ''
    ? [
        ['email', email],
        ['text', email],
        ['identity', `email:${email}`],
      ]
    : [];
}
