import type { Iso } from '../../base/clock.js';
import { folded } from '../../base/closest.js';
import { urgentFirst } from '../../contract/topics.js';
import type { Change } from '../../push/change.js';
import type { Snapshot } from '../../read/query.js';
import { type CompanyName, type TopicFilter, type TopicLine, vipsOf } from '../../serve/page/topics.js';
import { sqlFile } from '../../store/sql.js';

/** Every topic of a published file in memory: a page of the list, sorted and filtered in any way, takes milliseconds. */
export interface Board {
  readonly topics: readonly TopicLine[];
  readonly byId: ReadonlyMap<string, TopicLine>;
  /** The companies that take part in any. */
  readonly companies: ReadonlyMap<string, CompanyName>;
  /** The columns of numbers in attributes/companies.csv. */
  readonly attributes: readonly string[];
  readonly sources: readonly string[];
  /** Our changes that are applied in the file. */
  readonly applied: ReadonlySet<string>;
}

interface Row extends Omit<TopicLine, 'weeks' | 'attributes'> {
  readonly weeks: readonly { readonly ago: number; readonly messages: number }[];
  readonly attributes: Readonly<Record<string, unknown>> | null;
}

const weeksShown = 12;

export async function readBoard(snapshot: Snapshot): Promise<Board> {
  const rows = await snapshot.rows<Row>(sqlFile('topics/list'));
  const attributes = attributesIn(rows);
  // Thousands of topics name the same companies.
  const companies = new Map<string, CompanyName>();
  const shared = (one: CompanyName) => {
    const known = companies.get(one.id) ?? one;
    companies.set(one.id, known);
    return known;
  };
  const topics = rows.map((row): TopicLine => {
    const weeks = Array.from({ length: weeksShown }, () => 0);
    for (const { ago, messages } of row.weeks) weeks[weeksShown - 1 - ago] = messages;
    return {
      ...row,
      weeks,
      companies: row.companies.map(shared),
      attributes: attributes.map((name) => numberOf(row.attributes?.[name])),
    };
  });
  const applied = await snapshot.rows<{ id: string }>(sqlFile('topics/applied'));
  return {
    topics,
    byId: new Map(topics.map((topic) => [topic.id, topic])),
    companies,
    attributes,
    sources: [...new Set(topics.flatMap(({ sources }) => sources))].sort(),
    applied: new Set(applied.map(({ id }) => id)),
  };
}

