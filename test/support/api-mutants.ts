import { type Answering, type RawServer, rawServer, type Seen } from './raw-server.js';

/**
 * APIs that are otherwise than assumed: each is a sandbox behind a proxy that rewrites its answers. Written from
 * docs/assumptions.md alone, without the code that decides.
 */

// biome-ignore lint/suspicious/noExplicitAny: an answer as it goes over the wire
type Body = any;
interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Body;
}
/** A request on its way to the sandbox: its path below /v1, and its query, which a mutant may change. */
interface Call {
  path: string;
  readonly query: URLSearchParams;
  /** Counted from 1. */
  readonly count: number;
}
interface Mutant {
  readonly name: string;
  /** The assumption that it contradicts. */
  readonly id: string;
  /** An answer in place of the sandbox's; undefined asks the sandbox, with the call as it is then. */
  readonly before?: (call: Call) => Answer | undefined;
  readonly after?: (answer: Answer, call: Call) => void;
}

const error = (status: number, code: string): Answer => {
  return { status, headers: {}, body: { code, message: code, status, defined: true } };
};
const isList = ({ path }: Call) => /^\/(topics|companies|people)$/.test(path);
const on =
  (path: string | RegExp, change: (body: Body, answer: Answer) => Body) => (answer: Answer, call: Call) => {
    const matches = typeof path === 'string' ? call.path === path : path.test(call.path);
    if (matches && answer.status === 200) answer.body = change(answer.body, answer) ?? answer.body;
  };
const eachOf = (path: string | RegExp, change: (item: Body) => void) =>
  on(path, (body) => void body.data.forEach(change));
const eachGroupPage = (change: (data: Body[]) => void) => on('/groups', (body) => void change(body.data));
const lists = /^\/(topics|companies|people|groups)$/;
const topicDetail = /^\/topics\/[^/]+$/;
const topicGroups = /^\/topics\/[^/]+\/groups$/;
/** Every text of this form, wherever it is in an answer. */
const everyText = (form: RegExp, change: (text: string) => unknown) => (answer: Answer) => {
  answer.body = JSON.parse(JSON.stringify(answer.body), (_, one) =>
    typeof one === 'string' && form.test(one) ? change(one) : one,
  );
};
const later = (days: number) => (time: string) =>
  new Date(Date.parse(time) + days * 86_400_000).toISOString();
const dateTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const fromPage = (base: number): Pick<Mutant, 'before' | 'after'> => ({
  before({ query }) {
    const page = query.get('page');
    if (page !== null) query.set('page', String(Number(page) - base + 1));
    return undefined;
  },
  after: on(lists, (body) => ({ ...body, page: body.page + base - 1 })),
});
/** A history of as many records, made of those that there are. */
const historyOf = (records: number, totalCount: number) =>
  on(/^\/topics\/[^/]+\/history$/, (body) => {
    const [
      first = {
        id: 'r',
        changedAt: '2026-01-01T00:00:00Z',
        changedBy: 'user',
        operation: 'UPDATE',
        changes: {},
        previousValues: null,
        user: null,
      },
    ] = body.history;
    return {
      ...body,
      history: Array.from({ length: records }, (_, index) => ({ ...first, id: `r${index}` })),
      totalCount,
    };
  });

