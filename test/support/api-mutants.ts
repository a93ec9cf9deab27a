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
  /** The assumption that it contradicts. */
  readonly id: string;
  /** An answer in place of the sandbox's; undefined asks the sandbox, with the call as it is then. */
  readonly before?: (call: Call) => Answer | undefined;
  readonly after?: (answer: Answer, call: Call) => void;
}

const error = (status: number, code: string): Answer => {
  return { status, headers: {}, body: { code, message: code, status, defined: true } };
};
/** What is asked for these paths is refused; only with a parameter where one is named. */
const refusing =
  (paths: RegExp, status: number, code: string, parameter?: string) =>
  ({ path, query }: Call) =>
    paths.test(path) && (parameter === undefined || query.has(parameter)) ? error(status, code) : undefined;
/** Every answer with this status becomes another one. */
const insteadOf = (status: number, other: Partial<Answer>) => (answer: Answer) =>
  void (answer.status === status && Object.assign(answer, other));
const withHeaders =
  (more: () => Record<string, string>) =>
  ({ headers }: Answer) =>
    void Object.assign(headers, more());
const setting = (fields: object) => (item: Body) => Object.assign(item, fields);
const without = (field: string) => (item: Body) => delete item[field];
const on =
  (path: string | RegExp, change: (body: Body, answer: Answer) => Body) => (answer: Answer, call: Call) => {
    const matches = typeof path === 'string' ? call.path === path : path.test(call.path);
    if (matches && answer.status === 200) answer.body = change(answer.body, answer) ?? answer.body;
  };
const eachOf = (path: string | RegExp, change: (item: Body) => void) =>
  on(path, (body) => void body.data.forEach(change));
const lists = /^\/(topics|companies|people|groups)$/;
const topicDetail = /^\/topics\/[^/]+$/;
const topicGroups = /^\/topics\/[^/]+\/groups$/;
const identities = /^\/people\/.*\/identities$/;
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
    const made = { changedAt: '2026-01-01T00:00:00Z', changedBy: 'user', operation: 'UPDATE', user: null };
    const [first = { ...made, changes: {}, previousValues: null }] = body.history;
    const history = Array.from({ length: records }, (_, index) => ({ ...first, id: `r${index}` }));
    return { ...body, history, totalCount };
  });
const withTotal = (of: (total: number) => number) =>
  on(lists, (body) => ({ ...body, totalCount: of(body.totalCount) }));
const half = (data: Body[]) => data.slice(0, Math.ceil(data.length / 2));
const byId = (all: Body[]) => Object.fromEntries(all.map((one) => [one.id, one]));

