import { Pulling } from './pulling.js';
import { type RawServer, rawServer, type Seen } from './raw-server.js';

type Plain = Record<string, unknown>;
/** What a test answers in place of the default: `body` as JSON, or `text` as it is; `destroy` breaks the connection. */
export interface PlainAnswer {
  readonly status?: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
  readonly destroy?: true;
}
type Answering = (seen: Seen) => PlainAnswer | undefined;

/**
 * A Product-Signals API of plain objects, without any rule of its own: it answers what a test put there, whether it makes
 * sense or not. Every object is answered as it stands: a topic is the same in the list and by its id, unless
 * `topicDetails` (and so on) has another one.
 */
export class PlainApi {
  readonly apiKey = 'svc_plain';
  topics: Plain[] = [];
  people: Plain[] = [];
  companies: Plain[] = [];
  channels: Plain[] = [];
  stories: Plain[] = [];
  /** What GET by id answers, where it differs from the list's item; null answers 404. */
  topicDetails: Record<string, Plain | null> = {};
  personDetails: Record<string, Plain | null> = {};
  /** `{group, messages}` by the id of the topic, company or person. */
  topicGroups: Record<string, Plain[]> = {};
  companyGroups: Record<string, Plain[]> = {};
  personGroups: Record<string, Plain[]> = {};
  topicPeople: Record<string, Plain[]> = {};
  /** Of people and companies. */
  identities: Record<string, Plain[]> = {};
  sourceStats: Record<string, Plain[]> = {};
  /** Of topics, people and companies: a whole answer. */
  histories: Record<string, Plain> = {};
  /** Whether answers have a `Date` header at all. */
  sendsDate = true;
  /** Overrides, latest first: a path below /v1 (without the query) or a pattern of it. */
  readonly #overrides: { method: string; path: string | RegExp; answer: Answering }[] = [];
  #server: RawServer | undefined;

  static async start(content: Partial<PlainApi> = {}): Promise<PlainApi> {
    const api = new PlainApi();
    Object.assign(api, content);
    api.#server = await rawServer((response, seen) => {
      const answer = api.#answer(seen);
      if (answer.destroy) return void response.destroy();
      const { status = 200, headers = {} } = answer;
      response.sendDate = api.sendsDate;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(answer.text ?? JSON.stringify(answer.body ?? {}));
    });
    return api;
  }

  get baseUrl(): string {
    return this.#server?.baseUrl ?? '';
  }

  /** Requests so far, as `GET /topics/1/groups`. */
  get requests(): string[] {
    return (this.#server?.requests ?? []).map(({ method, url }) => `${method} ${below(url)}`);
  }

  /** Takes the requests so far out of the list, and returns them. */
  taken(): string[] {
    const { requests } = this;
    this.#server?.requests.splice(0);
    return requests;
  }

  stop(): Promise<void> {
    return this.#server?.close() ?? Promise.resolve();
  }

  /** A data directory for this API. */
  pulling(settings: object = {}): Pulling<PlainApi> {
    return Pulling.into(this, settings);
  }

  /** What Pulling counts; this API has no routes by name. */
  stats(): { routes: Record<string, Record<string, number>> } {
    return { routes: { all: { all: this.requests.length } } };
  }

  /** Answers GETs of a path by hand from now on, before the default; undefined goes on to what was there before. */
  at(path: string | RegExp, answer: Answering | PlainAnswer, method = 'GET'): this {
    const asked: Answering = typeof answer === 'function' ? answer : () => answer;
    this.#overrides.unshift({ method, path, answer: asked });
    return this;
  }

  /** Takes every answer by hand back. */
  clear(): void {
    this.#overrides.splice(0);
  }

  #answer(seen: Seen): PlainAnswer {
    const path = below(seen.url);
    for (const one of this.#overrides) {
      if (one.method !== seen.method) continue;
      if (typeof one.path === 'string' ? one.path !== path : !one.path.test(path)) continue;
      const answer = one.answer(seen);
      if (answer) return answer;
    }
    if (seen.method === 'PATCH') return this.#patch(path, seen);
    return this.#read(path, seen.url.searchParams);
  }

  /** Every field of the body is set on the topic, in the list and by id. */
  #patch(path: string, { body }: Seen): PlainAnswer {
    const topic = this.topics.find(({ id }) => path === `/topics/${id}`);
    if (!topic) return notFound;
    const { archived, ...fields } = JSON.parse(body) as Plain;
    const now = new Date().toISOString();
    const archiving = archived === undefined ? {} : { archivedAt: archived ? now : null };
    return { body: Object.assign(topic, fields, archiving, { updatedAt: now }) };
  }

  #read(path: string, query: URLSearchParams): PlainAnswer {
    const [, kind = '', id, part] = path.split('/').map(decodeURIComponent);
    const paged = (all: readonly Plain[] = []): PlainAnswer => {
      const page = Number(query.get('page') ?? 1);
      const limit = Math.min(Number(query.get('limit') ?? 100), 100);
      return {
        body: { data: all.slice((page - 1) * limit, page * limit), limit, page, totalCount: all.length },
      };
    };
    const detail = (details: Record<string, Plain | null>, list: readonly Plain[]): PlainAnswer => {
      const one = id !== undefined && id in details ? details[id] : list.find((item) => item.id === id);
      return one ? { body: one } : notFound;
    };
    if (kind === 'whoami')
      return { body: { organization: { id: uuid('o', 255), name: 'Plain', slug: 'plain' } } };
    if (kind === 'groups') {
      const company = query.get('companyId');
      return paged(
        company === null ? this.personGroups[query.get('personId') ?? ''] : this.companyGroups[company],
      );
    }
    if (id === undefined) {
      if (kind === 'topics') return paged(this.topics);
      if (kind === 'people') return paged(this.people);
      if (kind === 'companies') return paged(this.companies);
      if (kind === 'channels') return { body: this.channels };
      if (kind === 'automation-templates') return { body: [] };
      if (kind === 'stories') {
        const counts = { archivedCount: 0, forYouCount: 0, unreadCount: 0 };
        const { stories } = this;
        return { body: { ...counts, everythingCount: stories.length, stories, visitedThrough: someTime } };
      }
      return notFound;
    }
    const noHistory = { history: [], actions: [], mergedInto: null, merges: [], totalCount: 0 };
    if (part === 'history') return { body: this.histories[id] ?? noHistory };
    if (part === 'identities') return { body: { identities: this.identities[id] ?? [] } };
    if (kind === 'topics' && part === 'groups') return { body: { data: this.topicGroups[id] ?? [] } };
    if (kind === 'topics' && part === 'people') return { body: { data: this.topicPeople[id] ?? [] } };
    if (kind === 'people' && part === 'source-stats')
      return { body: { sourceStats: this.sourceStats[id] ?? [] } };
    if (kind === 'companies' && part === 'activity')
      return { body: { messageCount: 0, sourceStats: [], weeklyActivity: [] } };
    if (part !== undefined) return notFound;
    if (kind === 'topics') return detail(this.topicDetails, this.topics);
    if (kind === 'people') return detail(this.personDetails, this.people);
    if (kind === 'companies') return detail({}, this.companies);
    if (kind === 'channels') return detail({}, this.channels);
    return notFound;
  }
}

