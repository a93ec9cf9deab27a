import { createHash } from 'node:crypto';
import { type EndpointName, endpoints } from '../contract/endpoints.js';
import { actors } from '../contract/history.js';
import { personHistoryLimit, storiesLimit } from '../contract/limits.js';
import { storyBuckets } from '../contract/stories.js';
import { HttpError } from './errors.js';
import type { Answer, Call } from './handlers/call.js';
import { handlers } from './handlers/index.js';
import type { Principal, Service } from './service.js';
import { Lens } from './wire/renderer.js';

/** How many requests, by endpoint. */
export type Requests = Record<string, number>;

/** An answer that a client has to ask for, and in how many requests. */
export interface Needed {
  readonly endpoint: string;
  /** Relative to the base URL, with the query that names a thing, and no other. */
  readonly path: string;
  readonly requests: number;
}

/** What it costs, at the least, to be told everything, or all that is new. */
export interface LeastCost {
  readonly total: number;
  /** The lists, and the question whose key it is: what has to be asked to know what there is. */
  readonly lists: Requests;
  readonly children: Requests;
}

/** What an answer said: its parts, in their order, each by its name with a digest. One that has no pages has one part. */
interface Said {
  readonly endpoint: string;
  readonly parts: ReadonlyMap<string, string>;
}

interface Snapshot {
  readonly lists: Requests;
  readonly said: ReadonlyMap<string, Said>;
  /** By the path of a thing's first child, for things that are listed no more. */
  readonly firsts: ReadonlySet<string>;
}

/**
 * Accounts for what a client has to ask, from the answers themselves, so that what a client spends can be held against
 * it. What an answer copies of other things, and what moves with the clock, is no news; see own.ts.
 *
 * Not needed is what another answer says: the detail of an item whose list says all of it, what fails as the detail
 * does, the conversations of a company's people.
 */
export class Account {
  readonly #service: Service;
  #before: Snapshot | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Remembers every answer as it is now; gives what it costs to ask for them all. */
  mark(): LeastCost {
    const now = this.#snapshot();
    this.#before = now;
    return costOf(
      now.lists,
      [...now.said].map(([path, said]) => this.#needed(path, said, undefined)),
    );
  }

  /** What says something else than at the last mark. @throws HttpError 409 without a mark */
  changed(): LeastCost & { readonly answers: readonly Needed[] } {
    const before = this.#before;
    if (!before) throw new HttpError(409, 'Nothing was marked: POST /__sandbox/mark first');
    const now = this.#snapshot();
    const answers: Needed[] = [];
    for (const [path, said] of now.said) {
      const needed = this.#needed(path, said, before.said.get(path));
      if (needed.requests > 0) answers.push(needed);
    }
    for (const path of before.firsts) {
      const { endpoint } = before.said.get(path) ?? {};
      if (endpoint && !now.firsts.has(path)) answers.push({ endpoint, path, requests: 1 });
    }
    return { ...costOf(now.lists, answers), answers };
  }

  /** As many requests as there are pages with news; one, when something is merely gone. */
  #needed(path: string, { endpoint, parts }: Said, before: Said | undefined): Needed {
    const { maxPageSize } = this.#service.settings;
    const pages = new Set<number>();
    [...parts].forEach(([name, digest], index) => {
      if (before?.parts.get(name) !== digest) pages.add(Math.floor(index / maxPageSize));
    });
    const isGone = before !== undefined && [...before.parts.keys()].some((name) => !parts.has(name));
    const isNew = before === undefined;
    return { endpoint, path, requests: Math.max(pages.size, isGone || isNew ? 1 : 0) };
  }

  #snapshot(): Snapshot {
    const inquiry = new Inquiry(this.#service);
    const lists: Requests = { whoami: 1 };
    const said = new Map<string, Said>();
    const firsts = new Set<string>();
    for (const one of things) {
      const { items, requests } = one.list === 'stories' ? stories(inquiry) : inquiry.list(one.list);
      lists[one.list] = requests;
      for (const item of items) {
        for (const [path, answer] of answersAbout(inquiry, one, item)) said.set(path, answer);
        const first = pathOf(one.children[0] as EndpointName, one.param, one.idOf(item));
        if (said.has(first)) firsts.add(first);
      }
    }
    return { lists, said, firsts };
  }
}

