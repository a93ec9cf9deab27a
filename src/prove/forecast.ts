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
 * The files of an empty warehouse, and what a byte of documents adds to them: measured on organizations of 260 to 12,000
 * messages, with 0.6 to 28 MB of documents in 28 to 123 MB of files. A conversation without its messages is a document, too.
 */
const emptyBytes = 26e6;
const bytesPerByte = 3.6;
const conversationBytes = 410;

const sum = <T>(all: readonly T[], value: (one: T) => number) =>
  all.reduce((total, one) => total + value(one), 0);
const mean = <T>(all: readonly T[], value: (one: T) => number) => sum(all, value) / Math.max(1, all.length);
const numberOf = (value: unknown) => (typeof value === 'number' ? value : 0);

/** What is stored once, however many items have it: authors and employees. */
const bytesOf = (value: unknown) =>
  (JSON.stringify(value, (name, one) => (/^(authors?|employees)$/.test(name) ? null : one)) ?? '').length;

/** The objects in the lists of an answer; employees are counted by their companies. */
function rowsIn(value: unknown, depth = 3): number {
  if (Array.isArray(value)) return value.filter(isObject).length;
  if (!isObject(value) || depth === 0) return 0;
  return sum(Object.entries(value), ([name, one]) => (name === 'company' ? 0 : rowsIn(one, depth - 1)));
}

/** Extrapolates from the totals of the lists, the items that were read, and the samples of their children. */
export function forecast({ answers, budget }: Observations, personGroups: string): Forecast {
  const good = (name: string) => answers.filter(({ purpose, status }) => purpose === name && status === 200);
  const read = (list: List) => {
    const items = itemsOf(answers, list.name);
    const [first] = [...good(`${list.name} first`), ...good(`${list.name} everything`)];
    const { totalCount = null, limit = null } = first?.list ?? {};
    const total = totalCount ?? items.length;
    /** Of all items, extrapolated from those that were read. */
    const all = (value: (item: Item) => number) => mean(items, value) * total;
    return { total, limit, all, bytes: mean(items, bytesOf) * total };
  };
  const companies = new Set(itemsOf(answers, 'companies').map(({ id }) => id));
  const isAsked = (item: Item, { name, skippedWhenListHas, digitsOnly }: Child) => {
    if (skippedWhenListHas?.every((field) => field in item)) return false;
    if (digitsOnly && !/^\d+$/.test(`${item.id}`)) return false;
    if (name !== 'person_groups' || personGroups === 'all') return true;
    return personGroups !== 'never' && !(isObject(item.company) && companies.has(item.company.id));
  };

  let [requests, rows, bytes] = [1, 1, 0];
  for (const list of resources.lists) {
    const { total, limit, bytes: size } = read(list);
    // A last page that is full is followed by one more request; what has no pages is read twice.
    requests += limit === null ? 2 : Math.floor(total / limit) + 1;
    rows += total;
    bytes += size;
  }
  for (const child of resources.children) {
    const sampled = good(child.name);
    const { all } = read(child.list);
    const asked = (value: (item: Item) => number) => all((item) => (isAsked(item, child) ? value(item) : 0));
    if (child.paged) {
      const perMessage =
        sum(sampled, ({ list }) => list?.totalCount ?? 0) /
        Math.max(
          1,
          sum(sampled, ({ item }) => messagesOf(item)),
        );
      const conversations = (item: Item) => numberOf(item.conversationCount) || messagesOf(item) * perMessage;
      const size = sampled[0]?.list?.limit ?? usualPageSize;
      requests += asked((item) => Math.max(1, Math.ceil(conversations(item) / size)));
      rows += child.list.name === 'companies' ? asked(conversations) : 0;
      bytes += asked(conversations) * conversationBytes;
      continue;
    }
    requests += asked(() => 1);
    if (child.answer.form === 'conversations') continue;
    bytes += asked(() => 1) * mean(sampled, ({ body }) => bytesOf(body));
    // Each identity is that of an author.
    rows +=
      asked(() => 1) *
      mean(sampled, ({ body }) => rowsIn(body)) *
      (child.name === 'person_identities' ? 2 : 1);
    rows += child.name === 'company' ? asked(({ personCount }) => numberOf(personCount)) : 0;
    if (child.name !== 'topic') continue;
    // Conversations that have no topic come with companies and people alone.
    const theirs = good('company_groups').flatMap(({ body }) => itemsIn(body, ['data', 'groups']));
    const inTopics = Math.max(
      0.1,
      theirs.length === 0 ? 1 : mean(theirs, ({ topic }) => Number(isObject(topic))),
    );
    const ofTopics = good('topic_groups').flatMap(({ body }) => itemsIn(body, ['data', 'groups']));
    const messages = [...ofTopics, ...theirs].flatMap((group) => itemsIn(group.messages));
    const authors = (group: Item) =>
      new Set(itemsIn(group.messages).map(({ author }) => isObject(author) && author.id)).size;
    const parts = (message: Item) =>
      itemsIn(message.reactions).length + itemsIn(message.quoteHighlights).length;
    const [conversations, written] = [
      all((item) => numberOf(item.totalGroupCount)),
      all((item) => numberOf(item.eventCount)),
    ];
    rows +=
      conversations +
      (conversations * (1 + mean(ofTopics, authors)) + written * (1 + mean(messages, parts))) / inTopics;
    bytes += conversations * 230 + (written * mean(messages, bytesOf)) / inTopics;
  }
  return {
    requests: Math.round(requests),
    minutes: Number(minutesFor(requests, { rateLimit: budget }).toFixed(1)),
    rows: Math.round(rows),
    megabytes: Math.round((emptyBytes + bytes * bytesPerByte) / 1e6),
  };
}