export const mutants: Readonly<Record<string, Mutant>> = {
  'pages from 0': { id: 'page_base', ...fromPage(0) },
  'pages from 5': { id: 'page_numbers', ...fromPage(5) },
  'the page is ignored': { id: 'page_parameter', before: ({ query }) => void query.delete('page') },
  'the page is refused': { id: 'page_parameter', before: refusing(/./, 400, 'BAD_REQUEST', 'page') },
  'the limit is ignored': { id: 'limit_parameter', before: ({ query }) => void query.delete('limit') },
  'the limit is refused': {
    id: 'size_accepted',
    before: refusing(/^\/(topics|companies|people)$/, 400, 'BAD_REQUEST', 'limit'),
  },
  'pages of 25 at most': {
    id: 'page_size',
    before: ({ query }) => void (Number(query.get('limit')) > 25 && query.set('limit', '25')),
  },
  'half pages': { id: 'page_full', after: on(lists, (body) => ({ ...body, data: half(body.data) })) },
  'topics as a bare array': { id: 'documented_page', after: on('/topics', (body) => body.data) },
  'items and meta': {
    id: 'documented_page',
    after: on(lists, ({ data, ...meta }) => ({ items: data, meta })),
  },
  'a list in a list': { id: 'readable', after: on('/topics', (body) => ({ result: body })) },
  'channels by id': { id: 'readable', after: on('/channels', ({ channels }) => byId(channels)) },
  'no totals': { id: 'list_total', after: on(lists, ({ totalCount: _, ...body }) => body) },
  'totals of 10 at most': { id: 'total_true', after: withTotal((total) => Math.min(10, total)) },
  'totals that are too large': { id: 'total_true', after: withTotal((total) => total + 50) },
  'totals of several pages too many': { id: 'total_true', after: withTotal((total) => total + 350) },
  'any order': { id: 'list_order', after: on(lists, (body) => ({ ...body, data: shuffled(body.data) })) },
  'conversations begin to page': {
    id: 'whole_answers',
    after: on(topicGroups, (body) => ({ data: body.data.slice(0, 1), hasMore: true })),
  },
  'a Link header': {
    id: 'whole_answers',
    after: on(topicGroups, (_, { headers }) => void Object.assign(headers, { link: '</next>; rel="next"' })),
  },
  'conversations are cut in silence': {
    id: 'whole_answers',
    after: on(topicGroups, (body) => ({ data: body.data.slice(0, 1) })),
  },
  'no channels': { id: 'lists_offered', before: refusing(/^\/channels$/, 404, 'NOT_FOUND') },
  '403 for source stats': { id: 'key_everywhere', before: refusing(/\/source-stats$/, 403, 'FORBIDDEN') },
  '404 for 403': { id: 'listed_answered', before: refusing(identities, 404, 'NOT_FOUND') },
  '403 for 404': { id: 'absent_404', after: insteadOf(404, error(403, 'FORBIDDEN')) },
  '410 for 404': { id: 'absent_404', after: insteadOf(404, error(410, 'GONE')) },
  'a 404 of something else': { id: 'error_form', after: insteadOf(404, { body: { error: 'not found' } }) },
  'companies have moved': {
    id: 'redirects',
    before: ({ path }) =>
      path === '/companies'
        ? { ...error(308, 'MOVED'), headers: { location: 'http://127.0.0.1:1/v2/companies' } }
        : undefined,
  },
  'a key with 30 requests': {
    id: 'rate_limit',
    before: ({ count }) => (count > 30 && count < 33 ? error(429, 'TOO_MANY_REQUESTS') : undefined),
  },
  'a header with a lower limit': {
    id: 'rate_limit',
    after: withHeaders(() => ({ 'x-ratelimit-limit': '60' })),
  },
  'no dates': { id: 'date_header', after: ({ headers }) => void delete headers.date },
  'a clock that is an hour ahead': {
    id: 'clocks_agree',
    after: withHeaders(() => ({ date: new Date(Date.now() + 3_600_000).toUTCString() })),
  },
  'topics without updatedAt': { id: 'fields_present', after: eachOf('/topics', without('updatedAt')) },
  'another priority': { id: 'values', after: eachOf('/topics', setting({ priority: 'P1' })) },
  'counters as text': {
    id: 'types',
    after: eachOf('/topics', (item) => setting({ messageCount: String(item.messageCount) })(item)),
  },
  'another topic': {
    id: 'answer_about',
    after: on(topicDetail, (body) => ({ ...body, id: '11111111-1111-4111-8111-111111111111' })),
  },
  'ids as numbers': {
    id: 'ids_text',
    after: eachOf('/people', (item) => setting({ id: Number(item.id) })(item)),
  },
  'ids with letters': {
    id: 'ids_digits',
    before: (call) => void Object.assign(call, { path: call.path.replace('/p-', '/') }),
    after: eachOf('/people', (item) => setting({ id: `p-${item.id}` })(item)),
  },
  'times without a zone': { id: 'times_offset', after: everyText(dateTime, (time) => time.slice(0, -1)) },
  'times as numbers': { id: 'times_text', after: everyText(dateTime, (time) => Date.parse(time) / 1000) },
  'times of tomorrow': { id: 'times_past', after: everyText(dateTime, later(400)) },
  'details that lag': {
    id: 'detail_not_older',
    after: on(topicDetail, (body) => ({ ...body, updatedAt: later(-1)(body.updatedAt) })),
  },
  'another updatedAt': {
    id: 'same_updated_at',
    after: on(topicDetail, (body) => ({ ...body, updatedAt: later(0.1)(body.updatedAt) })),
  },
  'lists that lag': {
    id: 'list_current',
    after: on(topicDetail, (body) => ({ ...body, priority: body.priority === 'high' ? 'low' : 'high' })),
  },
  'people without counters': { id: 'person_item', after: eachOf('/people', without('messageCount')) },
  'identities of another form': {
    id: 'identity_form',
    after: on(identities, (body) => ({
      identities: body.identities.map(({ platform, ...one }: Body) => ({ ...one, provider: platform })),
    })),
  },
  'templates without slugs': {
    id: 'template_slug',
    after: on('/automation-templates', ({ templates }) => ({
      templates: templates.map(({ slug, ...one }: Body) => ({ ...one, key: slug })),
    })),
  },
  'topics that do not say whether they are archived': {
    id: 'archived_shown',
    after: on(topicDetail, ({ graphStatus: _, archivedAt: __, ...body }) => body),
  },
  'counters that count too little': {
    id: 'counters',
    after: eachOf('/topics', setting({ totalGroupCount: 0 })),
  },
  'newest messages first': {
    id: 'oldest_first',
    after: eachOf(topicGroups, ({ messages }) => messages.reverse()),
  },
  'oldest conversations first': {
    id: 'groups_order',
    after: on('/groups', ({ data }) => void data.reverse()),
  },
  'companies without the conversations of their people': {
    id: 'groups_company',
    after: ({ body }, { path, query }) =>
      void (path === '/groups' && query.has('companyId') && setting({ data: [], totalCount: 0 })(body)),
  },
  'no whoami': { id: 'whoami_answers', before: refusing(/^\/whoami$/, 404, 'NOT_FOUND') },
  'histories of people cut at one': {
    id: 'person_history',
    after: on(/^\/people\/[^/]+\/history$/, (body) => ({ ...body, history: [], totalCount: 30 })),
  },
  'histories cut at 20': { id: 'history_complete', after: historyOf(20, 34) },
  'histories cut at 20 in silence': { id: 'history_complete', after: historyOf(20, 20) },
  'histories of people refuse a limit': {
    id: 'person_history',
    before: refusing(/\/history$/, 400, 'BAD_REQUEST', 'limit'),
  },
  'two stories': {
    id: 'story_buckets',
    after: on('/stories', (body) => ({ ...body, stories: body.stories.slice(0, 2) })),
  },
  'another organization each time': {
    id: 'organization_id',
    after: on('/whoami', ({ organization }) => ({
      organization: { ...organization, id: String(Math.random()) },
    })),
  },
};

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
