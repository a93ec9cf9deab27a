import type { Iso } from '../../base/clock.js';
import { type Html, html, type Piece } from '../../base/html.js';
import { count, counted } from '../../base/units.js';
import { section, table } from './html.js';
import { type Frame, frameOf, type PageContent, page } from './page.js';

/** The list of topics: what product people search, filter and sort. Everything that it shows is in its address. */

export interface CompanyName {
  readonly id: string;
  readonly name: string | null;
  readonly isVip: boolean;
}

/** A topic as the list shows it. */
export interface TopicLine {
  readonly id: string;
  readonly title: string | null;
  readonly priority: string | null;
  readonly lifecycleState: string | null;
  /** Whether it is in the backlog. */
  readonly isOpen: boolean;
  readonly isArchived: boolean;
  /** VIPs first, then those who wrote most. */
  readonly companies: readonly CompanyName[];
  readonly vipPeople: number;
  readonly conversations: number;
  /** Messages from outside in each of the last 12 weeks, oldest first. */
  readonly weeks: readonly number[];
  /** Messages of the last 7 days minus those of the 7 days before. */
  readonly momentum: number;
  readonly sources: readonly string[];
  /** Since when somebody from outside waits for a reply. */
  readonly waitingSince: Iso | null;
  /** Whether a person set the priority last, and not the service. */
  readonly isDecided: boolean;
  /** What attributes/companies.csv says of its companies, in the order of the columns. */
  readonly attributes: readonly (number | null)[];
}

/** What a list of topics is limited to, and how it is sorted; a text is empty when it limits nothing. */
export interface TopicFilter {
  readonly q: string;
  /** Where `q` is searched. */
  readonly in: 'titles' | 'messages';
  readonly priority: string;
  /** `backlog`, `archived`, `any` or a lifecycle state. */
  readonly state: string;
  /** An id, or a part of a name. */
  readonly company: string;
  readonly source: string;
  readonly vip: boolean;
  readonly growing: boolean;
  /** Only topics whose priority no person has set. */
  readonly unset: boolean;
  /** The name of a column, with a minus for the other direction; empty for what is most urgent. */
  readonly sort: string;
  readonly page: number;
}

export interface TopicList {
  readonly filter: TopicFilter;
  /** Those of the page. */
  readonly topics: readonly TopicLine[];
  readonly total: number;
  readonly pages: number;
  /** The names of the columns of numbers in attributes/companies.csv. */
  readonly attributes: readonly string[];
  readonly sources: readonly string[];
  /** What the reader should know, as a sentence. */
  readonly note: string | null;
}

export const priorities = ['very_high', 'high', 'default', 'low', 'very_low'] as const;
export const settableStates = ['open', 'in_progress', 'completed', 'dismissed'] as const;

const filterStates = ['backlog', ...settableStates, 'unknown', 'archived', 'any'];

/** A filter from an address. What is not known limits nothing. */
export function topicFilterOf(given: Readonly<Record<string, unknown>>): TopicFilter {
  const text = (name: string) => (typeof given[name] === 'string' ? given[name].trim().slice(0, 200) : '');
  const one = (name: string, allowed: readonly string[], otherwise: string) =>
    allowed.includes(text(name)) ? text(name) : otherwise;
  const page = Number(text('page'));
  return {
    q: text('q'),
    in: text('in') === 'messages' ? 'messages' : 'titles',
    priority: one('priority', priorities, ''),
    state: one('state', filterStates, 'backlog'),
    company: text('company'),
    source: text('source'),
    vip: text('vip') !== '',
    growing: text('growing') !== '',
    unset: text('unset') !== '',
    sort: text('sort'),
    page: Number.isInteger(page) && page > 0 ? page : 1,
  };
}

