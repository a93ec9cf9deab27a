import type { Iso } from '../../base/clock.js';
import { count, counted, plainWord } from '../../base/units.js';
import { settableLifecycleStates, urgentFirst } from '../../contract/topics.js';
import { sparkline } from '../../view/charts.js';
import { type Html, html, linked, quiet, type Row, section, table } from '../../view/html.js';
import { type Block, clockOf, type Fact, type Words } from '../../view/view.js';
import { factsHtml, fieldHtml, sectionHtml } from '../../view/view-html.js';
import { button, check, form, hidden, menu } from './forms.js';
import { type Frame, frameOf, type PageContent, page } from './page.js';
import { sentSection } from './sheets.js';
import {
  archiveFields,
  type CompanyName,
  companyLink,
  draftPath,
  draftSection,
  type Editing,
  editingOf,
  fieldMenu,
  marksOf,
  seenField,
  stateText,
  type TopicLine,
  type TopicList,
  vipsOf,
} from './topics.js';

/** The pages of one topic and of one company: the evidence, the decisions, and the same edits as in the list. */

/** A message. */
export interface Said {
  readonly name: string | null;
  readonly at: Iso | null;
  readonly text: string | null;
  readonly source: string | null;
  readonly url: string | null;
}

/** A person from outside who asked for a topic. */
export interface Asker {
  readonly id: string;
  readonly name: string | null;
  readonly isVip: boolean;
  readonly company: CompanyName | null;
  readonly messages: number;
  /** The last thing that the person said about it. */
  readonly last: Said;
}

export interface TopicEvent {
  readonly at: Iso;
  readonly by: string | null;
  /** The source: us, the API, or a sync that saw it. */
  readonly from: string;
  readonly text: string | null;
  readonly fields: readonly { readonly name: string; readonly from: string; readonly to: string }[];
}

/** Shared by both kinds of pages. */
type Edited = Pick<TopicList, 'drafts' | 'waiting' | 'sent'>;

/** A part is null where the published file leaves it out. */
export interface TopicDetails extends Edited {
  readonly topic: TopicLine;
  readonly about: {
    readonly summary: string | null;
    readonly issueType: string | null;
    readonly keywords: readonly string[] | null;
    readonly priorityReasoning: string | null;
    readonly confidence: number | null;
    readonly archivedAt: Iso | null;
    readonly archivedReason: string | null;
    readonly createdAt: Iso | null;
    readonly ticketName: string | null;
    readonly ticketUrl: string | null;
    readonly deletedAt: Iso | null;
    /** Why the API lists it and does not return it. */
    readonly unavailableReason: string | null;
    /** The topic that it was merged into, or is superseded by. */
    readonly nextId: string | null;
    readonly nextTitle: string | null;
  };
  readonly money: readonly (readonly [name: string, value: number])[];
  readonly decisions:
    | readonly {
        readonly field: string;
        readonly at: Iso;
        readonly by: string | null;
        readonly reason: string | null;
      }[]
    | null;
  readonly people: readonly Asker[] | null;
  readonly messages:
    | readonly (Said & {
        readonly kind: 'latest' | 'telling';
        readonly side: string;
        readonly isVip: boolean;
        readonly company: CompanyName | null;
      })[]
    | null;
  readonly related:
    | readonly {
        readonly id: string;
        readonly title: string | null;
        readonly kind: 'duplicate' | 'merged' | 'superseded';
        readonly reasons: readonly string[] | null;
        /** As the list shows it; null where the list does not. */
        readonly line: TopicLine | null;
      }[]
    | null;
  readonly timeline: readonly TopicEvent[] | null;
}

export interface CompanyDetails extends Edited {
  readonly company: CompanyName & {
    readonly domain: string | null;
    readonly people: number | null;
    readonly deletedAt: Iso | null;
    readonly nextId: string | null;
    readonly nextTitle: string | null;
  };
  readonly money: TopicDetails['money'];
  readonly asked:
    | readonly (Pick<TopicLine, 'id' | 'title' | 'priority' | 'lifecycleState' | 'isArchived' | 'isOpen'> & {
        readonly people: number;
        readonly messages: number;
        readonly lastAt: Iso | null;
      })[]
    | null;
  readonly waits: readonly (Said & AboutTopic & { readonly title: string | null })[] | null;
  /** The last one about each topic, and in each conversation without one, the last first. */
  readonly answers: readonly (Said & AboutTopic)[] | null;
}

