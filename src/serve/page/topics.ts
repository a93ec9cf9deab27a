import type { Iso } from '../../base/clock.js';
import { count, counted, plainWord } from '../../base/units.js';
import { settableLifecycleStates, urgentFirst } from '../../contract/topics.js';
import { sparkline } from '../../view/charts.js';
import {
  badge,
  type Html,
  html,
  notListed,
  type Piece,
  quiet,
  type Row,
  section,
  table,
} from '../../view/html.js';
import { fieldHtml } from '../../view/view-html.js';
import { button, check, form, hidden, menu, options } from './forms.js';
import { type Frame, frameOf, type PageContent, page } from './page.js';
import { type SheetDetails, sentSection } from './sheets.js';

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
  /** Since when a person from outside waits for a reply. */
  readonly waitingSince: Iso | null;
  /** Whether a person set the priority last, and not the service. */
  readonly isDecided: boolean;
  /** The values of attributes/companies.csv for its companies, in the order of the columns. */
  readonly attributes: readonly (number | null)[];
}

/** The filter and the order of a list of topics; a text is empty when it limits nothing. */
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

/** One edit of a draft. */
export interface DraftLine {
  /** As a form names it. */
  readonly key: string;
  readonly entityType: 'topic' | 'company' | 'person';
  readonly entityId: string;
  readonly title: string;
  readonly field: string;
  /** The value that was shown when it was edited, and the wanted one. */
  readonly from: string;
  readonly to: string;
  /** The present value where it is another; otherwise null. */
  readonly now: string | null;
}

/** Edits that people have not sent yet. */
interface Drafts {
  readonly own: readonly DraftLine[];
  /** Why, for all of the reader's edits. */
  readonly reason: string;
  readonly others: readonly (DraftLine & { readonly by: string })[];
}

export interface TopicList {
  readonly filter: TopicFilter;
  /** The name of the company whose id the filter has; null where it has none. */
  readonly companyName: string | null;
  readonly drafts: Drafts;
  /** Changes that wait to be sent, in words, by topic. */
  readonly waiting: ReadonlyMap<string, readonly string[]>;
  /** The changes that the reader sent last; null where that is long ago. */
  readonly sent: SheetDetails | null;
  /** Those of the page. */
  readonly topics: readonly TopicLine[];
  readonly total: number;
  readonly pages: number;
  /** The names of the columns of numbers in attributes/companies.csv. */
  readonly attributes: readonly string[];
  readonly sources: readonly string[];
  /** A sentence for the reader. */
  readonly note: string | null;
}

const filterStates = ['backlog', ...settableLifecycleStates, 'unknown', 'archived', 'any'];

