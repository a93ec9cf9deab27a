import { automationResources } from './automations.js';
import { companyEmbedded, companyResources } from './companies.js';
import { historySummary } from './history.js';
import { messageEmbedded } from './messages.js';
import { peopleEmbedded, peopleResources } from './people.js';
import { type Field, fieldsOf } from './privacy.js';
import type {
  AnswerForm,
  ChildEntry,
  EmbeddedEntry,
  ListEntry,
  ReadEndpoint,
  ResourceEntry,
} from './resource-entry.js';
import { channelResources, organization } from './service.js';
import { storyEmbedded, storyResources } from './stories.js';
import { topicEmbedded, topicResources } from './topics.js';

/**
 * THE table of resources: every list and every child resource, by its name. The name is used in tables, messages,
 * metrics and `--only`. Everything that goes from resource to resource is derived from this table:
 * endpoints, requests, what is due, how answers are taken in, what is removed, the age settings and their documentation.
 * A new child resource is an entry and a table (tables.ts) beside its schema.
 */
export const entries = {
  ...topicResources,
  ...companyResources,
  ...peopleResources,
  ...channelResources,
  ...storyResources,
  ...automationResources,
} as const satisfies Record<string, ResourceEntry>;

/** The documents that come inside the items of other resources. */
const embedded = {
  ...topicEmbedded,
  ...messageEmbedded,
  ...companyEmbedded,
  ...peopleEmbedded,
  ...storyEmbedded,
} as const satisfies Record<string, EmbeddedEntry>;

type Entries = typeof entries;
type ResourceName = keyof Entries;
type ListName = { [N in ResourceName]: Entries[N] extends { parent: null } ? N : never }[ResourceName];
export type ChildName = Exclude<ResourceName, ListName>;

/** The read endpoints by the name under which they are called. */
export type ReadEndpoints = {
  [N in ResourceName as Entries[N] extends { endpointName: infer E extends string }
    ? E
    : N]: Entries[N]['endpoint'];
};

export interface List extends ListEntry {
  readonly name: string;
}
export interface Child extends ChildEntry {
  readonly name: string;
  /** The list whose items are its parents. */
  readonly list: List;
  /** The endpoint of the API that is called: the child's own, or the one that it shares. */
  readonly endpointName: string;
}
/** A child whose answer has this form. */
export type ChildOf<F extends AnswerForm['form']> = Child & {
  readonly answer: Extract<AnswerForm, { form: F }>;
};

/** A resource table with its lookups. */
export interface Resources {
  /** In the order in which they are read. */
  readonly lists: readonly List[];
  /** In the order in which they are fetched among equals in reason. */
  readonly children: readonly Child[];
  readonly embedded: Readonly<Record<string, EmbeddedEntry>>;
  /** By the name under which they are called. */
  readonly endpoints: Readonly<Record<string, ReadEndpoint>>;
}

/**
 * A table with its lookups. Throws an error that names every entry that does not fit the others: a parent, a detail or
 * `membersOf` that is not in the table, a weight that is taken, a second endpoint of the same name, a path that does
 * not name the parent.
 */
export function resourcesOf(
  table: Readonly<Record<string, ResourceEntry>>,
  inside: Readonly<Record<string, EmbeddedEntry>> = embedded,
): Resources {
  const problems: string[] = [];
  const lists: List[] = [];
  const children: Child[] = [];
  const endpoints: Record<string, ReadEndpoint> = {};
  for (const [name, entry] of Object.entries(table))
    if (entry.parent === null) lists.push({ ...entry, name });
  for (const [name, entry] of Object.entries(table)) {
    if (entry.parent === null) continue;
    const list = lists.find((one) => one.name === entry.parent);
    if (list) children.push({ ...entry, name, list, endpointName: entry.endpointName ?? name });
    else problems.push(`${name}: its parent ${entry.parent} is not a list`);
  }
  for (const [name, entry] of Object.entries(table)) {
    const called = (entry.parent !== null && entry.endpointName) || name;
    if ((endpoints[called] ?? entry.endpoint) !== entry.endpoint)
      problems.push(`${name}: there is another endpoint named ${called}`);
    endpoints[called] = entry.endpoint;
  }
  problems.push(...faultsOf(lists, children, inside));
  if (problems.length > 0)
    throw new Error(`The resource table does not fit together: ${problems.join('; ')}`);
  return {
    lists,
    children: children.toSorted((a, b) => a.weight - b.weight),
    embedded: inside,
    endpoints,
  };
}