interface AboutTopic {
  readonly topicId: string | null;
  readonly topicTitle: string | null;
}

/** The people who asked for a topic, and whether they were told. */
export interface Told {
  readonly topic: TopicLine;
  readonly people: readonly (Asker & { readonly told: { readonly by: string; readonly at: Iso } | null })[];
}

const leftOut = quiet('The published file leaves this out.');

/** A section of something that the published file may leave out. */
function part<T>(
  frame: Frame,
  id: string,
  heading: string,
  found: readonly T[] | null,
  nothing: string,
  shown: (found: readonly T[]) => Block,
): Html | null {
  const block = found === null ? leftOut : found.length === 0 ? quiet(nothing) : shown(found);
  return sectionHtml({ id, heading, blocks: [block] }, frame);
}

export function topicPage(content: PageContent, details: TopicDetails): string {
  const frame = frameOf(content, '/topics/one');
  const { topic } = details;
  const { id, title } = topic;
  const editing = editingOf(frame, details);
  const said = (kind: 'latest' | 'telling') => details.messages?.filter((one) => one.kind === kind) ?? null;
  return page(frame, {
    title: title ?? id,
    heading: html`${title ?? id}`,
    isLive: false,
    script: 'topics.js',
    main: html`${sentSection(details.sent, content, pathOf(id))}${stateSection(details, editing)}${aboutSection(details, frame)}
${part(frame, 'asking', `Who asked (${counted(details.people?.length ?? 0, 'person', 'people')})`, details.people, 'No person from outside takes part.', (people) => askersTable(people, frame))}
<div class="columns">${part(frame, 'telling', 'Most telling messages', said('telling'), 'There are no messages from outside.', (all) => messageList(all, frame))}${part(frame, 'latest', 'Latest messages', said('latest'), 'There are no messages yet.', (all) => messageList(all, frame))}</div>
${part(frame, 'related', 'Probably the same, merged, superseded', details.related, 'No other topic is probably the same.', (all) => relatedTable(all, details, editing))}
${part(frame, 'timeline', 'What happened', details.timeline, 'Nothing is recorded.', timelineTable)}${draftSection(editing, pathOf(id))}`,
  });
}

function pathOf(topicId: string): string {
  return `/topics/${encodeURIComponent(topicId)}`;
}

function companyPathOf(id: string): string {
  return `/companies/${encodeURIComponent(id)}`;
}

function stateSection({ topic, about, decisions, timeline }: TopicDetails, editing: Editing): Html {
  const { frame, token } = editing;
  const { id, isArchived, lifecycleState } = topic;
  const decided = (field: string): Words => {
    const found = decisions?.find((one) => one.field === field);
    if (!found) return null;
    const by = found.by ? `by ${found.by}, ` : 'by the service, ';
    return { note: [by, clockOf(found.at), found.reason ? `: ${found.reason}` : null] };
  };
  const gone = goneText(about, pathOf, frame);
  const control = { ...editing, token: gone === null ? token : null };
  const state = isArchived
    ? [stateText(topic), archivedNote(about, timeline), { note: about.archivedReason }]
    : [
        fieldMenu(topic, 'lifecycle_state', lifecycleState, settableLifecycleStates, control),
        decided('lifecycle_state'),
      ];
  const facts = factsHtml(
    [
      [
        'priority',
        [
          fieldMenu(topic, 'priority', topic.priority, urgentFirst, control),
          decided('priority'),
          { note: about.priorityReasoning },
        ],
      ],
      ['lifecycle', state],
      [
        'waiting for a reply',
        topic.waitingSince !== null
          ? ['since ', clockOf(topic.waitingSince)]
          : gone === null
            ? 'no conversation'
            : null,
      ],
    ],
    frame,
  );
  const archive = isArchived ? button('bring_back', 'Bring back') : archiveFields;
  const content =
    control.token === null
      ? facts
      : form(
          draftPath(frame, pathOf(id)),
          control.token,
          html`${hidden('topic', id)}${seenField(topic)}${facts}
<div class="actions"><button class="save" name="action" value="save" formnovalidate>Save to the draft</button>${archive}</div>`,
          { id: 'edit' },
        );
  const tell =
    lifecycleState === 'completed'
      ? html`<p><a class="button" href="${frame.link(`${pathOf(id)}/told`)}">Tell those who asked</a></p>`
      : null;
  return section('state', 'State', gone, marksOf(id, editing), content, tell);
}

