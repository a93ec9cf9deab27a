import type { Iso } from '../../base/clock.js';
import { count, counted, plainWord } from '../../base/units.js';
import { settableLifecycleStates, urgentFirst } from '../../contract/topics.js';
import { sparkline } from '../../view/charts.js';
import {
  badge,
  type Html,
  html,
  linked,
  notListed,
  type Piece,
  quiet,
  type Row,
  section,
  table,
} from '../../view/html.js';
import { clockOf, type Fact, type Words } from '../../view/view.js';
import { factsHtml, fieldHtml } from '../../view/view-html.js';
import { button, check, form, hidden, menu } from './forms.js';
import { type Frame, frameOf, type PageContent, page } from './page.js';
import { sentSection } from './sheets.js';
import {
  type CompanyName,
  companyLink,
  draftPath,
  draftSection,
  type Editing,
  editingOf,
  fieldMenu,
  marksOf,
  maxListed,
  seenField,
  stateText,
  type TopicLine,
  type TopicList,
  vipsOf,
} from './topics.js';

/** The pages of one topic and of one company: the evidence, who decided what, and the same edits as in the list. */

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
  /** Who says so: us, the API, or a sync that saw it. */
  readonly from: string;
  readonly text: string | null;
  readonly fields: readonly { readonly name: string; readonly from: string; readonly to: string }[];
}

/** What both kinds of pages have beside their own. */
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
    readonly archivedReason: string | null;
    readonly createdAt: Iso | null;
    readonly ticketName: string | null;
    readonly ticketUrl: string | null;
    readonly deletedAt: Iso | null;
    /** What it was merged into, or is superseded by. */
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
        readonly companyName: string | null;
      })[]
    | null;
  readonly related:
    | readonly {
        readonly id: string;
        readonly title: string | null;
        readonly kind: 'duplicate' | 'merged' | 'superseded';
        readonly reasons: readonly string[] | null;
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
    readonly nextName: string | null;
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
  readonly answers: readonly (Said & AboutTopic)[] | null;
}

interface AboutTopic {
  readonly topicId: string | null;
  readonly topicTitle: string | null;
}

/** Who asked for a topic, and who was told. */
export interface Told {
  readonly topic: TopicLine;
  readonly people: readonly (Asker & { readonly told: { readonly by: string; readonly at: Iso } | null })[];
}

const leftOut = quiet('The published file leaves this out.');

/** A section of something that the published file may leave out. */
function part<T>(
  id: string,
  heading: string,
  found: readonly T[] | null,
  nothing: string,
  shown: (found: readonly T[]) => Piece,
): Html {
  const content = found === null ? leftOut : found.length === 0 ? quiet(nothing) : shown(found);
  return section(id, heading, content);
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
    main: html`${sentSection(details.sent, content)}${stateSection(details, editing)}${aboutSection(details, frame)}
${part('asking', `Who asked (${counted(details.people?.length ?? 0, 'person', 'people')})`, details.people, 'No person from outside takes part.', (people) => askersTable(people, frame))}
<div class="columns">${part('telling', 'Most telling messages', said('telling'), 'There are no messages from outside.', (all) => messageList(all, frame))}${part('latest', 'Latest messages', said('latest'), 'There are no messages yet.', (all) => messageList(all, frame))}</div>
${part('related', 'Probably the same, merged, superseded', details.related, 'No other topic is probably the same.', (all) => relatedTable(all, frame))}
${part('timeline', 'What happened', details.timeline, 'Nothing is recorded.', (all) => timelineTable(all, frame))}${draftSection(editing, pathOf(id))}`,
  });
}

function pathOf(topicId: string): string {
  return `/topics/${encodeURIComponent(topicId)}`;
}