/** The address of a list, with the parts that are not as usual. */
export function topicsPath(base: string, filter: TopicFilter, more: Partial<TopicFilter> = {}): string {
  const all = { ...filter, ...more };
  const isUsual: Partial<Record<string, unknown>> = { state: 'backlog', page: 1, in: 'titles' };
  const parts = Object.entries(all).flatMap(([name, value]) =>
    value === '' || value === false || value === isUsual[name]
      ? []
      : [`${name}=${encodeURIComponent(value === true ? '1' : String(value))}`],
  );
  return `${base}/topics${parts.length > 0 ? `?${parts.join('&')}` : ''}`;
}

export function plainWord(value: string | null): string {
  return value === null ? 'none' : value.replaceAll('_', ' ');
}

/** The page of the list. */
export function topicsPage(content: PageContent, list: TopicList): string {
  const frame = frameOf(content, '/topics');
  return page(frame, {
    title: 'Topics',
    heading: html`Topics`,
    isLive: false,
    main: html`${filterSection(list, frame)}${listSection(list, frame)}`,
  });
}

const baseOf = ({ content }: Frame) => content.organization?.base ?? '';

function filterSection({ filter, sources }: TopicList, frame: Frame): Html {
  const option = (value: string, chosen: string, label: string) =>
    html`<option value="${value}"${value === chosen ? html` selected` : null}>${label}</option>`;
  const choice = (
    name: string,
    label: string,
    options: readonly (readonly [string, string])[],
    now: string,
  ) =>
    html`<label>${label} <select name="${name}">${options.map(([value, text]) => option(value, now, text))}</select></label>`;
  const check = (name: string, label: string, isOn: boolean) =>
    html`<label class="check"><input type="checkbox" name="${name}" value="1"${isOn ? html` checked` : null}> ${label}</label>`;
  const words = (values: readonly string[]) => values.map((one) => [one, plainWord(one)] as const);
  return html`<form id="filter" class="fields" method="get" action="${baseOf(frame)}/topics" role="search">
<label class="wide">Search <input type="search" name="q" value="${filter.q}" placeholder="titles while you type, messages on Enter" aria-keyshortcuts="/"></label>
<button name="in" value="messages">Search messages</button><button name="in" value="titles">Titles only</button>
${choice('priority', 'Priority', [['', 'any'], ...words(priorities)], filter.priority)}
${choice('state', 'Lifecycle', [['backlog', 'backlog'], ...words(filterStates.slice(1))], filter.state)}
<label>Company <input name="company" value="${filter.company}" placeholder="part of its name"></label>
${choice('source', 'Source', [['', 'any'], ...sources.map((one) => [one, one] as const)], filter.source)}
${check('vip', 'with a VIP', filter.vip)}${check('growing', 'growing', filter.growing)}${check('unset', 'no priority set by a person', filter.unset)}
${filter.sort === '' ? null : html`<input type="hidden" name="sort" value="${filter.sort}">`}
</form>\n`;
}

interface Column {
  readonly key: string;
  readonly name: string;
  readonly cell: (topic: TopicLine, frame: Frame) => Piece;
}

/** The columns of the list; a name that ends in # is that of numbers. */
function columnsOf(attributes: readonly string[]): Column[] {
  return [
    { key: 'title', name: 'Topic', cell: titleCell },
    { key: 'priority', name: 'Priority', cell: ({ priority }) => plainWord(priority) },
    { key: 'state', name: 'Lifecycle', cell: (topic) => stateText(topic) },
    { key: 'companies', name: 'Companies', cell: companiesCell },
    { key: 'vips', name: 'VIPs#', cell: (topic) => vipsOf(topic) || quietZero },
    { key: 'conversations', name: 'Conversations#', cell: ({ conversations }) => conversations },
    { key: 'trend', name: '12 weeks', cell: ({ weeks }) => sparkline(weeks) },
    ...attributes.map((name, at): Column => {
      return { key: name, name: `${plainWord(name)}#`, cell: (topic) => topic.attributes[at] ?? quietZero };
    }),
    { key: 'waiting', name: 'Waiting', cell: waitingCell },
  ];
}

const quietZero = html`<span class="none"></span>`;

function titleCell({ id, title }: TopicLine, frame: Frame): Html {
  return html`<a href="${frame.link(`/topics/${encodeURIComponent(id)}`)}">${title ?? id}</a>`;
}

