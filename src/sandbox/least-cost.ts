import { createHash } from 'node:crypto';
import type { EndpointName } from '../contract/endpoints.js';
import { storiesLimit } from '../contract/limits.js';
import type { Key } from '../contract/resource-entry.js';
import { type Child, type ChildName, type List, resources } from '../contract/resources.js';
import { storyBuckets } from '../contract/stories.js';
import { HttpError } from './errors.js';
import type { Answer, Call } from './handlers/call.js';
import { handlers } from './handlers/index.js';
import type { Principal, Service } from './service.js';
import { Renderer } from './wire/renderer.js';

/** How many requests, by endpoint. */
type Requests = Record<string, number>;

/** An answer that a client has to fetch, and how many requests that takes. */
interface Needed {
  readonly endpoint: string;
  /** Relative to the base URL, with only the query that names the entity. */
  readonly path: string;
  readonly requests: number;
}

/** The least number of requests that returns everything, or everything that is new. */
interface LeastCost {
  readonly total: number;
  /** The lists and `whoami`: the requests that return what exists. */
  readonly lists: Requests;
  readonly children: Requests;
}

/** An answer as digests of its parts, by name and in order. An answer without pages has one part. */
interface AnswerDigest {
  readonly endpoint: string;
  readonly parts: ReadonlyMap<string, string>;
}

interface Snapshot {
  readonly lists: Requests;
  /** By path. */
  readonly answers: ReadonlyMap<string, AnswerDigest>;
  /** The paths of the details, which tell what is no longer listed. */
  readonly details: ReadonlySet<string>;
}

/**
 * Counts the requests that a client needs at the least, by comparing the service's own answers. The benchmarks compare
 * what a client spends with it. A change is not counted where an answer only copies another entity or follows the clock
 * (`ownContent`).
 *
 * A request is not needed when another answer says the same: the detail of an item whose list item has every field,
 * a child that fails as the detail does, the conversations of a person who belongs to a company.
 */
