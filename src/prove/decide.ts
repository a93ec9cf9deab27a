import { mayHaveMore } from '../api/page.js';
import { header } from '../api/response.js';
import { isObject } from '../base/json.js';
import { errorBody } from '../contract/service.js';
import { migratedReason } from '../contract/topics.js';
import type { Item, Observed } from './observe.js';
import { type Finding, itemsIn, membersOf, most, type Seen } from './seen.js';

/** The lists that the document shows, and those that have pages. */
const shown = /^(topics first|companies first|company_groups)$/;
const firsts = /^(topics|companies|people) first$/;
/** A clock that is ahead by more than this was not only read late. */
const skewMs = 60_000;

const found = (against: string | false, checked: number): Finding => ({
  against: against ? [against] : [],
  checked,
});
const isTime = (field: string) => /(At|Timestamp|timeRange\w+)$/.test(field);
const isId = (field: string) => /(^|\.)id$|Id$/.test(field);
const isAbove = (one: unknown, other: number) => typeof one === 'number' && one > other;
const timeOf = (value: unknown) => Date.parse(String(value));
const fieldOf = (body: unknown, name: string) => (isObject(body) ? body[name] : undefined);
const isMigrated = ({ body }: Observed) => fieldOf(fieldOf(body, 'data'), 'reason') === migratedReason;