function costOf(lists: Requests, needed: readonly Needed[]): LeastCost {
  const children: Requests = {};
  for (const { endpoint, requests } of needed) children[endpoint] = (children[endpoint] ?? 0) + requests;
  const sum = (requests: Requests) => Object.values(requests).reduce((total, count) => total + count, 0);
  return { total: sum(lists) + sum(children), lists, children };
}

/** Everything that is to be asked about one item of a list. */
function* answersAbout(inquiry: Inquiry, of: Things, item: object): Generator<[string, Said]> {
  const id = of.idOf(item);
  let failed: string | undefined;
  for (const endpoint of of.children) {
    const isDetail = endpoint === of.children[0];
    const path = pathOf(endpoint, of.param, id);
    try {
      const body = inquiry.child(endpoint, of.param, id);
      if (isDetail && saysAll(item, body)) continue;
      yield [path, { endpoint, parts: new Map([['', digest(own(endpoint, body))]]) }];
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const failure = digest(error.message);
      if (isDetail) failed = failure;
      else if (failure === failed) continue;
      yield [path, { endpoint, parts: new Map([['', failure]]) }];
    }
  }
  if (!of.hasGroups?.(item)) return;
  const { items } = inquiry.list('groups', { [of.param]: id });
  const parts = new Map(items.map((group) => [group.group.id as string, digest(conversation(group))]));
  yield [`/groups?${of.param}=${encodeURIComponent(id)}`, { endpoint: 'groups', parts }];
}

function saysAll(item: object, detail: object): boolean {
  const listed: Record<string, unknown> = { ...item };
  return Object.entries(detail).every(([name, value]) => digest(listed[name]) === digest(value));
}

/** A bucket has no pages: the others are asked only for what `everything` did not show. */
function stories(inquiry: Inquiry): ReturnType<Inquiry['list']> {
  const seen = new Map<string, object>();
  let requests = 0;
  for (const bucket of ['everything', ...storyBuckets]) {
    const { stories: shown } = inquiry.ask('stories', { query: { bucket, limit: storiesLimit } });
    const fresh = shown.filter(({ draft }: { draft: { slug: string } }) => !seen.has(draft.slug));
    if (requests > 0 && fresh.length === 0) continue;
    for (const story of fresh) seen.set(story.draft.slug, story);
    requests += 1;
  }
  return { items: [...seen.values()], requests };
}

function digest(value: unknown): string {
  return createHash('sha1')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}

// biome-ignore lint/suspicious/noExplicitAny: an answer as it goes over the wire
type Wire = any;

/** An object that copies another thing, as all that counts of it: which thing it is. */
const which = (copy: Wire) => copy && { id: copy.id };

/** Of the messages of a conversation, what they say themselves. */
const messages = (list: Wire[]) =>
  list.map(({ author, channel, replyTo: _, thread: __, ...own }) => ({
    ...own,
    author: which(author),
    channel: which(channel),
  }));

const conversations = ({ data }: Wire) => data.map((item: Wire) => conversation(item));

/** A conversation of a topic, a company or a person, without what it copies of its topic. */
export function conversation({ messages: list, topic, ...own }: Wire): Wire {
  return { ...own, topicId: topic?.topicId, messages: messages(list) };
}

const bodies: Record<string, (body: Wire) => Wire> = {
  topic: ({ successorTopic, ...own }) => ({ ...own, successorTopic: which(successorTopic) }),
  topic_groups: conversations,
  topic_people: ({ data }) =>
    data.map(({ id, identities, isBot, messageCount, sources }: Wire) => ({
      ...{ id, identities, isBot, messageCount, sources },
    })),
  // The last weeks are others each Monday, though nobody wrote.
  company_activity: ({ weeklyActivity: _, ...own }) => own,
  person: ({ company, weeklyActivity: _, ...own }) => ({ ...own, company: which(company) }),
};

