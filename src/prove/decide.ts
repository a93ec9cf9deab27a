import { mayHaveMore } from '../api/page.js';
import { header } from '../api/response.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { millisecondsOf } from '../contract/fields.js';
import { errorBody } from '../contract/service.js';
import { migratedReason } from '../contract/topics.js';
import type { Item, Observed } from './observe.js';
import { type Finding, itemsIn, membersOf, most, type Seen } from './seen.js';

/** The lists that the document shows, and those that have pages. */
const shown = /^(topics first|companies first|company_groups)$/;
const firsts = /^(topics|companies|people) first$/;
const pages = /^(topics|companies|people) first$|^(company|person)_groups$/;
/** A clock that is ahead by more than this was not only read late. */
const skewMs = 60_000;

const found = (against: string | false, checked: number): Finding => {
  return { against: against ? [against] : [], checked };
};
const hasOffset = /(Z|[+-]\d\d(:?\d\d)?)$/i;
const isTime = (field: string) => /(At|Timestamp|timeRange\w+)$/.test(field);
const isId = (field: string) => /(^|\.)id$|Id$/.test(field);
const isAbove = (one: unknown, other: number) => typeof one === 'number' && one > other;
const fieldOf = (body: unknown, name: string) => (isObject(body) ? body[name] : undefined);
const isMigrated = ({ body }: Observed) => fieldOf(fieldOf(body, 'data'), 'reason') === migratedReason;