/** What read-only requests say about assumptions, by their ids. Undefined: it cannot be seen here. */
export const deciders = {
  key_everywhere: (seen) => seen.statuses((status) => status === 401 || status === 403),
  organization_id: (seen) => {
    const ids = new Set(
      seen.good(/^whoami$/).map(({ body }) => fieldOf(fieldOf(body, 'organization'), 'id')),
    );
    return found((ids.size > 1 || ids.has(undefined)) && 'two readings differ, or have none', ids.size);
  },

  page_parameter: (seen) => {
    const [small, second] = [seen.list('topics small'), seen.list('topics second')];
    if (seen.all(/^topics second$/)[0]?.status === 400) return found('a page number is answered 400', 1);
    if (!small || !second || small.items.length === (small.totalCount ?? 0)) return undefined;
    const isSame = seen.ids('topics small').join() === seen.ids('topics second').join();
    const isOther = small.page !== null && second.page !== small.page + 1;
    return found((isSame || isOther) && 'the second page has the items or the number of another', 1);
  },
  limit_parameter: (seen) =>
    seen.lists(/^topics small$/, ({ items }) => items.length > 2 && 'more than 2 items'),
  size_accepted: (seen) => seen.statuses((status) => status === 400, firsts),
  page_size: (seen) =>
    seen.lists(firsts, ({ limit }) => isAbove(limit, 99) === false && limit !== null && `${limit}`),
  page_base: (seen) =>
    seen.lists(firsts, ({ page }) => page !== null && page !== 1 && `its number is ${page}`),
  page_numbers: (seen) => seen.lists(firsts, ({ page }) => isAbove(page, 1) && `its number is ${page}`),
  documented_page: (seen) => seen.lists(shown, ({ form }) => form !== 'paged' && 'another form'),
  readable: (seen) => {
    const all = seen.good(/ first$|_/).filter(({ child }) => child?.answer.form !== 'object');
    return seen.answers(
      all,
      (one) => (one.child ? membersOf(one) : one.list) === undefined && 'no list is found',
    );
  },
  list_total: (seen) => seen.lists(shown, ({ totalCount }) => totalCount === null && 'no totalCount'),
  total_true: (seen) =>
    seen.lists(firsts, ({ totalCount, limit, items: { length } }, name) => {
      if (totalCount === null || limit === null) return false;
      const read = new Set([...seen.ids(`${name} first`), ...seen.ids(`${name} last`)]);
      // One or two were added or removed meanwhile.
      const more = seen.ids(`${name} beyond`).filter((id) => !read.has(id)).length;
      if (more > 2 || length > totalCount + 2) return 'more items than its total';
      const last = totalCount <= limit ? totalCount - length > 2 : seen.ids(`${name} last`).length === 0;
      return last && 'fewer items than its total';
    }),
  whole_answers: (seen) => {
    const all = seen.good(/^(topic_groups|topic_people|(company|person)_identities)$/);
    const hasNext = ({ headers }: Observed) => /\bnext\b/.test(header(headers, 'link') ?? '');
    const isPart = (one: Observed) => mayHaveMore(one.body, membersOf(one) ?? [], hasNext(one));
    const isShort = (one: Observed) => isAbove(one.item.totalGroupCount, membersOf(one)?.length ?? 0);
    const short = most(seen.good(/^topic_groups$/), isShort, 'topic_groups: fewer than totalGroupCount');
    const { against, checked } = seen.answers(all, (one) => isPart(one) && 'it has more');
    return { against: [...against, ...short.against], checked };
  },
  page_full: (seen) =>
    seen.lists(/ (first|small)$/, ({ items, limit, totalCount }) => {
      return items.length < Math.min(limit ?? 0, totalCount ?? 0) && `${items.length} of ${limit}`;
    }),
  list_order: (seen) => {
    const [first, again] = [seen.ids('topics first'), seen.ids('topics again')];
    const places = first.map((id) => again.indexOf(id));
    const swapped = places.filter((place, index) => place < (places[index - 1] ?? -1)).length;
    return found(
      swapped * 5 > first.length && `another order at ${swapped} places`,
      first.length > 4 ? again.length : 0,
    );
  },
  lists_offered: (seen) => seen.statuses((status) => status === 404, / first$/),
  listed_answered: (seen) => {
    const asked = seen.all().filter((one) => one.child !== null && !isMigrated(one));
    const isMissing = ({ purpose }: Observed) =>
      !asked.some((one) => one.purpose === purpose && one.status !== 404);
    return seen.answers(asked, (one) => isMissing(one) && '404');
  },

  rate_limit: (seen) => {
    const { limitedAfter, budget } = seen.observations;
    const told = (name: string) =>
      seen.all().map(({ headers }) => Number.parseInt(header(headers, name) ?? '', 10));
    const limits = [...told('x-ratelimit-limit'), ...told('ratelimit-limit')].filter((limit) => limit > 0);
    const least = Math.min(...limits, limitedAfter ?? Number.POSITIVE_INFINITY);
    return found(least < budget.requests && `${least}`, limits.length + Number(limitedAfter !== null));
  },
  redirects: (seen) => seen.statuses((status) => status >= 300 && status < 400),
  absent_404: (seen) => seen.statuses((status) => status !== 404, /^unknown/),
  error_form: (seen) => {
    const errors = seen.all().filter(({ status }) => status === 404);
    return seen.answers(errors, ({ body }) => !errorBody.safeParse(body).success && 'another body');
  },

  date_header: ({ observations: { clockAheadMs } }) =>
    most(clockAheadMs, (ahead) => ahead === null, 'answers'),
  clocks_agree: ({ observations: { clockAheadMs } }) => {
    const known = clockAheadMs.filter((ahead) => ahead !== null);
    return most(known, (ahead) => Math.abs(ahead) > skewMs, 'more than a minute apart');
  },

  fields_present: (seen) => {
    const isNowhere = (kind: string, name: string) => {
      const all = seen.documents.filter((one) => one.kind === kind);
      return all.length > 2 && all.every(({ item }) => !(name in item));
    };
    return seen.fields(({ kind, required, item }) =>
      required.filter((name) => !(name in item) && isNowhere(kind, name)),
    );
  },
  values: (seen) => seen.fits((_, isValue) => isValue),
  types: (seen) => seen.fits((field, isValue) => !isValue && !isTime(field) && !isId(field)),
  answer_about: (seen) => {
    const details = seen.good(/./).filter(({ child }) => child !== null && child.list.detail === child.name);
    const isOther = ({ item, body }: Observed) =>
      isObject(body) && 'id' in body && `${body.id}` !== `${item.id}`;
    return seen.answers(details, (one) => isOther(one) && 'another id');
  },
  ids_text: (seen) => seen.fits((field, isValue) => !isValue && isId(field)),
  ids_digits: (seen) => {
    return seen.fields(({ item: { id } }) => (/^\d+$/.test(`${id}`) ? [] : ['id']), /^(people|companies)$/);
  },
  times_text: (seen) => seen.times((value) => typeof value === 'number'),
  times_offset: (seen) =>
    seen.times((value) => typeof value === 'string' && !/(Z|[+-]\d\d(:?\d\d)?)$/i.test(value)),
  times_past: (seen) => {
    const { now, clockAheadMs } = seen.observations;
    const latest = now + skewMs - Math.min(0, ...clockAheadMs.map(Number));
    return seen.times((value) => typeof value === 'string' && timeOf(value) > latest);
  },
  detail_not_older: (seen) =>
    seen.differing('updatedAt', (listed, detail) => timeOf(detail) < timeOf(listed)),
  person_item: (seen) => {
    const needed = ['messageCount', 'lastSeenAt', 'company'];
    return seen.fields(({ item }) => needed.filter((name) => !(name in item)), /^people$/);
  },
  identity_form: (seen) => seen.fits(() => true, /^person_(identities|source_stats)$/),
  template_slug: (seen) => seen.fits((field) => field === 'slug', /^automation_templates$/),
  archived_shown: (seen) => {
    const isOpen = ({ body }: Observed) =>
      isObject(body) && !('graphStatus' in body) && !('archivedAt' in body);
    return most(seen.good(/^topic$/), isOpen, 'neither graphStatus nor archivedAt');
  },
  counters: (seen) =>
    most(seen.conversations, ({ item, groups }) => groups.length > Number(item.totalGroupCount), 'topics'),
  oldest_first: (seen) => {
    const messages = seen.conversations.flatMap(({ groups }) =>
      groups.map((group: Item) => itemsIn(group.messages)),
    );
    const at = (message: Item | undefined) => timeOf(message?.createdAt);
    const long = messages.filter(({ length }) => length > 1);
    return most(long, (all) => at(all[0]) > at(all.at(-1)), 'conversations');
  },
  history_complete: (seen) => {
    const all = seen.good(/^(topic|company)_history$/);
    const lengths = all.map((one) => membersOf(one)?.length ?? 0);
    const longest = Math.max(0, ...lengths);
    // A limit that no total shows: several end at the same round number.
    const isCut = longest > 9 && longest % 10 === 0 && lengths.filter((one) => one === longest).length > 1;
    return seen.answers(all, ({ body }) => {
      const { length } = itemsIn(body, ['history', 'data']);
      return (
        (isAbove(fieldOf(body, 'totalCount'), length) || (isCut && length === longest)) && `ends at ${length}`
      );
    });
  },
  person_history: (seen) => seen.statuses((status) => status === 400, /^person_history$/),
  story_buckets: (seen) => {
    const { body, list } = seen.good(/^stories everything$/)[0] ?? {};
    const [counted, came] = [Number(fieldOf(body, 'everythingCount')), list?.items.length ?? 0];
    return found(Math.min(100, counted) > came && `${came} of ${counted}`, came);
  },
  list_current: (seen) => seen.differing('priority', (listed, detail) => listed !== detail),
  same_updated_at: (seen) =>
    seen.differing('updatedAt', (listed, detail) => timeOf(listed) !== timeOf(detail)),
} as const satisfies Readonly<Record<string, (seen: Seen) => Finding | undefined>>;