/** When a topic was archived, and by whom where an event of that minute says it. */
function archivedNote({ archivedAt }: TopicDetails['about'], timeline: TopicDetails['timeline']): Words {
  if (archivedAt === null) return null;
  const isArchiving = ({ at, by, fields }: TopicEvent) =>
    by !== null &&
    Math.abs(Date.parse(at) - Date.parse(archivedAt)) < 60_000 &&
    fields.some(({ name }) => name === 'archived' || name === 'archived_at');
  const by = timeline?.find(isArchiving)?.by;
  return { note: [by ? `by ${by}, ` : null, clockOf(archivedAt)] };
}

interface Gone extends Pick<TopicDetails['about'], 'nextId' | 'nextTitle' | 'deletedAt'> {
  readonly unavailableReason?: string | null;
}

/** The successor of a topic or company, or when it was deleted; null for one that exists. */
function goneText(
  { nextId, nextTitle, deletedAt, unavailableReason = null }: Gone,
  pathTo: (id: string) => string,
  { link, times }: Frame,
): Html | null {
  if (nextId !== null)
    return html`<p class="problem">It is part of <a href="${link(pathTo(nextId))}">${nextTitle ?? nextId}</a> now.</p>`;
  if (unavailableReason !== null)
    return html`<p class="problem">The API lists it, and does not return it: ${plainWord(unavailableReason)}. It cannot be changed, and what is below may be old.</p>`;
  if (deletedAt === null) return null;
  return html`<p class="problem">The API no longer has it: deleted ${times.at(deletedAt)}.</p>`;
}

function aboutSection({ topic, about, money }: TopicDetails, frame: Frame): Html {
  const { companies, conversations, weeks, sources } = topic;
  const { summary, issueType, createdAt, ticketName, ticketUrl, keywords } = about;
  // Of a topic that is in no list, these are not known.
  const activity: Fact[] = [
    ['companies', companies.length],
    ['VIPs', vipsOf(topic)],
    ['conversations', conversations],
    ['12 weeks', sparkline(weeks)],
  ];
  const facts: Fact[] = [
    ...(goneText(about, pathOf, frame) === null ? activity : []),
    ...money.map(([name, value]): Fact => [plainWord(name), value]),
    ['kind', issueType && plainWord(issueType)],
    ['created', createdAt && clockOf(createdAt)],
    ['sources', sources.join(', ')],
    ['ticket', ticketName && html`${linked(ticketName, ticketUrl)}`],
    ['keywords', (keywords ?? []).join(', ')],
  ];
  return section(
    'about',
    'What it is about',
    html`<p>${summary ?? 'No summary.'}</p>`,
    factsHtml(facts, frame),
  );
}

/** The most characters of a message that a list shows. */
const shownText = 400;

/** A message with its source. */
function quote({ text, source, url, at }: Said, { times }: Frame): Html {
  const all = text ?? '';
  const shown = all.length > shownText ? `${all.slice(0, shownText)}…` : all;
  return html`<q>${shown}</q> <span class="quiet">${sourceLink({ source, url })}, ${times.at(at)}</span>`;
}

function sourceLink({ source, url }: Pick<Said, 'source' | 'url'>): Html {
  return html`${linked(source ?? 'source', url)}`;
}

const star = html` <abbr title="VIP">★</abbr>`;

function askersTable(people: readonly Asker[], frame: Frame): Block {
  const rows = people.map((one): Words[] => [
    [one.name ?? one.id, one.isVip ? star : null],
    one.company && companyLink(one.company, frame),
    one.messages,
    one.last.at && quote(one.last, frame),
  ]);
  return { columns: ['Person', 'Company', 'Messages#', 'Said last'], rows };
}

function messageList(all: NonNullable<TopicDetails['messages']>, frame: Frame): Block {
  const list = all.map((one): Words => {
    const company = one.company && html`, ${companyLink(one.company, frame)}`;
    const staff: Words = one.side === 'staff' ? [' ', { badge: 'staff', tone: 'quiet' }] : null;
    const name = html`<strong>${one.name ?? 'unknown'}</strong>`;
    return [name, one.isVip ? star : null, company, staff, ': ', quote(one, frame)];
  });
  return { list };
}

const kinds = {
  duplicate: 'probably the same',
  merged: 'merged into this',
  superseded: 'superseded by this',
};