/** A filter from an address. What is not known limits nothing. */
export function topicFilterOf(given: Readonly<Record<string, unknown>>): TopicFilter {
  const text = (name: string) => (typeof given[name] === 'string' ? given[name].trim().slice(0, 200) : '');
  const one = (name: string, allowed: readonly string[], otherwise: string) =>
    allowed.includes(text(name)) ? text(name) : otherwise;
  const page = Number(text('page'));
  return {
    q: text('q'),
    in: text('in') === 'messages' ? 'messages' : 'titles',
    priority: one('priority', urgentFirst, ''),
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

/** The path of a list, with the parts that are not as usual. */
function topicsPath(filter: TopicFilter, more: Partial<TopicFilter> = {}): string {
  const all = { ...filter, ...more };
  const isUsual: Partial<Record<string, unknown>> = { state: 'backlog', page: 1, in: 'titles' };
  const parts = Object.entries(all).flatMap(([name, value]) =>
    value === '' || value === false || value === isUsual[name]
      ? []
      : [`${name}=${encodeURIComponent(value === true ? '1' : String(value))}`],
  );
  return `/topics${parts.length > 0 ? `?${parts.join('&')}` : ''}`;
}

/** Needed by every page with topics that can be edited. */
export interface Editing {
  readonly frame: Frame;
  /** The token of its forms; null for those who only read. */
  readonly token: string | null;
  readonly list: Pick<TopicList, 'drafts' | 'waiting'>;
}

export function editingOf(frame: Frame, list: Editing['list']): Editing {
  const { visitor } = frame.content;
  return { frame, list, token: visitor?.role === 'write' ? visitor.token : null };
}

/** The page of the list. */
export function topicsPage(content: PageContent, list: TopicList): string {
  const frame = frameOf(content, '/topics');
  const editing = editingOf(frame, list);
  const next = topicsPath(list.filter);
  return page(frame, {
    title: 'Topics',
    heading: 'Topics',
    isLive: false,
    script: 'topics.js',
    main: html`${sentSection(list.sent, content, next)}${filterSection(list, editing)}${listSection(list, editing)}${draftSection(editing, next)}${editing.token && helpDialog}`,
  });
}

const baseOf = ({ content }: Frame) => content.organization?.base ?? '';

function filterSection({ filter, companyName, sources }: TopicList, { frame, token }: Editing): Html {
  const zone = frame.content.query?.zone;
  const any = ['', 'any'] as const;
  return html`<form id="filter" class="fields" method="get" action="${baseOf(frame)}/topics" role="search">
<label class="wide">Search <input type="search" name="q" value="${filter.q}" placeholder="titles while you type, messages on Enter" aria-keyshortcuts="/"></label>
<button name="in" value="messages">Search messages</button>${token && html`<span class="hint"><kbd>?</kbd> shows the keys</span>`}
${menu('priority', 'Priority', [any, ...urgentFirst], filter.priority)}
${menu('state', 'Lifecycle', filterStates, filter.state)}
<label>Company <input name="company" value="${companyName ?? filter.company}" placeholder="part of its name"></label>
${menu('source', 'Source', [any, ...sources.map((one) => [one, one] as const)], filter.source)}
${check('vip', '1', 'with a VIP', filter.vip)}${check('growing', '1', 'growing', filter.growing)}${check('unset', '1', 'no priority set by a person', filter.unset)}
${filter.sort === '' ? null : hidden('sort', filter.sort)}${typeof zone === 'string' ? hidden('zone', zone) : null}
</form>\n`;
}

interface Column {
  readonly key: string;
  readonly name: string;
  readonly cell: (topic: TopicLine, editing: Editing) => Piece;
}

/** The columns of the list; a name that ends in # is that of numbers. */
function columnsOf(attributes: readonly string[]): Column[] {
  return [
    { key: 'title', name: 'Topic', cell: titleCell },
    { key: 'priority', name: 'Priority', cell: priorityMenu },
    { key: 'state', name: 'Lifecycle', cell: stateMenu },
    { key: 'companies', name: 'Companies', cell: companiesCell },
    { key: 'vips', name: 'VIPs#', cell: (topic) => vipsOf(topic) || quietZero },
    { key: 'conversations', name: 'Conversations#', cell: ({ conversations }) => conversations },
    { key: 'trend', name: '12 weeks', cell: ({ weeks }) => sparkline(weeks) },
    ...attributes.map((name, at): Column => {
      return { key: name, name: `${plainWord(name)}#`, cell: (topic) => topic.attributes[at] ?? quietZero };
    }),
    { key: 'waiting', name: 'Waiting#', cell: waitingCell },
  ];
}

const quietZero = html`<span class="none"></span>`;

/** The link to a topic, a box to select it, and what people are about to change. */
function titleCell(topic: TopicLine, editing: Editing): Html {
  const { id, title } = topic;
  const link = html`<a class="topic" href="${editing.frame.link(`/topics/${encodeURIComponent(id)}`)}">${title ?? id}</a>`;
  if (editing.token === null) return html`${link}${marksOf(id, editing)}`;
  return html`<span class="select"><input type="checkbox" name="topic" value="${id}" aria-label="Select ${title ?? id}">${link}</span>${marksOf(id, editing)}${seenField(topic)}`;
}

/** The values of a topic on the page: the base of its edits. */
export function seenField({ id, priority, lifecycleState, isArchived }: TopicLine): Html {
  return hidden(`seen/${id}`, `${priority ?? ''}/${lifecycleState ?? ''}/${String(isArchived)}`);
}

/** Pending changes of a topic or a company: edits of others, the reader's own archiving, and changes that wait to be sent. */
export function marksOf(id: string, { list: { drafts, waiting } }: Editing): Html | null {
  const mine = drafts.own.filter(({ entityId, field }) => entityId === id && field === 'archived');
  const others = drafts.others.filter(({ entityId }) => entityId === id);
  const marks = [
    ...mine.map(({ to }) => badge('warn', to === 'yes' ? 'will be archived' : 'will be brought back')),
    ...others.map(({ by, field, to }) => badge('quiet', `${by} drafts ${plainWord(field)} ${plainWord(to)}`)),
    ...(waiting.get(id) ?? []).map((text) => badge('busy', text)),
  ];
  return marks.length === 0 ? null : html`<span class="marks">${marks}</span>`;
}

function priorityMenu(topic: TopicLine, editing: Editing): Piece {
  return fieldMenu(topic, 'priority', topic.priority, urgentFirst, editing);
}

function stateMenu(topic: TopicLine, editing: Editing): Piece {
  if (topic.isArchived) return 'archived';
  return fieldMenu(topic, 'lifecycle_state', topic.lifecycleState, settableLifecycleStates, editing);
}

/** A field as a menu, with the value of the reader's draft; as text for those who only read. */
export function fieldMenu(
  { id, title }: Pick<TopicLine, 'id' | 'title'>,
  field: 'priority' | 'lifecycle_state',
  value: string | null,
  settable: readonly string[],
  { token, list }: Editing,
): Piece {
  const word = (one: string) => plainWord(one || (field === 'priority' ? 'none' : 'unknown'));
  if (token === null) return word(value ?? '');
  const edit = list.drafts.own.find((one) => one.entityId === id && one.field === field);
  const chosen = edit?.to ?? value ?? '';
  const all = settable.includes(value ?? '') ? settable : [value ?? '', ...settable];
  const label = `${field === 'priority' ? 'Priority' : 'Lifecycle'} of ${title ?? id}`;
  const was = edit === undefined ? null : html`<span class="was">was ${word(edit.from)}</span>`;
  return html`<select name="${field}/${id}" aria-label="${label}"${edit === undefined ? null : html` class="drafted"`}>${options(
    all.map((one) => [one, word(one)] as const),
    chosen,
  )}</select>${was}`;
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

function companiesCell({ companies }: TopicLine, { frame }: Editing): Piece {
  const [first, ...others] = companies;
  if (first === undefined) return quietZero;
  const more = count(others.length);
  return html`${companyLink(first, frame)}${others.length > 0 ? html` <span class="quiet">and ${more} more</span>` : null}`;
}

export function companyLink({ id, name, isVip }: CompanyName, { link }: Frame): Html {
  return html`<a href="${link(`/companies/${encodeURIComponent(id)}`)}">${name ?? id}</a>${isVip ? html` <abbr title="VIP">★</abbr>` : null}`;
}

function waitingCell({ waitingSince }: TopicLine, { frame }: Editing): Piece {
  return waitingSince === null ? quietZero : frame.times.age(waitingSince);
}

function listSection(list: TopicList, editing: Editing): Html {
  const { filter, topics, total, note } = list;
  const { frame, token } = editing;
  const columns = columnsOf(list.attributes);
  const rows = topics.map((topic) => columns.map(({ cell }) => cell(topic, editing)));
  const names = columns.map(({ name }) => name);
  const head = (name: string, at: number) => sortLink(name, columns[at]?.key ?? '', filter, frame);
  // The text may be the name of a company.
  const named = html`<a href="${frame.link(`/topics?company=${encodeURIComponent(filter.q)}`)}">Show the topics of companies named ${filter.q}</a> `;
  const found =
    total === 0
      ? html`<p>No topic matches. ${filter.q && named}<a href="${frame.link('/topics')}">Show the backlog</a></p>`
      : table('topics-table', 'Topics', names, rows, { head });
  return section(
    'list',
    counted(total, 'topic'),
    note === null ? null : quiet(note),
    token === null || total === 0 ? found : editForm(list, token, found, frame),
    pagesLinks(list, frame),
  );
}

/** The form around the rows: their menus, and what is done to all that are selected. */
function editForm({ filter, total }: TopicList, token: string, rows: Html, frame: Frame): Html {
  const keep = ['', 'keep'] as const;
  const columns = [['priority', 'Priority'] as const, ['lifecycle_state', 'Lifecycle'] as const];
  const content = html`<div class="bulk"><button class="save" name="action" value="save" formnovalidate>Save to the draft</button>
<output name="selected"></output>${check('all', '1', `all ${count(total)} topics of the list`)}
${menu('bulk_priority', 'Priority', [keep, ...urgentFirst])}${menu('bulk_state', 'Lifecycle', [keep, ...settableLifecycleStates])}${button('apply', 'Set', 'formnovalidate')}
${archiveFields}</div>
${rows}
<details><summary>Paste a column of values</summary><p class="quiet">One value a line, for the topics of this page in their order; or two columns from a spreadsheet: the title or id, and the value.</p>
${hidden('from', '')}<p class="fields">${menu('column', 'Column', columns)}
<label class="wide">Values <textarea name="values" rows="6"></textarea></label>${button('paste', 'Paste into the draft', 'formnovalidate')}</p></details>`;
  return form(draftPath(frame, topicsPath(filter)), token, content, { id: 'edit' });
}

/** Archiving, which asks for its reason; the other buttons of a form with it do not. */
export const archiveFields = html`<label class="wide">Reason to archive <input name="archive_reason" maxlength="500" required></label>${button('archive', 'Archive')}`;

/** Where the forms of drafts are sent; `next` is the page that is shown then. */
export function draftPath(frame: Frame, next: string): string {
  return `${baseOf(frame)}/topics/draft?next=${encodeURIComponent(frame.keep(next))}`;
}

/** The most rows of a table about one topic or company, and the most edits of a draft: a preview shows all. */
const maxListed = 100;

/** The reader's draft, at the bottom of the window: its edits, values that changed since, and the buttons. */
export function draftSection({ frame, token, list }: Editing, next: string): Html | null {
  const { own, reason } = list.drafts;
  if (token === null || own.length === 0) return null;
  const stale = own.filter(({ now }) => now !== null);
  const listed = [...stale, ...own.filter(({ now }) => now === null)].slice(0, maxListed);
  const rows = listed.map(({ key, title, entityId, entityType, field, from, to, now }): Row => {
    const path = `/${entityType === 'topic' ? 'topics' : 'companies'}/${encodeURIComponent(entityId)}`;
    return [
      check('edit', key, html`<a href="${frame.link(path)}">${title}</a>`, now !== null),
      fieldHtml({ name: field, from, to }),
      now === null
        ? null
        : html`${badge('warn', `now ${plainWord(now)}`)} was ${plainWord(from)} when you edited it`,
    ];
  });
  // As the preview counts: an archiving and its reason are one change.
  const changes = counted(new Set(own.map(({ entityId }) => entityId)).size, 'change');
  const decide = stale.length === 0 ? null : button('overwrite', 'Overwrite the chosen ones');
  const content = html`<div class="actions"><strong>Draft: ${changes}</strong>${stale.length > 0 ? badge('warn', `${counted(stale.length, 'conflict')}`) : null}
<input class="wide" name="reason" value="${reason}" maxlength="500" aria-label="Reason" placeholder="the reason, for the record">
<button name="action" value="review" class="primary">Review ${changes}</button></div>
<details${stale.length > 0 ? html` open` : null}><summary>What it has</summary>${table('draft-table', 'Your draft', ['Where', 'Change', 'Since then'], rows)}${notListed(own.length - listed.length)}
<div class="actions">${decide}${button('discard', 'Discard the chosen ones')}<details><summary>Discard all</summary>${button('clear', `Discard ${changes}`)}</details></div></details>`;
  return html`<section id="draft" aria-label="Your draft">${form(draftPath(frame, next), token, content)}</section>\n`;
}

const keys: readonly (readonly [string, string])[] = [
  ['j k', 'the next topic, the one before'],
  ['1 to 5', '1 very high, 2 high, 3 default, 4 low, 5 very low: of the topic, or of all that are selected'],
  ['x', 'select the topic; with shift and a click, all up to it'],
  ['e', 'archive: type the reason, and Enter'],
  ['r', 'review the draft; Enter confirms what the review shows'],
  ['Enter', 'open the topic'],
  ['/', 'search'],
  ['?', 'these keys'],
];

const helpDialog = html`<dialog id="keys" aria-labelledby="keys-heading"><h2 id="keys-heading">Keys</h2><dl>${keys.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl><form method="dialog"><button>Close</button></form></dialog>`;

function sortLink(name: string, key: string, filter: TopicFilter, frame: Frame): Html {
  const isUp = filter.sort === key;
  const isDown = filter.sort === `-${key}`;
  const to = frame.link(topicsPath(filter, { sort: isUp ? `-${key}` : key, page: 1 }));
  const mark = isUp ? ' ▲' : isDown ? ' ▼' : '';
  const sorted = isUp ? ', sorted upwards' : isDown ? ', sorted downwards' : '';
  return html`<a href="${to}" aria-label="Sort by ${name}${sorted}">${name}${mark}</a>`;
}

function pagesLinks({ filter, pages }: TopicList, frame: Frame): Html | null {
  if (pages <= 1) return null;
  const link = (to: number, text: string) =>
    to < 1 || to > pages
      ? null
      : html`<a href="${frame.link(topicsPath(filter, { page: to }))}">${text}</a> `;
  return html`<nav class="pages" aria-label="Pages">${link(filter.page - 1, 'Previous')}<span>Page ${count(filter.page)} of ${count(pages)}</span> ${link(filter.page + 1, 'Next')}</nav>`;
}