export class CostTracker {
  readonly #service: Service;
  #marked: Snapshot | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Remembers every answer as it is now. Returns the cost of fetching all of them. */
  mark(): LeastCost {
    const now = this.#snapshot();
    this.#marked = now;
    return costOf(
      now.lists,
      [...now.answers].map(([path, answer]) => this.#needed(path, answer, undefined)),
    );
  }

  /** The answers that differ from the last mark, and the cost of fetching them. @throws HttpError 409 without a mark */
  changed(): LeastCost & { readonly answers: readonly Needed[] } {
    const before = this.#marked;
    if (!before) throw new HttpError(409, 'Nothing was marked: POST /__sandbox/mark first');
    const now = this.#snapshot();
    const answers: Needed[] = [];
    for (const [path, answer] of now.answers) {
      const needed = this.#needed(path, answer, before.answers.get(path));
      if (needed.requests > 0) answers.push(needed);
    }
    for (const path of before.details) {
      const { endpoint } = before.answers.get(path) ?? {};
      if (endpoint && !now.details.has(path)) answers.push({ endpoint, path, requests: 1 });
    }
    return { ...costOf(now.lists, answers), answers };
  }

  /** As many requests as there are pages with changes; one when something is only gone. */
  #needed(path: string, { endpoint, parts }: AnswerDigest, before: AnswerDigest | undefined): Needed {
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
    const reader = new DirectReader(this.#service);
    const lists: Requests = { whoami: 1 };
    const answers = new Map<string, AnswerDigest>();
    const details = new Set<string>();
    for (const list of resources.lists) {
      const { items, requests } = list.reads === 'buckets' ? readStories(reader) : reader.pages(list.name);
      const children = childrenOf(list);
      lists[list.name] = requests;
      for (const item of items) {
        for (const [path, answer] of answersAbout(reader, children, keyOf(item, list.key), item)) {
          answers.set(path, answer);
          if (answer.endpoint === list.detail) details.add(path);
        }
      }
    }
    return { lists, answers, details };
  }
}

function costOf(lists: Requests, needed: readonly Needed[]): LeastCost {
  const children: Requests = {};
  for (const { endpoint, requests } of needed) children[endpoint] = (children[endpoint] ?? 0) + requests;
  const sum = (requests: Requests) => Object.values(requests).reduce((total, count) => total + count, 0);
  return { total: sum(lists) + sum(children), lists, children };
}

// biome-ignore lint/suspicious/noExplicitAny: an answer as it goes over the wire
type Wire = any;

/** The children of a list, the detail first. */
function childrenOf(list: List): Child[] {
  const children = resources.children.filter((child) => child.list === list);
  return children.toSorted((a, b) => Number(b.name === list.detail) - Number(a.name === list.detail));
}

/** Children that other answers contain, by the list item that says so. */
const redundant: Partial<Record<string, (item: Wire) => boolean>> = {
  // The conversations of a company's people are all among the company's.
  person_groups: ({ company }) => Boolean(company),
} satisfies Partial<Record<ChildName, (item: Wire) => boolean>>;

/** Every answer about one item of a list that is needed. */
function* answersAbout(
  reader: DirectReader,
  children: readonly Child[],
  id: string,
  item: object,
): Generator<[string, AnswerDigest]> {
  let detailFailure: string | undefined;
  for (const child of children) {
    if (redundant[child.name]?.(item)) continue;
    const isDetail = child.name === child.list.detail;
    const path = pathOf(child, id);
    const endpoint = child.endpointName;
    try {
      if (child.paged) {
        yield [path, { endpoint, parts: reader.pagedParts(child, id) }];
        continue;
      }
      const body = reader.child(child, id);
      if (isDetail && hasEveryField(item, body)) continue;
      yield [path, { endpoint, parts: new Map([['', digest(ownContent(child, body))]]) }];
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const failure = digest(error.message);
      if (isDetail) detailFailure = failure;
      else if (failure === detailFailure) continue;
      yield [path, { endpoint, parts: new Map([['', failure]]) }];
    }
  }
}

function hasEveryField(item: object, detail: object): boolean {
  const listed: Record<string, unknown> = { ...item };
  return Object.entries(detail).every(([name, value]) => digest(listed[name]) === digest(value));
}

/** Reads all stories. A bucket has no pages: another bucket costs a request only when it has stories that `everything` has not. */
function readStories(reader: DirectReader): { items: Wire[]; requests: number } {
  const stories = new Map<string, object>();
  let requests = 0;
  for (const bucket of ['everything', ...storyBuckets]) {
    const body = reader.ask('stories', { query: { bucket, limit: storiesLimit } });
    const added = body.stories.filter(({ draft }: Wire) => !stories.has(draft.slug));
    if (requests > 0 && added.length === 0) continue;
    for (const story of added) stories.set(story.draft.slug, story);
    requests += 1;
  }
  return { items: [...stories.values()], requests };
}

/** The parameters of a request. */
interface Parameters {
  readonly params?: Record<string, string>;
  readonly query?: Record<string, unknown>;
}

/** Calls the service's handlers directly: no key, no limit, no faults, no drift, and unsigned addresses. */
class DirectReader {
  readonly #principal: Principal;

  constructor(readonly service: Service) {
    const { world } = service;
    const renderer = new Renderer(world, { signedUrls: false });
    this.#principal = { key: { key: '' }, tenant: { world, renderer } };
  }