function faultsOf(
  lists: readonly List[],
  children: readonly Child[],
  inside: Readonly<Record<string, EmbeddedEntry>>,
): string[] {
  const problems: string[] = [];
  const isList = (name: string | null = null) => name === null || lists.some((list) => list.name === name);
  for (const { name, detail } of lists) {
    const child = children.find((one) => one.name === detail);
    if (child?.list.name !== name || child.answer.form !== 'object')
      problems.push(`${name}: its detail ${detail} is not a child that is one object`);
  }
  for (const [name, { parent, membersOf }] of Object.entries(inside)) {
    if (!isList(parent)) problems.push(`${name}: its parent ${parent} is not a list`);
    if (!isList(membersOf)) problems.push(`${name}: membersOf ${membersOf} is not a list`);
  }
  for (const [index, child] of children.entries()) {
    const { name, weight, endpoint, members, membersOf, parentParameter } = child;
    const { counts, countsMessages, existsWith, changeFields } = child;
    if (!isList(members?.list))
      problems.push(`${name}: its members are of ${members?.list}, which is not a list`);
    if (!isList(membersOf)) problems.push(`${name}: membersOf ${membersOf} is not a list`);
    for (const path of [counts, countsMessages, existsWith])
      if (path !== undefined && !changeFields.includes(path))
        problems.push(`${name}: ${path} counts its members, and is not among its changeFields`);
    const equal = children.slice(0, index).find((other) => other.weight === weight);
    if (equal) problems.push(`${name}: its weight ${weight} is that of ${equal.name}`);
    const parameters = pathParameters(endpoint);
    if (parameters.length !== (parentParameter === undefined ? 1 : 0))
      problems.push(`${name}: the path ${endpoint.path} must name the parent, and nothing else`);
    for (const parameter of parameters) {
      if (!(parameter in (endpoint.params?.shape ?? {})))
        problems.push(`${name}: params does not describe {${parameter}}`);
    }
  }
  return problems;
}

/** The parameters in an endpoint's path. */
function pathParameters({ path }: ReadEndpoint): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** The parameters of a GET. */
export interface ReadRequest {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>;
}

/**
 * The request for one parent's child. `plain` leaves out the extra query, for a server that refused it.
 */
export function requestFor(child: Child, parentId: string, { plain = false } = {}): ReadRequest {
  const [parameter] = pathParameters(child.endpoint);
  const query = {
    ...(child.parentParameter !== undefined && { [child.parentParameter]: parentId }),
    ...(!plain && child.extraQuery),
  };
  return {
    ...(parameter !== undefined && { params: { [parameter]: parentId } }),
    ...(Object.keys(query).length > 0 && { query }),
  };
}

/** The parameter that names the parent of a child, in the path or in the query. */
export function parentParameter({ endpoint, parentParameter }: Child): string {
  return pathParameters(endpoint)[0] ?? parentParameter ?? '';
}

/** The children that are lists of conversations: they bring messages. */
export function conversationLists({ children }: Pick<Resources, 'children'>): readonly Child[] {
  return children.filter(({ answer }) => answer.form === 'conversations');
}

/** The detail of a list's items. */
export function detailOf({ children }: Pick<Resources, 'children'>, list: List): ChildOf<'object'> {
  return children.find(({ name }) => name === list.detail) as ChildOf<'object'>;
}

/** The program's own table. */
export const resources = resourcesOf(entries);

/** The fields of each kind of documents that a sync stores. */
export function documentFields({ lists, children, embedded }: Resources): ReadonlyMap<string, Field[]> {
  const fields = new Map([['whoami', fieldsOf(organization)]]);
  for (const { name, item } of [...lists, ...children]) fields.set(name, fieldsOf(item));
  for (const [name, { item }] of Object.entries(embedded)) if (item) fields.set(name, fieldsOf(item));
  for (const { answer } of children)
    if (answer.form === 'history') fields.set(answer.merges.kind, fieldsOf(historySummary));
  return fields;
}