/**
 * What an answer says of its own thing: without the copies of other things in it, which change when those do, and
 * without what moves with the clock.
 */
export function own(endpoint: string, body: Wire): Wire {
  return bodies[endpoint]?.(body) ?? body;
}

/** What a request says beside its endpoint. */
interface Request {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, unknown>;
}

/** What belongs to an item of a list, each with a request of its own; the first answers for the item itself. */
export interface Things {
  readonly list: EndpointName;
  readonly idOf: (item: Wire) => string;
  readonly param: string;
  readonly children: readonly EndpointName[];
  /** Whether its conversations are asked for by `GET /groups`. */
  readonly hasGroups?: (item: Wire) => boolean;
}

export const things: readonly Things[] = [
  {
    list: 'topics',
    idOf: ({ id }) => id,
    param: 'topicId',
    children: ['topic', 'topic_groups', 'topic_people', 'topic_history'],
  },
  {
    list: 'companies',
    idOf: ({ id }) => id,
    param: 'companyId',
    children: ['company', 'company_activity', 'company_identities', 'company_history'],
    hasGroups: () => true,
  },
  {
    list: 'people',
    idOf: ({ id }) => id,
    param: 'personId',
    children: ['person', 'person_identities', 'person_source_stats', 'person_history'],
    // Those of a company's people are all among the company's.
    hasGroups: ({ company }) => !company,
  },
  { list: 'channels', idOf: ({ id }) => id, param: 'channelId', children: ['channel'] },
  { list: 'stories', idOf: ({ draft }) => draft.slug, param: 'slug', children: ['story'] },
  {
    list: 'automation_templates',
    idOf: ({ slug }) => slug,
    param: 'slug',
    children: ['automation_template'],
  },
];

/** What a client has to ask for to be told everything. */
const queries: Partial<Record<EndpointName, Record<string, unknown>>> = {
  person_history: { limit: personHistoryLimit, changedByFilter: actors },
  story: { includeArchived: 'true' },
};

/** Asks the handlers of the service themselves: no key, no limit, no fault, no drift, and no address signed. */
class Inquiry {
  readonly #principal: Principal;

  constructor(readonly service: Service) {
    const { world } = service;
    const lens = new Lens(world, { signedUrls: false });
    this.#principal = { key: { key: '' }, tenant: { world, lens } };
  }

  /** The body of an answer; throws what the handler throws. */
  ask(endpoint: EndpointName, { params = {}, query = {} }: Request = {}): Wire {
    const { lens, world } = this.#principal.tenant;
    const { service } = this;
    const handle = handlers[endpoint] as unknown as (call: unknown) => Answer;
    const call: Omit<Call<'topics'>, 'params' | 'query'> & Request = {
      ...{ service, principal: this.#principal, world, lens, params, query },
      ...{ body: undefined as never, given: undefined, pagingFault: undefined },
    };
    return JSON.parse(String(handle(call).json));
  }

  /** One thing's child, by the id of the thing. */
  child(endpoint: EndpointName, param: string, id: string): Wire {
    return this.ask(endpoint, { params: { [param]: id }, query: queries[endpoint] ?? {} });
  }

  /** All items of a list, in the largest pages that are granted, and how many requests that took. */
  list(endpoint: EndpointName, query: Record<string, unknown> = {}): { items: Wire[]; requests: number } {
    const { maxPageSize: limit, pageBase } = this.service.settings;
    const items: Wire[] = [];
    for (let requests = 1; ; requests += 1) {
      const body = this.ask(endpoint, { query: { ...query, limit, page: pageBase + requests - 1 } });
      const shown: Wire[] = Array.isArray(body) ? body : (Object.values(body).find(Array.isArray) ?? []);
      items.push(...shown);
      const isWhole = body.totalCount === undefined || items.length >= body.totalCount;
      if (isWhole || shown.length === 0) return { items, requests };
    }
  }
}

/** The path of a request, with its parameters filled in. */
export function pathOf(endpoint: EndpointName, param: string, id: string): string {
  return endpoints[endpoint].path.replace(`{${param}}`, encodeURIComponent(id));
}