function relatedTable(
  all: NonNullable<TopicDetails['related']>,
  { topic, about }: TopicDetails,
  editing: Editing,
): Block {
  const { token, frame, list } = editing;
  const willBeArchived = (id: string) =>
    list.drafts.own.some((one) => one.entityId === id && one.field === 'archived' && one.to === 'yes');
  // Two topics are not archived as duplicates of each other.
  const isGone = goneText(about, pathOf, frame) !== null;
  const isKept = !isGone && !topic.isArchived && !willBeArchived(topic.id);
  const reason = `duplicate of ${topic.title ?? topic.id}`.slice(0, 500);
  const archive = (line: TopicLine | null, token: string) =>
    line === null || line.isArchived || willBeArchived(line.id) || !isKept
      ? null
      : form(
          draftPath(frame, pathOf(topic.id)),
          token,
          html`${hidden('topic', line.id)}${seenField(line)}${hidden('archive_reason', reason)}${button('archive', 'Archive as a duplicate')}`,
        );
  const rows = all.map(({ id, title, kind, reasons, line }): Words[] => [
    [{ path: pathOf(id), words: title ?? id }, marksOf(id, editing)],
    kinds[kind],
    ...(line === null ? [null, null, null] : [stateText(line), line.companies.length, line.conversations]),
    (reasons ?? []).join('; '),
    ...(token === null ? [] : [kind === 'duplicate' ? archive(line, token) : null]),
  ]);
  const columns = ['Topic', 'How', 'Lifecycle', 'Companies#', 'Conversations#', 'Why'];
  return { columns: [...columns, ...(token === null ? [] : ['Decide'])], rows };
}

function timelineTable(all: readonly TopicEvent[]): Block {
  const rows = all.map(({ at, by, from, text, fields }): Words[] => {
    const changed = fields.map(fieldHtml);
    return [clockOf(at), [text && html`<span class="value">${text}</span>`, ...changed], by, from];
  });
  return { columns: ['When', 'What', 'By', 'Known from'], rows };
}

export function companyPage(content: PageContent, details: CompanyDetails): string {
  const frame = frameOf(content, '/companies/one');
  const { company, asked } = details;
  const { id, name, isVip } = company;
  const editing = editingOf(frame, details);
  const open = asked?.filter(({ isOpen }) => isOpen) ?? [];
  const edit =
    editing.token === null || open.length === 0
      ? null
      : html`<p><a class="button" href="${frame.link(`/topics?company=${encodeURIComponent(id)}`)}">Edit its ${counted(open.length, 'open topic')}</a></p>`;
  const isGoing = ({ lifecycleState, isOpen }: TopicLineState) => isOpen && lifecycleState === 'in_progress';
  const isListed = new Set<string | null>(asked?.map((one) => one.id));
  const answers = new Map(details.answers?.map((one) => [one.topicId, one]));
  const otherAnswers = details.answers?.filter(({ topicId }) => !isListed.has(topicId)) ?? null;
  const list = (key: string, name: string, nothing: string, test: (topic: TopicLineState) => boolean) => {
    const found = asked?.filter(test) ?? null;
    const heading = `${name} (${count(found?.length ?? 0)})`;
    return part(frame, key, heading, found, nothing, (all) => askedTable(all, answers, frame));
  };
  return page(frame, {
    title: name ?? id,
    heading: html`${name ?? id}${isVip ? star : null}`,
    isLive: false,
    script: 'topics.js',
    main: html`${sentSection(details.sent, content, companyPathOf(id))}${companyState(details, editing)}${edit}
${list('going', 'What we are working on for it', 'Nothing of it is in progress.', isGoing)}
${list('open', 'What else it asked for and is open', 'Nothing else of it is open.', (one) => one.isOpen && !isGoing(one))}
${part(frame, 'waiting', 'Where it waits for a reply', details.waits, 'It waits for no reply.', waitsTable)}
${part(frame, 'answers', 'What else we told it', otherAnswers, 'Staff have written to it about no other topic.', (all) => answersTable(all, frame))}
${list('done', 'What is done, dismissed or archived', 'Nothing yet.', (one) => !one.isOpen)}${draftSection(editing, companyPathOf(id))}`,
  });
}

type TopicLineState = Pick<TopicLine, 'lifecycleState' | 'isOpen'>;

function waitsTable(all: NonNullable<CompanyDetails['waits']>): Block {
  const rows = all.map((one): Words[] => [
    one.title ?? 'without a title',
    topicLink(one),
    [one.name ?? 'unknown', ', since ', clockOf(one.at)],
    sourceLink(one),
  ]);
  return { columns: ['Conversation', 'Topic', 'Who waits', 'Where'], rows };
}