/** What read-only requests say about assumptions, by their ids. Undefined: it cannot be seen here. */
export const deciders = {
  key_everywhere: (seen) => seen.statuses((status) => status === 401 || status === 403, /^(?!unknown)/),
  whoami_answers: (seen) => seen.statuses((status) => status !== 200, /^whoami$/),
  organization_id: (seen) => {
    const idIn = ({ body }: Observed) => fieldOf(fieldOf(body, 'organization'), 'id');
    const ids = new Set(seen.good(/^whoami$/).map(idIn));
    return found(ids.size > 1 && 'two readings differ', ids.size);
  },

  page_parameter: (seen) => {
    const [small, second] = [seen.list('topics small'), seen.list('topics second')];
    if (seen.all(/^topics second$/)[0]?.status === 400) return found('a page number is answered 400', 1);
    if (!small || !second || small.items.length === (small.totalCount ?? 0)) return undefined;
    const isSame = seen.ids('topics small').join() === seen.ids('topics second').join();
    const isOther = small.page !== null && second.page !== small.page + 1;
    return found((isSame || isOther) && 'the second page has the items or the number of another', 1);
  },
  limit_parameter: (seen) => seen.lists(/ small$/, ({ items }) => items.length > 2 && 'more than 2 items'),
  size_accepted: (seen) => seen.statuses((status) => status === 400, firsts),
  page_size: (seen) => seen.lists(pages, ({ limit }) => (limit ?? 100) < 100 && `${limit} items`),
  page_base: (seen) => seen.lists(pages, ({ page }) => (page ?? 1) !== 1 && `number ${page}`),
  page_numbers: (seen) => seen.lists(pages, ({ page }) => (page ?? 1) > 1 && `number ${page}`),
  documented_page: (seen) => seen.lists(shown, ({ form }) => form !== 'paged' && 'another form'),
  readable: (seen) => {
    const all = seen.good(/ first$|_/).filter(({ child }) => child?.answer.form !== 'object');
    const listIn = (one: Observed) => (one.child ? membersOf(one) : one.list);
    return seen.answers(all, (one) => listIn(one) === undefined && 'no list is found');
  },
  list_total: (seen) => seen.lists(shown, ({ totalCount }) => totalCount === null && 'no totalCount'),
  total_true: (seen) =>
    seen.lists(firsts, ({ totalCount, limit, items: { length } }, name) => {
      if (totalCount === null || limit === null) return false;
      const read = new Set([...seen.ids(`${name} first`), ...seen.ids(`${name} last`)]);
      // One or two were added or removed meanwhile.
      const more = seen.ids(`${name} beyond`).filter((id) => !read.has(id)).length;
      if (more > 2 || length > totalCount + 2) return 'more items than its total';
      const last =
        totalCount <= limit ? totalCount - length > 2 : seen.list(`${name} last`)?.items.length === 0;
      return last && 'fewer items than its total';
    }),
  whole_answers: (seen) => {
    const all = seen.good(/^(topic_groups|topic_people|(company|person)_identities)$/);
    const hasNext = ({ headers }: Observed) => /\bnext\b/.test(header(headers, 'link') ?? '');
    const isPart = (one: Observed) => mayHaveMore(one.body, membersOf(one) ?? [], hasNext(one));
    const answered = seen.conversations(/^topic_groups$/);
    const longest = Math.max(0, ...answered.map(({ ids }) => ids.length));
    const isLonger = (than: number) =>
      answered.filter(({ item }) => isAbove(item.totalGroupCount, than)).length;
    const isCut = isLonger(longest) > 1 || isLonger(longest + 2) > 0;
    const { against, checked } = seen.answers(all, (one) => isPart(one) && 'it has more');
    return { against: [...against, ...(isCut ? [`topic_groups: at most ${longest}`] : [])], checked };
  },
  page_full: (seen) =>
    seen.lists(/ (first|small)$|_groups$/, ({ items, limit, totalCount }) => {
      return items.length < Math.min(limit ?? 0, totalCount ?? 0) && `${items.length} of ${limit}`;
    }),
  list_order: (seen) => {
    const [first, again] = [seen.ids('topics first'), seen.ids('topics again')];
    const places = first.map((id) => again.indexOf(id));
    const swapped = places.filter((place, index) => place < (places[index - 1] ?? -1)).length;
    return found(swapped * 5 > first.length && `${swapped} items`, first.length > 4 ? again.length : 0);
  },
  lists_offered: (seen) => seen.statuses((status) => status === 404, / first$/),
  listed_answered: (seen) => {
    const asked = seen.all().filter((one) => one.child !== null && !isMigrated(one));
    const answered = new Set(asked.flatMap(({ purpose, status }) => (status === 404 ? [] : purpose)));
    return seen.answers(asked, ({ purpose }) => !answered.has(purpose) && '404');
  },

  rate_limit: (seen) => {
    const { limitedAfter, budget } = seen.observations;
    const names = ['x-ratelimit-limit', 'ratelimit-limit'];
    const told = seen.all().flatMap(({ headers }) => names.map((name) => header(headers, name) ?? ''));
    const limits = told.map((text) => Number.parseInt(text, 10)).filter((limit) => limit > 0);
    const least = Math.min(...limits, limitedAfter ?? Number.POSITIVE_INFINITY);
    return found(least < budget.requests && `${least}`, limits.length + Number(limitedAfter !== null));
  },
  redirects: (seen) => seen.statuses((status) => status >= 300 && status < 400),
  absent_404: (seen) => seen.statuses((status) => status !== 404, /^unknown/),
  error_form: (seen) => {
    const errors = seen.all().filter(({ status }) => status === 404);
    return seen.answers(errors, ({ body }) => !errorBody.safeParse(body).success && 'another body');
  },

  date_header: (seen) => most(seen.observations.clockAheadMs, (ahead) => ahead === null, 'none'),
  clocks_agree: (seen) => {
    const known = seen.observations.clockAheadMs.filter((ahead) => ahead !== null);
    return most(known, (ahead) => Math.abs(ahead) > skewMs, 'more than a minute apart');
  },

  fields_present: (seen) => {
    const kinds = groupBy(seen.documents, ({ kind }) => kind);
    const isMissing = (kind: string, name: string) => {
      const all = kinds.get(kind) ?? [];
      return all.length > 2 && all.every(({ item }) => !(name in item));
    };
    return seen.fields(({ kind, required }) => required.filter((name) => isMissing(kind, name)));
  },
  values: (seen) => seen.fits((_, isValue) => isValue),
  types: (seen) => seen.fits((field, isValue) => !isValue && !isTime(field) && !isId(field)),
  answer_about: (seen) => {
    const details = seen.good(/./).filter(({ child }) => child !== null && child.list.detail === child.name);
    const isOther = ({ item, body }: Observed) => `${fieldOf(body, 'id') ?? item.id}` !== `${item.id}`;
    return seen.answers(details, (one) => isOther(one) && 'another id');
  },
  ids_text: (seen) => seen.fits((field, isValue) => !isValue && isId(field)),
  ids_digits: (seen) =>
    seen.fields(({ item }) => (/^\d+$/.test(`${item.id}`) ? [] : ['id']), /^(people|companies)$/),
  times_text: (seen) => seen.times((value) => typeof value === 'number'),
  times_offset: (seen) => seen.times((value) => typeof value === 'string' && !hasOffset.test(value)),
  times_past: (seen) => {
    const { now, clockAheadMs } = seen.observations;
    const latest = now + skewMs - Math.min(0, ...clockAheadMs.map(Number));
    return seen.times((value) => typeof value === 'string' && millisecondsOf(value) > latest);
  },
  detail_not_older: (seen) =>
    seen.differing('updatedAt', (listed, own) => millisecondsOf(own) < millisecondsOf(listed)),
  person_item: (seen) => {
    const needed = ['messageCount', 'lastSeenAt', 'company'];
    return seen.fields(({ item }) => needed.filter((name) => !(name in item)), /^people$/);
  },
  identity_form: (seen) => seen.fits(() => true, /^person_(identities|source_stats)$/),
  template_slug: (seen) => seen.fits((field) => field === 'slug', /^automation_templates$/),
  archived_shown: (seen) => {
    const all = seen.documents.filter(({ kind }) => kind === 'topic');
    return most(all, ({ item }) => !('graphStatus' in item || 'archivedAt' in item), 'neither is shown');
  },
  counters: (seen) => {
    const topics = seen.conversations(/^topic_groups$/);
    return most(topics, ({ item, ids }) => ids.length > Number(item.totalGroupCount), 'topics');
  },
  groups_company: (seen) => {
    const companies = seen.conversations(/^their /);
    const came = seen.conversations(/^person_groups$/).flatMap(({ item, ids }) => {
      const ofCompany = companies.find((one) => one.item.id === fieldOf(item.company, 'id'));
      const isWhole = !isAbove(ofCompany?.list?.totalCount, ofCompany?.ids.length ?? 0);
      return ofCompany && isWhole ? ids.map((id) => ofCompany.ids.includes(id)) : [];
    });
    return most(came, (has) => !has, 'not with the company');
  },
  groups_order: (seen) => {
    const endOf = (one: Item | undefined) => millisecondsOf(fieldOf(one?.group, 'endTimestamp'));
    const long = seen.conversations(/^company_groups$/).filter(({ ids }) => ids.length > 4);
    return most(long, ({ groups }) => endOf(groups[0]) < endOf(groups.at(-1)), 'the latest is not the first');
  },
  oldest_first: (seen) => {
    const groups = seen.conversations(/^topic_groups$/).flatMap((one) => one.groups);
    const long = groups.map(({ messages }) => itemsIn(messages)).filter(({ length }) => length > 1);
    const at = (message: Item | undefined) => millisecondsOf(message?.createdAt);
    return most(long, (messages) => at(messages[0]) > at(messages.at(-1)), 'conversations');
  },
  history_complete: (seen) => {
    const all = seen.good(/^(topic|company)_history$/);
    const lengthOf = (one: Observed) => membersOf(one)?.length ?? 0;
    const lengths = all.map(lengthOf);
    const longest = Math.max(0, ...lengths);
    // A limit that no total shows: several end at the same round number.
    const isCut = longest > 9 && longest % 10 === 0 && lengths.filter((one) => one === longest).length > 1;
    const isShort = (one: Observed) => isAbove(fieldOf(one.body, 'totalCount'), lengthOf(one));
    const ends = (one: Observed) => isShort(one) || (isCut && lengthOf(one) === longest);
    return seen.answers(all, (one) => ends(one) && `ends at ${lengthOf(one)}`);
  },
  person_history: (seen) => {
    const counted = ({ body }: Observed) => Math.min(50, Number(fieldOf(body, 'totalCount')));
    const isCut = (one: Observed) => isAbove(counted(one), membersOf(one)?.length ?? 50);
    const all = seen.all(/^person_history$/);
    return seen.answers(all, (one) => (one.status === 400 || isCut(one)) && 'not whole');
  },
  story_buckets: (seen) => {
    const { body, list } = seen.good(/^stories first$/)[0] ?? {};
    const [counted, came] = [Number(fieldOf(body, 'everythingCount')), list?.items.length ?? 0];
    return found(Math.min(100, counted) > came && `${came} of ${counted}`, came);
  },
  list_current: (seen) => seen.differing('priority', (listed, detail) => listed !== detail),
  same_updated_at: (seen) =>
    seen.differing('updatedAt', (listed, own) => millisecondsOf(listed) !== millisecondsOf(own)),
} as const satisfies Readonly<Record<string, (seen: Seen) => Finding | undefined>>;