  /** The body of an answer; throws what the handler throws. */
  ask(endpoint: string, { params = {}, query = {} }: Parameters = {}): Wire {
    const { renderer, world } = this.#principal.tenant;
    const { service } = this;
    const handle = handlers[endpoint as EndpointName] as unknown as (call: unknown) => Answer;
    const call: Omit<Call<'topics'>, 'params' | 'query'> & Parameters = {
      ...{ service, principal: this.#principal, world, renderer, params, query },
      ...{ body: undefined as never, rawBody: undefined, pagingFault: undefined },
    };
    return JSON.parse(String(handle(call).json));
  }

  /** The answer about one parent. */
  child(child: Child, parentId: string): Wire {
    const parameter = pathParameter(child);
    return this.ask(child.endpointName, {
      params: parameter === undefined ? {} : { [parameter]: parentId },
      query: { ...child.extraQuery, ...parentQuery(child, parentId) },
    });
  }

  /** The items of a paged child, each as a part of its own. */
  pagedParts(child: Child, parentId: string): Map<string, string> {
    const { items } = this.pages(child.endpointName, parentQuery(child, parentId));
    const { answer } = child;
    return new Map(
      items.map((item) =>
        answer.form === 'members'
          ? [keyOf(item, answer.key), digest(item)]
          : [String(item.group.id), digest(ownConversation(item))],
      ),
    );
  }

  /** All items of a list, in the largest pages that the service grants, and how many requests that took. */
  pages(endpoint: string, query: Record<string, unknown> = {}): { items: Wire[]; requests: number } {
    const { maxPageSize: limit, pageBase } = this.service.settings;
    const items: Wire[] = [];
    for (let requests = 1; ; requests += 1) {
      const body = this.ask(endpoint, { query: { ...query, limit, page: pageBase + requests - 1 } });
      const page: Wire[] = Array.isArray(body) ? body : (Object.values(body).find(Array.isArray) ?? []);
      items.push(...page);
      const isComplete = body.totalCount === undefined || items.length >= body.totalCount;
      if (isComplete || page.length === 0) return { items, requests };
    }
  }
}

function keyOf(item: Wire, key: Key): string {
  const at = (path: string) => path.split('.').reduce((value: Wire, name) => value?.[name], item);
  return key.map((path) => String(at(path))).join(':');
}

/** The parameter of a child's path, where its path names the parent. */
function pathParameter({ endpoint }: Child): string | undefined {
  return /\{(\w+)\}/.exec(endpoint.path)?.[1];
}

function parentQuery({ parentParameter }: Child, parentId: string): Record<string, string> {
  return parentParameter === undefined ? {} : { [parentParameter]: parentId };
}

function pathOf(child: Child, parentId: string): string {
  const id = encodeURIComponent(parentId);
  const path = child.endpoint.path.replace(/\{\w+\}/, id);
  return child.parentParameter === undefined ? path : `${path}?${child.parentParameter}=${id}`;
}

/** Reduces the copy of another entity to its id. */
const idOnly = (copy: Wire) => copy && { id: copy.id };

/** The messages of a conversation without copies of authors, channels and other messages. */
const ownMessages = (list: Wire[]) =>
  list.map(({ author, channel, replyTo: _, thread: __, ...own }) => ({
    ...own,
    author: idOnly(author),
    channel: idOnly(channel),
  }));

/** A conversation without what it copies of its topic. */
function ownConversation({ messages, topic, ...own }: Wire): Wire {
  return { ...own, topicId: topic?.topicId, messages: ownMessages(messages) };
}

const ownContents: Partial<Record<string, (body: Wire) => Wire>> = {
  topic: ({ successorTopic, ...own }) => ({ ...own, successorTopic: idOnly(successorTopic) }),
  topic_groups: ({ data }) => data.map(ownConversation),
  topic_people: ({ data }) =>
    data.map(({ id, identities, isBot, messageCount, sources }: Wire) => ({
      ...{ id, identities, isBot, messageCount, sources },
    })),
  // The weeks shift every Monday, although nobody wrote.
  company_activity: ({ weeklyActivity: _, ...own }) => own,
  person: ({ company, weeklyActivity: _, ...own }) => ({ ...own, company: idOnly(company) }),
} satisfies Partial<Record<ChildName, (body: Wire) => Wire>>;

/** An answer without the copies of other entities, which change when those do, and without what follows the clock. */
function ownContent(child: Child, body: Wire): Wire {
  return ownContents[child.name]?.(body) ?? body;
}

function digest(value: unknown): string {
  return createHash('sha1')
    .update(JSON.stringify(value) ?? '')
    .digest('base64');
}