/** The columns that have a number for any topic. */
function attributesIn(rows: readonly Row[]): string[] {
  const names = new Set(rows.flatMap(({ attributes }) => Object.keys(attributes ?? {})));
  return [...names].filter((name) => rows.some(({ attributes }) => numberOf(attributes?.[name]) !== null));
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** A board with the values of changes that were applied since its file was published, so that people see their own changes. */
export function withApplied(board: Board, changes: readonly Change[]): Board {
  const news = changes.filter(
    ({ id, status }) => (status === 'applied' || status === 'unchanged') && !board.applied.has(id),
  );
  if (news.length === 0) return board;
  const byId = new Map(board.byId);
  const companies = new Map(board.companies);
  for (const { entityType, entityId, wanted } of news) {
    const company = entityType === 'company' && companies.get(entityId);
    if (company) {
      const { name = company.name, is_vip: isVip = company.isVip } = wanted;
      companies.set(entityId, {
        ...company,
        name: name === null ? null : String(name),
        isVip: isVip === true,
      });
    }
    const topic = entityType === 'topic' && byId.get(entityId);
    if (!topic) continue;
    const { priority = topic.priority, lifecycle_state: state = topic.lifecycleState } = wanted;
    const isArchived = typeof wanted.archived === 'boolean' ? wanted.archived : topic.isArchived;
    const lifecycleState = state === null ? null : String(state);
    const isOpen = !isArchived && !['completed', 'dismissed'].includes(lifecycleState ?? 'unknown');
    const isDecided = topic.isDecided || 'priority' in wanted;
    byId.set(entityId, {
      ...topic,
      priority: priority === null ? null : String(priority),
      lifecycleState,
      isArchived,
      isOpen,
      isDecided,
    });
  }
  return { ...board, byId, companies, topics: board.topics.map((topic) => byId.get(topic.id) ?? topic) };
}

/** How well the messages of topics fit a search, by topic; null where messages are not searched. */
export type Found = ReadonlyMap<string, number> | null;

/** The topics that a filter leaves, in its order. Of the companies of a topic, those that were searched come first. */
export function selected(board: Board, filter: TopicFilter, found: Found): TopicLine[] {
  const words = folded(filter.q);
  const company = folded(filter.company);
  // A sign alone, such as %, is no part of a name.
  const has = (name: string | null, part: string) => part !== '' && folded(name ?? '').includes(part);
  const isOf = ({ id, name }: CompanyName) => id === filter.company || has(name, company);
  const topics = board.topics.filter(
    (topic) =>
      isInState(topic, filter.state) &&
      (filter.priority === '' || topic.priority === filter.priority) &&
      (filter.source === '' || topic.sources.includes(filter.source)) &&
      (!filter.vip || vipsOf(topic) > 0) &&
      (!filter.growing || topic.momentum > 0) &&
      (!filter.unset || !topic.isDecided) &&
      (filter.company === '' || topic.companies.some(isOf)) &&
      (filter.q === '' || has(topic.title, words) || topic.id === filter.q || found?.has(topic.id) === true),
  );
  return topics.sort(orderOf(board, filter, found)).map((topic) => {
    const companies = topic.companies.toSorted((a, b) => Number(isOf(b)) - Number(isOf(a)));
    return { ...topic, companies };
  });
}

function isInState({ isOpen, isArchived, lifecycleState }: TopicLine, state: string): boolean {
  if (state === 'any') return true;
  if (state === 'backlog') return isOpen;
  if (state === 'archived') return isArchived;
  return !isArchived && (lifecycleState ?? 'unknown') === state;
}

type Key = number | string | Iso | null;

/** 1 is the most urgent; one without a priority comes last. */
function rankOf({ priority }: TopicLine): number {
  const at = (urgentFirst as readonly (string | null)[]).indexOf(priority);
  return at === -1 ? urgentFirst.length : at;
}

/** The sort key of a column; null comes last in both directions. */
function keysOf(board: Board): ReadonlyMap<string, (topic: TopicLine) => Key> {
  const numbers = board.attributes.map(
    (name, at) => [name, (topic: TopicLine): Key => topic.attributes[at] ?? null] as const,
  );
  return new Map<string, (topic: TopicLine) => Key>([
    ...numbers,
    ['title', ({ title }) => folded(title ?? '')],
    ['priority', rankOf],
    ['state', ({ lifecycleState, isArchived }) => (isArchived ? 'z' : (lifecycleState ?? 'unknown'))],
    ['companies', ({ companies }) => companies.length],
    ['vips', vipsOf],
    ['conversations', ({ conversations }) => conversations],
    ['trend', ({ momentum }) => momentum],
    ['waiting', ({ waitingSince }) => waitingSince],
  ]);
}

/** Sorted as the filter says; by default the best matches of a search, then the most urgent topics and those that matter to most. */
function orderOf(
  board: Board,
  { sort }: TopicFilter,
  found: Found,
): (one: TopicLine, other: TopicLine) => number {
  const isDown = sort.startsWith('-');
  const key = keysOf(board).get(isDown ? sort.slice(1) : sort);
  const usual = (one: TopicLine, other: TopicLine) =>
    (found?.get(other.id) ?? 0) - (found?.get(one.id) ?? 0) ||
    rankOf(one) - rankOf(other) ||
    vipsOf(other) - vipsOf(one) ||
    other.conversations - one.conversations ||
    (one.id < other.id ? -1 : 1);
  if (!key) return usual;
  return (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === b) return usual(one, other);
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b === isDown ? 1 : -1;
  };
}