export const mutants: readonly Mutant[] = [
  { name: 'pages from 0', id: 'page_base', ...fromPage(0) },
  { name: 'pages from 5', id: 'page_numbers', ...fromPage(5) },
  {
    name: 'the page is ignored',
    id: 'page_parameter',
    before: ({ query }) => void query.delete('page') as undefined,
  },
  {
    name: 'the page is refused',
    id: 'page_parameter',
    before: ({ query }) => (query.has('page') ? error(400, 'BAD_REQUEST') : undefined),
  },
  {
    name: 'the limit is ignored',
    id: 'limit_parameter',
    before: ({ query }) => void query.delete('limit') as undefined,
  },
  {
    name: 'the limit is refused',
    id: 'size_accepted',
    before: (call) => (isList(call) && call.query.has('limit') ? error(400, 'BAD_REQUEST') : undefined),
  },
  {
    name: 'pages of 25 at most',
    id: 'page_size',
    before({ query }) {
      if (Number(query.get('limit')) > 25) query.set('limit', '25');
      return undefined;
    },
  },
  {
    name: 'half pages',
    id: 'page_full',
    after: on(lists, (body) => ({ ...body, data: body.data.slice(0, Math.ceil(body.data.length / 2)) })),
  },
  { name: 'topics as a bare array', id: 'documented_page', after: on('/topics', (body) => body.data) },
  {
    name: 'items and meta',
    id: 'documented_page',
    after: on(lists, ({ data, ...meta }) => ({ items: data, meta })),
  },
  { name: 'a list in a list', id: 'readable', after: on('/topics', (body) => ({ result: body })) },
  {
    name: 'channels by id',
    id: 'readable',
    after: on('/channels', ({ channels }) => Object.fromEntries(channels.map((one: Body) => [one.id, one]))),
  },
  { name: 'no totals', id: 'list_total', after: on(lists, ({ totalCount: _, ...body }) => body) },
  {
    name: 'totals of 10 at most',
    id: 'total_true',
    after: on(lists, (body) => ({ ...body, totalCount: Math.min(10, body.totalCount) })),
  },
  {
    name: 'totals that are too large',
    id: 'total_true',
    after: on(lists, (body) => ({ ...body, totalCount: body.totalCount + 50 })),
  },
  {
    name: 'totals of several pages too many',
    id: 'total_true',
    after: on(lists, (body) => ({ ...body, totalCount: body.totalCount + 350 })),
  },
  {
    name: 'any order',
    id: 'list_order',
    after: on(lists, (body) => ({ ...body, data: shuffled(body.data) })),
  },
  {
    name: 'conversations begin to page',
    id: 'whole_answers',
    after: on(topicGroups, (body) => ({ data: body.data.slice(0, 1), hasMore: true })),
  },
  {
    name: 'a Link header',
    id: 'whole_answers',
    after: on(topicGroups, (_, { headers }) => void Object.assign(headers, { link: '</next>; rel="next"' })),
  },
  {
    name: 'conversations are cut in silence',
    id: 'whole_answers',
    after: on(topicGroups, (body) => ({ data: body.data.slice(0, 1) })),
  },
  {
    name: 'no channels',
    id: 'lists_offered',
    before: ({ path }) => (path === '/channels' ? error(404, 'NOT_FOUND') : undefined),
  },
  {
    name: '403 for source stats',
    id: 'key_everywhere',
    before: ({ path }) => (path.endsWith('/source-stats') ? error(403, 'FORBIDDEN') : undefined),
  },
  {
    name: '404 for 403',
    id: 'listed_answered',
    before: ({ path }) => (/^\/people\/.*\/identities$/.test(path) ? error(404, 'NOT_FOUND') : undefined),
  },
  {
    name: '403 for 404',
    id: 'absent_404',
    after: (answer) => void (answer.status === 404 && Object.assign(answer, error(403, 'FORBIDDEN'))),
  },
  {
    name: '410 for 404',
    id: 'absent_404',
    after: (answer) => void (answer.status === 404 && Object.assign(answer, error(410, 'GONE'))),
  },
  {
    name: 'a 404 of something else',
    id: 'error_form',
    after: (answer) =>
      void (answer.status === 404 && Object.assign(answer, { body: { error: 'not found' } })),
  },
  {
    name: 'companies have moved',
    id: 'redirects',
    before: ({ path }) =>
      path === '/companies'
        ? { ...error(308, 'MOVED'), headers: { location: 'http://127.0.0.1:1/v2/companies' } }
        : undefined,
  },
  {
    name: 'a key with 30 requests',
    id: 'rate_limit',
    before: ({ count }) => (count > 30 && count < 33 ? error(429, 'TOO_MANY_REQUESTS') : undefined),
  },
  {
    name: 'a header with a lower limit',
    id: 'rate_limit',
    after: ({ headers }) => void Object.assign(headers, { 'x-ratelimit-limit': '60' }),
  },
  { name: 'no dates', id: 'date_header', after: ({ headers }) => void delete headers.date },
  {
    name: 'a clock that is an hour ahead',
    id: 'clocks_agree',
    after: ({ headers }) =>
      void Object.assign(headers, { date: new Date(Date.now() + 3_600_000).toUTCString() }),
  },
  {
    name: 'topics without updatedAt',
    id: 'fields_present',
    after: eachOf('/topics', (item) => delete item.updatedAt),
  },
  {
    name: 'another priority',
    id: 'values',
    after: eachOf('/topics', (item) => Object.assign(item, { priority: 'P1' })),
  },
  {
    name: 'counters as text',
    id: 'types',
    after: eachOf('/topics', (item) => Object.assign(item, { messageCount: String(item.messageCount) })),
  },
  {
    name: 'another topic',
    id: 'answer_about',
    after: on(topicDetail, (body) => ({ ...body, id: '11111111-1111-4111-8111-111111111111' })),
  },
  {
    name: 'ids as numbers',
    id: 'ids_text',
    after: eachOf('/people', (item) => Object.assign(item, { id: Number(item.id) })),
  },
  {
    name: 'ids with letters',
    id: 'ids_digits',
    before(call) {
      call.path = call.path.replace('/p-', '/');
      return undefined;
    },
    after: eachOf('/people', (item) => Object.assign(item, { id: `p-${item.id}` })),
  },
  {
    name: 'times without a zone',
    id: 'times_offset',
    after: everyText(dateTime, (time) => time.slice(0, -1)),
  },
  {
    name: 'times as numbers',
    id: 'times_text',
    after: everyText(dateTime, (time) => Date.parse(time) / 1000),
  },
  { name: 'times of tomorrow', id: 'times_past', after: everyText(dateTime, later(400)) },
  {
    name: 'details that lag',
    id: 'detail_not_older',
    after: on(topicDetail, (body) => ({ ...body, updatedAt: later(-1)(body.updatedAt) })),
  },
  {
    name: 'another updatedAt',
    id: 'same_updated_at',
    after: on(topicDetail, (body) => ({ ...body, updatedAt: later(0.1)(body.updatedAt) })),
  },
  {
    name: 'lists that lag',
    id: 'list_current',
    after: on(topicDetail, (body) => ({ ...body, priority: body.priority === 'high' ? 'low' : 'high' })),
  },
  {
    name: 'people without counters',
    id: 'person_item',
    after: eachOf('/people', (item) => delete item.messageCount),
  },
  {
    name: 'identities of another form',
    id: 'identity_form',
    after: on(/^\/people\/.*\/identities$/, ({ identities }) => ({
      identities: identities.map(({ platform, ...one }: Body) => ({ ...one, provider: platform })),
    })),
  },
  {
    name: 'templates without slugs',
    id: 'template_slug',
    after: on('/automation-templates', ({ templates }) => ({
      templates: templates.map(({ slug, ...one }: Body) => ({ ...one, key: slug })),
    })),
  },
  {
    name: 'topics that do not say whether they are archived',
    id: 'archived_shown',
    after: on(topicDetail, ({ graphStatus: _, archivedAt: __, ...body }) => body),
  },
  {
    name: 'counters that count too little',
    id: 'counters',
    after: eachOf('/topics', (item) => Object.assign(item, { totalGroupCount: 0 })),
  },
  {
    name: 'newest messages first',
    id: 'oldest_first',
    after: eachOf(topicGroups, ({ messages }) => messages.reverse()),
  },
  { name: 'oldest conversations first', id: 'groups_order', after: eachGroupPage((data) => data.reverse()) },
  {
    name: 'companies without the conversations of their people',
    id: 'groups_company',
    after(answer, { path, query }) {
      if (path === '/groups' && query.has('companyId'))
        Object.assign(answer.body, { data: [], totalCount: 0 });
    },
  },
  {
    name: 'no whoami',
    id: 'whoami_answers',
    before: ({ path }) => (path === '/whoami' ? error(404, 'NOT_FOUND') : undefined),
  },
  {
    name: 'histories of people cut at one',
    id: 'person_history',
    after: on(/^\/people\/[^/]+\/history$/, (body) => ({ ...body, history: [], totalCount: 30 })),
  },
  { name: 'histories cut at 20', id: 'history_complete', after: historyOf(20, 34) },
  { name: 'histories cut at 20 in silence', id: 'history_complete', after: historyOf(20, 20) },
  {
    name: 'histories of people refuse a limit',
    id: 'person_history',
    before: ({ path, query }) =>
      path.endsWith('/history') && query.has('limit') ? error(400, 'BAD_REQUEST') : undefined,
  },
  {
    name: 'two stories',
    id: 'story_buckets',
    after: on('/stories', (body) => ({ ...body, stories: body.stories.slice(0, 2) })),
  },
  {
    name: 'another organization each time',
    id: 'organization_id',
    after: on('/whoami', ({ organization }) => ({
      organization: { ...organization, id: String(Math.random()) },
    })),
  },
];

function shuffled(items: readonly Body[]): Body[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** The sandbox behind a proxy, as `mutant` makes it. `requests` are those that arrived. */
export function mutantOf(
  sandbox: { readonly baseUrl: string; readonly apiKey: string },
  { before, after }: Partial<Mutant> = {},
): Promise<RawServer> {
  const answer: Answering = async (response, seen, count) => {
    const call = { path: seen.url.pathname.replace(/^\/v1/, ''), query: seen.url.searchParams, count };
    const given = before?.(call) ?? (await ask(sandbox.baseUrl, call, seen));
    after?.(given, call);
    response.sendDate = false;
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(JSON.stringify(given.body));
  };
  return rawServer(answer);
}

async function ask(baseUrl: string, { path, query }: Call, { headers }: Seen): Promise<Answer> {
  const asked = await fetch(`${baseUrl}${path}?${query}`, {
    headers: { authorization: String(headers.authorization) },
  });
  return {
    status: asked.status,
    headers: { date: asked.headers.get('date') ?? '' },
    body: await asked.json(),
  };
}