export function stateText({
  lifecycleState,
  isArchived,
}: Pick<TopicLine, 'lifecycleState' | 'isArchived'>): string {
  return isArchived ? 'archived' : plainWord(lifecycleState ?? 'unknown');
}

/** VIPs of a topic: people and companies. */
export function vipsOf({ vipPeople, companies }: Pick<TopicLine, 'vipPeople' | 'companies'>): number {
  return vipPeople + companies.filter(({ isVip }) => isVip).length;
}

function companiesCell({ companies }: TopicLine, frame: Frame): Piece {
  if (companies.length === 0) return quietZero;
  const shown = companies.slice(0, 2).map(({ id, name, isVip }, at) => {
    const link = frame.link(`/companies/${encodeURIComponent(id)}`);
    return html`${at > 0 ? ', ' : null}<a href="${link}">${name ?? id}</a>${isVip ? html` <abbr title="VIP">★</abbr>` : null}`;
  });
  const more = companies.length - shown.length;
  return html`${shown}${more > 0 ? html` <span class="quiet">and ${count(more)} more</span>` : null}`;
}

function waitingCell({ waitingSince }: TopicLine, { times }: Frame): Piece {
  return waitingSince === null ? quietZero : times.age(waitingSince);
}

/** Bars of weeks; the newest is the last. */
export function sparkline(weeks: readonly number[]): Html {
  const most = Math.max(1, ...weeks);
  const bars = weeks.map((messages, at) => {
    if (messages === 0) return null;
    const tall = Math.max(1.5, (messages / most) * 20);
    return html`<rect x="${at * 7}" y="${(20 - tall).toFixed(1)}" width="5" height="${tall.toFixed(1)}"/>`;
  });
  const label = `Messages in each of the last ${weeks.length} weeks: ${weeks.join(', ')}`;
  return html`<svg class="spark" viewBox="0 0 ${weeks.length * 7} 20" role="img" aria-label="${label}"><line x1="0" y1="20" x2="${weeks.length * 7}" y2="20"/>${bars}</svg>`;
}

function listSection(list: TopicList, frame: Frame): Html {
  const { filter, topics, total, note } = list;
  const columns = columnsOf(list.attributes);
  const rows = topics.map((topic) => columns.map(({ cell }) => cell(topic, frame)));
  const names = columns.map(({ name }) => name);
  const head = (name: string, at: number) => sortLink(name, columns[at]?.key ?? '', filter, frame);
  return section(
    'list',
    counted(total, 'topic'),
    note === null ? null : html`<p class="quiet">${note}</p>`,
    total === 0
      ? html`<p>No topic matches. <a href="${baseOf(frame)}/topics">Show the backlog</a></p>`
      : table('topics-table', 'Topics', names, rows, head),
    pagesLinks(list, frame),
  );
}

function sortLink(name: string, key: string, filter: TopicFilter, frame: Frame): Html {
  const isUp = filter.sort === key;
  const isDown = filter.sort === `-${key}`;
  const to = topicsPath(baseOf(frame), filter, { sort: isUp ? `-${key}` : key, page: 1 });
  const mark = isUp ? ' ▲' : isDown ? ' ▼' : '';
  const sorted = isUp ? ', sorted upwards' : isDown ? ', sorted downwards' : '';
  return html`<a href="${to}" aria-label="Sort by ${name}${sorted}">${name}${mark}</a>`;
}

function pagesLinks({ filter, pages }: TopicList, frame: Frame): Html | null {
  if (pages <= 1) return null;
  const link = (to: number, text: string) =>
    to < 1 || to > pages
      ? null
      : html`<a href="${topicsPath(baseOf(frame), filter, { page: to })}">${text}</a> `;
  return html`<nav class="pages" aria-label="Pages">${link(filter.page - 1, 'Previous')}<span>Page ${count(filter.page)} of ${count(pages)}</span> ${link(filter.page + 1, 'Next')}</nav>`;
}