function stateSection({ topic, about, decisions }: TopicDetails, editing: Editing): Html {
  const { frame, token } = editing;
  const { id, isArchived, lifecycleState } = topic;
  const decided = (field: string): Words => {
    const found = decisions?.find((one) => one.field === field);
    if (!found) return null;
    const by = found.by ? `by ${found.by}, ` : 'by the service, ';
    return { note: [by, clockOf(found.at), found.reason ? `: ${found.reason}` : null] };
  };
  const gone = about.nextId !== null || about.deletedAt !== null;
  const control = { ...editing, token: gone ? null : token };
  const state = isArchived
    ? [stateText(topic), decided('lifecycle_state'), { note: about.archivedReason }]
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
        topic.waitingSince === null ? 'no conversation' : ['since ', clockOf(topic.waitingSince)],
      ],
    ],
    frame,
  );
  const archive = isArchived
    ? button('bring_back', 'Bring back')
    : html`<label class="wide">Reason to archive <input name="archive_reason" maxlength="500"></label>${button('archive', 'Archive')}`;
  const content =
    control.token === null
      ? facts
      : form(
          draftPath(frame, pathOf(id)),
          control.token,
          html`${hidden('topic', id)}${seenField(topic)}${facts}
<div class="actions"><button class="save" name="action" value="save">Save to the draft</button>${archive}</div>`,
          { id: 'edit' },
        );
  const tell =
    lifecycleState === 'completed'
      ? html`<p><a class="button" href="${frame.link(`${pathOf(id)}/told`)}">Tell those who asked</a></p>`
      : null;
  return section('state', 'State', goneText(about, frame), marksOf(id, editing), content, tell);
}

function goneText(
  { nextId, nextTitle, deletedAt }: TopicDetails['about'],
  { link, times }: Frame,
): Html | null {
  if (nextId !== null)
    return html`<p class="problem">It is part of <a href="${link(pathOf(nextId))}">${nextTitle ?? nextId}</a> now.</p>`;
  return deletedAt === null
    ? null
    : html`<p class="problem">The API no longer has it: deleted ${times.at(deletedAt)}.</p>`;
}

