import { minutesFor } from '../api/budget.js';
import { usualPageSize } from '../api/page.js';
import { isObject } from '../base/json.js';
import { type Child, type List, resources } from '../contract/resources.js';
import { type Item, itemsOf, messagesOf, type Observations } from './observe.js';
import { itemsIn } from './seen.js';

/** What a first pull takes; the megabytes are those of both files. */
export interface Forecast {
  readonly requests: number;
  readonly minutes: number;
  readonly rows: number;
  readonly megabytes: number;
}

/**
 * The files of an empty warehouse, and what a row adds to them with the text of an average message: measured on organizations
 * of 260 to 10,000 messages in 26 to 75 MB of files.
 */
const emptyBytes = 22e6;
const rowBytes = (messageBytes: number) => 1_000 + 0.3 * messageBytes;

const sum = <T>(all: readonly T[], value: (one: T) => number) =>
  all.reduce((total, one) => total + value(one), 0);
const mean = <T>(all: readonly T[], value: (one: T) => number) => sum(all, value) / Math.max(1, all.length);
const numberOf = (value: unknown) => (typeof value === 'number' ? value : 0);
const groupsIn = (body: unknown) => itemsIn(body, ['data', 'groups']);
const authorsOf = ({ messages }: Item) =>
  new Set(itemsIn(messages).map(({ author }) => isObject(author) && author.id)).size;

/** The objects in the lists of an answer; employees are counted by their companies. */
function rowsIn(value: unknown, depth = 3): number {
  if (Array.isArray(value)) return value.filter(isObject).length;
  if (!isObject(value) || depth === 0) return 0;
  return sum(Object.entries(value), ([name, one]) => (name === 'company' ? 0 : rowsIn(one, depth - 1)));
}

/** Extrapolates from the totals of the lists, the items that were read, and the samples of their children. */
export function forecast({ answers, budget }: Observations, personGroups: string): Forecast {
  const good = (name: string) => answers.filter((one) => one.purpose === name && one.status === 200);
  const read = ({ name }: List) => {
    const items = itemsOf(answers, name);
    const { totalCount = null, limit = null } = good(`${name} first`)[0]?.list ?? {};
    const total = totalCount ?? items.length;
    return { total, limit, all: (value: (item: Item) => number) => mean(items, value) * total };
  };
  const companies = new Set(itemsOf(answers, 'companies').map(({ id }) => id));
  const isAsked = (item: Item, { name, skippedWhenListHas, digitsOnly }: Child) => {
    if (skippedWhenListHas?.every((field) => field in item)) return false;
    if (digitsOnly && !/^\d+$/.test(`${item.id}`)) return false;
    if (name !== 'person_groups' || personGroups === 'all') return true;
    return personGroups !== 'never' && !(isObject(item.company) && companies.has(item.company.id));
  };
  // Conversations that have no topic come with companies and people alone.
  const ofTopics = good('topic_groups').flatMap(({ body }) => groupsIn(body));
  const ofCompanies = good('company_groups').flatMap(({ body }) => groupsIn(body));
  const without = mean(ofCompanies, ({ topic }) => (isObject(topic) ? 0 : 1));
  const inTopics = Math.max(0.1, 1 - without);
  const messages = [...ofTopics, ...ofCompanies].flatMap((group) => itemsIn(group.messages));
  const parts = (one: Item) => itemsIn(one.reactions).length + itemsIn(one.quoteHighlights).length;

  let [requests, rows] = [1, 1];
  for (const list of resources.lists) {
    const { total, limit } = read(list);
    // A last page that is full is followed by one more request; what has no pages is read twice.
    requests += limit === null ? 2 : Math.floor(total / limit) + 1;
    rows += total;
  }
  for (const child of resources.children) {
    const { all } = read(child.list);
    const asked = (value: (item: Item) => number) => all((item) => (isAsked(item, child) ? value(item) : 0));
    const sampled = good(child.name);
    const counted = sum(sampled, ({ list }) => list?.totalCount ?? 0);
    const perMessage =
      counted /
      Math.max(
        1,
        sum(sampled, ({ item }) => messagesOf(item)),
      );
    const conversations = (item: Item) => numberOf(item.conversationCount) || messagesOf(item) * perMessage;
    const size = sampled[0]?.list?.limit ?? usualPageSize;
    requests += asked((item) => (child.paged ? Math.max(1, Math.ceil(conversations(item) / size)) : 1));
    if (child.name === 'company_groups') rows += asked(conversations);
    if (child.name === 'company') rows += asked(({ personCount }) => numberOf(personCount));
    // Each identity is that of an author.
    const times = child.name === 'person_identities' ? 2 : 1;
    if (child.answer.form !== 'conversations')
      rows += asked(() => 1) * times * mean(sampled, ({ body }) => rowsIn(body));
    if (child.name !== 'topic_groups') continue;
    const groups = asked((item) => numberOf(item.totalGroupCount));
    const written = asked((item) => numberOf(item.eventCount));
    rows +=
      groups + (groups * (1 + mean(ofTopics, authorsOf)) + written * (1 + mean(messages, parts))) / inTopics;
  }
  const messageBytes = mean(messages, (one) => JSON.stringify(one).length);
  return {
    requests: Math.round(requests),
    minutes: Number(minutesFor(requests, { rateLimit: budget }).toFixed(1)),
    rows: Math.round(rows),
    megabytes: Math.round((emptyBytes + rows * rowBytes(messageBytes)) / 1e6),
  };
}