const notFound: PlainAnswer = {
  status: 404,
  body: { code: 'NOT_FOUND', message: 'not found', status: 404, defined: true },
};

function below(url: URL): string {
  return url.pathname.replace(/^\/v1/, '');
}

/** A UUID that says what it is and its number: `uuid('t', 1)`. */
export function uuid(kind: string, number: number): string {
  const prefix = Buffer.from(kind).toString('hex').padEnd(8, '0').slice(0, 8);
  return `${prefix}-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

const someTime = '2026-10-01T08:00:00.000Z';
const nullFor = (fields: string) => Object.fromEntries(fields.split(' ').map((field) => [field, null]));

/** A topic with every documented field of the list and of the detail. */
export function plainTopic(number: number, fields: Plain = {}): Plain {
  return {
    id: uuid('t', number),
    title: `Topic ${number}`,
    summary: `About ${number}`,
    priority: 'default',
    issueType: 'bug_report',
    lifecycleState: 'open',
    lifecycleStateConfidence: 0.9,
    eventCount: 0,
    messageCount: 0,
    staffResponseGroupCount: 0,
    totalGroupCount: 0,
    similarity: 0,
    keywords: [],
    sources: [],
    authors: [],
    persons: [],
    graphStatus: 'active',
    ...nullFor('priorityReasoning linkedTicket successorTopic supersededAt'),
    ...nullFor('archivedAt archivedByUserId archivedReason'),
    timeRangeStart: someTime,
    timeRangeEnd: someTime,
    createdAt: someTime,
    updatedAt: someTime,
    ...fields,
  };
}

/** A person with every documented field. Ids of people and companies are digits. */
export function plainPerson(number: number, fields: Plain = {}): Plain {
  return {
    id: String(number),
    displayName: `Person ${number}`,
    primaryEmail: `person${number}@example.com`,
    ...nullFor('avatarUrl company description'),
    avgMessagesPerWeek: 0,
    conversationCount: 0,
    identityCount: 0,
    messageCount: 0,
    isVip: false,
    connections: {},
    ecosystemTags: [],
    expertiseTags: [],
    sources: [],
    weeklyActivity: [],
    createdAt: someTime,
    firstSeenAt: someTime,
    lastSeenAt: someTime,
    ...fields,
  };
}

/** A company with every documented field of the list and of the detail. */
export function plainCompany(number: number, fields: Plain = {}): Plain {
  return {
    id: String(number),
    name: `Company ${number}`,
    primaryDomain: `company${number}.example`,
    isOrgCompany: false,
    isVip: false,
    messageCount: 0,
    personCount: 0,
    logoUrl: null,
    connections: {},
    createdAt: someTime,
    lastSeenAt: someTime,
    ...fields,
  };
}

/** A message with every documented field. */
export function plainMessage(number: number, fields: Plain = {}): Plain {
  return {
    id: uuid('m', number),
    content: `Message ${number}`,
    createdAt: someTime,
    isInternal: false,
    sourceMessageId: `m${number}`,
    sourceMessageType: 'message',
    sourceName: 'slack',
    reactions: [],
    ...nullFor('title author channel metadata deletedAt editedAt'),
    ...nullFor('replyTo replyToId thread threadId sourceReplyToId sourceThreadId sourceUrl'),
    ...fields,
  };
}

/** A conversation as every endpoint of conversations answers it, with one message unless others are given. */
export function plainGroup(number: number, messages = [plainMessage(number)], fields: Plain = {}): Plain {
  return {
    group: {
      id: uuid('g', number),
      title: `Conversation ${number}`,
      archivedAt: null,
      startTimestamp: someTime,
      endTimestamp: someTime,
      ...fields,
    },
    messages,
  };
}