function answersTable(all: NonNullable<CompanyDetails['answers']>, frame: Frame): Block {
  const rows = all.map((one): Words[] => [one.name ?? 'unknown', topicLink(one), quote(one, frame)]);
  return { columns: ['Who', 'Topic', 'Message'], rows };
}

function topicLink({ topicId, topicTitle }: AboutTopic): Words {
  return topicId === null ? null : { path: pathOf(topicId), words: topicTitle ?? topicId };
}

function askedTable(
  all: NonNullable<CompanyDetails['asked']>,
  answers: ReadonlyMap<string | null, Said>,
  frame: Frame,
): Block {
  const rows = all.map((one): Words[] => {
    const answer = answers.get(one.id);
    return [
      { path: pathOf(one.id), words: one.title ?? one.id },
      plainWord(one.priority),
      stateText(one),
      one.people,
      one.messages,
      frame.times.age(one.lastAt),
      answer === undefined ? null : [answer.name ?? 'unknown', ': ', quote(answer, frame)],
    ];
  });
  const columns = [
    'Topic',
    'Priority',
    'Lifecycle',
    'People#',
    'Messages#',
    'Last message',
    'What we told it last',
  ];
  return { columns, rows };
}

function companyState({ company, money }: CompanyDetails, editing: Editing): Html {
  const { id, name, isVip, domain, people } = company;
  const { frame, token, list } = editing;
  const drafted = (field: string) =>
    list.drafts.own.find((one) => one.entityId === id && one.field === field);
  const facts = factsHtml(
    [
      ['domain', domain],
      ['people', people],
      ['VIP', isVip ? 'yes' : 'no'],
      ...money.map(([label, value]): Fact => [plainWord(label), value]),
    ],
    frame,
  );
  const gone = goneText(company, companyPathOf, frame);
  const vip = drafted('is_vip')?.to ?? (isVip ? 'yes' : 'no');
  const answers = [['true', 'yes'] as const, ['false', 'no'] as const];
  const edit =
    token === null || gone !== null
      ? null
      : form(
          draftPath(frame, companyPathOf(id)),
          token,
          html`${hidden('company', id)}${hidden('seen_name', name ?? '')}${hidden('seen_is_vip', String(isVip))}
<label>Name <input name="name" value="${drafted('name')?.to ?? name ?? ''}" maxlength="500"></label>${menu('is_vip', 'VIP', answers, String(vip === 'yes'))}${button('save', 'Save to the draft')}`,
          { id: 'edit-company', look: 'fields' },
        );
  return section('state', 'Company', gone, marksOf(id, editing), facts, edit);
}

/** The page of those who asked for a topic, to tell them that it is done. */
export function toldPage(content: PageContent, { topic, people }: Told): string {
  const frame = frameOf(content, '/topics/told');
  const { id, title, lifecycleState } = topic;
  const { visitor } = content;
  const path = `${content.organization?.base ?? ''}${pathOf(id)}/told`;
  const rows = people.map((one): Row => {
    const name = one.name ?? one.id;
    const told = one.told && html`told by ${one.told.by}, ${frame.times.at(one.told.at)}`;
    const box = html`${check('told', one.id, name, one.told !== null)}${hidden('listed', one.id)}${one.told && hidden('shown_told', one.id)}`;
    return [
      visitor?.role === 'write' ? box : html`${name}`,
      one.company === null ? null : companyLink(one.company, frame),
      one.last.at === null ? null : quote(one.last, frame),
      told,
    ];
  });
  const list = table('told-table', 'Who asked', ['Person', 'Company', 'Said last', 'Told'], rows);
  const done = people.filter(({ told }) => told !== null).length;
  return page(frame, {
    title: `Tell them: ${title ?? id}`,
    heading: html`Tell those who asked`,
    isLive: false,
    main: section(
      'told',
      `${count(done)} of ${counted(people.length, 'person', 'people')} told`,
      html`<p>About <a href="${frame.link(pathOf(id))}">${title ?? id}</a>${lifecycleState === 'completed' ? null : html`, which is not completed: it is ${stateText(topic)}`}. What you tick is kept here, and not in the API. <a href="${path}.csv" download>As a CSV file</a></p>`,
      people.length === 0
        ? html`<p class="quiet">No person from outside takes part.</p>`
        : visitor?.role === 'write'
          ? form(
              path,
              visitor.token,
              html`${list}<div class="actions"><button class="primary">Save who was told</button></div>`,
            )
          : list,
    ),
  });
}