function aboutSection({ topic, about, money }: TopicDetails, frame: Frame): Html {
  const { companies, conversations, weeks, sources } = topic;
  const { summary, issueType, createdAt, ticketName, ticketUrl, keywords } = about;
  const facts: Fact[] = [
    ['companies', companies.length],
    ['VIPs', vipsOf(topic)],
    ['conversations', conversations],
    ['12 weeks', sparkline(weeks)],
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
  return html`<q>${shown}</q> <span class="quiet">${linked(source ?? 'source', url)}, ${times.at(at)}</span>`;
}

const star = html` <abbr title="VIP">★</abbr>`;

function askersTable(people: readonly Asker[], frame: Frame): Html {
  const rows = people
    .slice(0, maxListed)
    .map(
      (one): Row => [
        html`${one.name ?? one.id}${one.isVip ? star : null}`,
        one.company === null ? null : companyLink(one.company, frame),
        one.messages,
        one.last.at === null ? null : quote(one.last, frame),
      ],
    );
  const found = table('asking-table', 'Who asked', ['Person', 'Company', 'Messages#', 'Said last'], rows);
  return html`${found}${notListed(people.length - rows.length)}`;
}

function messageList(all: NonNullable<TopicDetails['messages']>, frame: Frame): Html {
  return html`<ul class="lines">${all.map(
    (one) =>
      html`<li><strong>${one.name ?? 'unknown'}</strong>${one.isVip ? star : null}${one.companyName === null ? null : `, ${one.companyName}`}${one.side === 'staff' ? html` ${badge('quiet', 'staff')}` : null}: ${quote(one, frame)}</li>`,
  )}</ul>`;
}

const kinds = {
  duplicate: 'probably the same',
  merged: 'merged into this',
  superseded: 'superseded by this',
};

function relatedTable(all: NonNullable<TopicDetails['related']>, { link }: Frame): Html {
  const rows = all.map(
    ({ id, title, kind, reasons }): Row => [
      html`<a href="${link(pathOf(id))}">${title ?? id}</a>`,
      kinds[kind],
      (reasons ?? []).join('; '),
    ],
  );
  return table('related-table', 'Related topics', ['Topic', 'How', 'Why'], rows);
}

function timelineTable(all: readonly TopicEvent[], { times }: Frame): Html {
  const rows = all
    .slice(0, maxListed)
    .map(
      ({ at, by, from, text, fields }): Row => [
        times.at(at),
        html`${text && html`<span class="value">${text}</span>`}${fields.map(({ name, from, to: now }) => fieldHtml({ name, from: plainWord(from), to: plainWord(now) }))}`,
        by,
        from,
      ],
    );
  const found = table('timeline-table', 'Timeline, newest first', ['When', 'What', 'By', 'Known from'], rows);
  return html`${found}${notListed(all.length - rows.length)}`;
}

export function companyPage(content: PageContent, details: CompanyDetails): string {
  const frame = frameOf(content, '/companies/one');
  const { company, asked } = details;
  const { id, name, isVip } = company;
  const editing = editingOf(frame, details);
  const of = (test: (topic: NonNullable<typeof asked>[number]) => boolean) => asked?.filter(test) ?? null;
  const isGoing = ({ lifecycleState, isOpen }: TopicLineState) => isOpen && lifecycleState === 'in_progress';
  const list = (part: string, heading: string, nothing: string, test: (topic: TopicLineState) => boolean) => {
    const found = of(test);
    return partOf(part, `${heading} (${count(found?.length ?? 0)})`, found, nothing, frame);
  };
  return page(frame, {
    title: name ?? id,
    heading: html`${name ?? id}${isVip ? star : null}`,
    isLive: false,
    script: 'topics.js',
    main: html`${sentSection(details.sent, content)}${companyState(details, editing)}
${list('going', 'What we are working on for it', 'Nothing of it is in progress.', isGoing)}
${list('open', 'What it asked for and is open', 'Nothing of it is open.', (one) => one.isOpen && !isGoing(one))}
${part('waiting', 'Where it waits for a reply', details.waits, 'It waits for no reply.', (all) => waitsTable(all, frame))}
${part('answers', 'What we told it last', details.answers, 'Staff have not written to it.', (all) => answersTable(all, frame))}
${list('done', 'What is done, dismissed or archived', 'Nothing yet.', (one) => !one.isOpen)}${draftSection(editing, `/companies/${encodeURIComponent(id)}`)}`,
  });
}

type TopicLineState = Pick<TopicLine, 'lifecycleState' | 'isOpen'>;

function waitsTable(all: NonNullable<CompanyDetails['waits']>, frame: Frame): Html {
  const rows = all.map((one): Row => {
    const who = html`${one.name ?? 'unknown'}, since ${frame.times.at(one.at)}`;
    return [
      one.title ?? 'without a title',
      topicLink(one, frame),
      who,
      linked(one.source ?? 'source', one.url),
    ];
  });
  const columns = ['Conversation', 'Topic', 'Who waits', 'Where'];
  return table('waiting-table', 'Where it waits for a reply', columns, rows);
}

function answersTable(all: NonNullable<CompanyDetails['answers']>, frame: Frame): Html {
  const rows = all.map((one): Row => [one.name ?? 'unknown', topicLink(one, frame), quote(one, frame)]);
  return table('answers-table', 'What we told it last', ['Who', 'Topic', 'Message'], rows);
}

function topicLink({ topicId, topicTitle }: AboutTopic, { link }: Frame): Piece {
  return topicId === null ? null : html`<a href="${link(pathOf(topicId))}">${topicTitle ?? topicId}</a>`;
}

function partOf(
  id: string,
  heading: string,
  found: CompanyDetails['asked'],
  nothing: string,
  frame: Frame,
): Html {
  return part(id, heading, found, nothing, (all) => {
    const rows = all
      .slice(0, maxListed)
      .map(
        (one): Row => [
          html`<a href="${frame.link(pathOf(one.id))}">${one.title ?? one.id}</a>`,
          plainWord(one.priority),
          stateText(one),
          one.people,
          one.messages,
          frame.times.age(one.lastAt),
        ],
      );
    const columns = ['Topic', 'Priority', 'Lifecycle', 'People#', 'Messages#', 'Last message'];
    return html`${table(`${id}-table`, heading, columns, rows)}${notListed(all.length - rows.length)}`;
  });
}

function companyState({ company, money }: CompanyDetails, editing: Editing): Html {
  const { id, name, isVip, domain, people, deletedAt, nextId, nextName } = company;
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
  const gone =
    nextId !== null
      ? html`<p class="problem">It is part of <a href="${frame.link(`/companies/${encodeURIComponent(nextId)}`)}">${nextName ?? nextId}</a> now.</p>`
      : deletedAt &&
        html`<p class="problem">The API no longer has it: deleted ${frame.times.at(deletedAt)}.</p>`;
  const vip = drafted('is_vip')?.to ?? (isVip ? 'yes' : 'no');
  const answers = [['true', 'yes'] as const, ['false', 'no'] as const];
  const edit =
    token === null || gone !== null
      ? null
      : form(
          draftPath(frame, `/companies/${encodeURIComponent(id)}`),
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
    const box = html`${check('told', one.id, name, one.told !== null)}${hidden('listed', one.id)}`;
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
