import { groupBy } from '../base/group-by.js';
import { count, counted, plainWord } from '../base/units.js';
import { urgentFirst } from '../contract/topics.js';
import { bars, groupColumns, weeklyColumns } from '../view/charts.js';
import { type Html, html, linked, type Piece, quiet } from '../view/html.js';
import {
  day,
  everyWeek,
  figure,
  monthName,
  most,
  shownOf,
  titled as table,
  wait,
  weeklyTable,
} from './elements.js';
import type { ReportData } from './read.js';

export interface Section {
  readonly id: string;
  readonly heading: string;
  readonly content: Piece;
}

const nothingYet: Section = {
  id: 'nothing',
  heading: 'No data yet',
  content: html`<p>The published file has no topics, messages or histories yet. Run <code>signalhouse sync</code>, then make
the report again.</p>`,
};

/** A text that leads to a page about topics or companies, where a service has these; otherwise the text alone. */
export type PageLink = (text: string, path: string) => Piece;

const topicPath = (id: string | null) => `/topics/${encodeURIComponent(id ?? '')}`;

export function sectionsOf(data: ReportData, link: PageLink): Section[] {
  if (data.header.as_of === null) return [nothingYet];
  const since = day(data.header.since);
  return [
    { id: 'summary', heading: 'In short', content: summary(data) },
    { id: 'backlog', heading: 'The backlog', content: backlog(data, link) },
    { id: 'growing', heading: 'What grew', content: growing(data, link) },
    { id: 'waiting', heading: 'Who is waiting', content: waiting(data) },
    { id: 'service-levels', heading: 'Replies as promised', content: serviceLevels(data) },
    { id: 'companies', heading: 'Companies at risk', content: companies(data, link) },
    { id: 'duplicates', heading: 'Probably the same', content: duplicates(data, link) },
    { id: 'sources', heading: 'Where people write', content: sources(data) },
    { id: 'changes', heading: `What changed since ${since}`, content: changes(data, link) },
    { id: 'pushed', heading: `What was pushed since ${since}`, content: pushed(data) },
  ];
}

function summary({ header, totals, growing, companies, pushed }: ReportData): Html {
  const applied = pushed.find(({ status }) => status === 'applied')?.changes ?? 0;
  const tile = (href: string, value: number, [one, many]: readonly [string, string], detail: string) =>
    html`<li><a href="#${href}"><strong>${count(value)}</strong> ${value === 1 ? one : many}</a><span>${detail}</span></li>`;
  const urgent = `${count(totals.urgent_topics)} with priority high or very high`;
  const messages = `${counted(totals.messages, 'message')} in 7 days, ${count(totals.messages_before)} in the 7 before`;
  const median = totals.median_hours === null ? '' : `; for ${wait(totals.median_hours)} in the median`;
  const vips = `${count(totals.waiting_vip)} with a VIP${median}`;
  return html`<ul class="tiles">${[
    tile('backlog', totals.open_topics, ['open topic', 'open topics'], urgent),
    tile('growing', growing[0]?.found ?? 0, ['topic grew', 'topics grew'], messages),
    tile('waiting', totals.waiting, ['conversation waits', 'conversations wait'], vips),
    tile(
      'companies',
      companies[0]?.found ?? 0,
      ['company at risk', 'companies at risk'],
      `of ${counted(totals.companies, 'company', 'companies')}`,
    ),
    tile('pushed', applied, ['change pushed', 'changes pushed'], `since ${day(header.since)}`),
  ]}</ul>`;
}

function backlog(data: ReportData, link: PageLink): Html {
  const { backlogWeeks: rows, totals, header } = data;
  if (rows.length === 0 && totals.open_topics === 0) return quiet('No topic is open.');
  const sum = (of: 'new' | 'reopened' | 'closed') => rows.reduce((all, row) => all + row[of], 0);
  const weeks = everyWeek(rows, header.as_of);
  const open = link(counted(totals.open_topics, 'topic'), '/topics');
  const lead = html`${open} ${totals.open_topics === 1 ? 'is' : 'are'} open, ${count(totals.urgent_topics)} with priority high or very high. In ${counted(weeks.length, 'week')}: ${count(sum('new'))} new, ${count(sum('reopened'))} opened again, ${count(sum('closed'))} closed. The state unknown is that of topics that were not assessed, or could not be.`;
  return html`<p>${lead}</p>${backlogOver(
    'Open topics at the end of each week, by priority',
    weeks,
    [...urgentFirst, null].map((priority) => ({
      name: plainWord(priority),
      color: priorityColors[priority ?? 'none'] ?? 's6',
      rows: rows.filter((row) => row.priority === priority),
    })),
  )}${backlogOver(
    'Open topics at the end of each week, by state',
    weeks,
    statesOf(rows).map((state, index) => ({
      name: plainWord(state),
      color: stateColors[state] ?? colorAt(index + 3),
      rows: rows.filter((row) => row.state === state),
    })),
  )}${backlogNow(data)}`;
}

/** The backlog over time: a stack for each week. */
function backlogOver(
  title: string,
  weeks: readonly string[],
  parts: readonly {
    readonly name: string;
    readonly color: string;
    readonly rows: ReportData['backlogWeeks'];
  }[],
): Html | null {
  const series = parts
    .map(({ name, color, rows }) => ({
      name,
      color,
      values: weeks.map((week) =>
        rows.filter((row) => row.week === week).reduce((sum, { open }) => sum + open, 0),
      ),
    }))
    .filter(({ values }) => values.some((value) => value > 0));
  if (series.length === 0) return null;
  return html`<h3>${title}</h3>${figure({
    chart: weeklyColumns(title, weeks, series),
    series,
    table: weeklyTable(title, weeks, series),
  })}`;
}

function statesOf(rows: readonly { readonly state: string }[]): string[] {
  return [...new Set(rows.map(({ state }) => state))].sort((a, b) => stateRank(a) - stateRank(b));
}

function backlogNow({ backlog: rows }: ReportData): Html | null {
  if (rows.length === 0) return null;
  const states = statesOf(rows);
  const shown = [...urgentFirst, null].filter((one) => rows.some(({ priority }) => priority === one));
  const topics = (one: string | null, state: string) =>
    rows.find((row) => row.priority === one && row.state === state)?.topics ?? 0;
  const series = states.map((state, index) => ({
    name: plainWord(state),
    color: stateColors[state] ?? colorAt(index + 3),
    values: shown.map((one) => topics(one, state)),
  }));
  const total = (one: string | null) => states.reduce((sum, state) => sum + topics(one, state), 0);
  return html`<h3>Open topics now, by priority and state</h3>${figure({
    chart: groupColumns('Open topics by priority and state', shown.map(plainWord), series),
    series,
    table: table(
      'Open topics by priority and state',
      ['priority', ...states.map((state) => `${plainWord(state)}#`), 'all#'],
      shown.map((one) => [plainWord(one), ...states.map((state) => topics(one, state)), total(one)]),
    ),
  })}`;
}

function growing({ growing: rows }: ReportData, link: PageLink): Html {
  const [first] = rows;
  if (!first) return quiet('No open topic got more messages in the last 7 days than in the 7 days before.');
  return figure({
    lead: html`${link(counted(first.found, 'open topic'), '/topics?growing=1')} got more messages in the last 7 days than in the 7 days before. ${most(rows, 'The ten that grew most:')}`,
    chart: bars(
      'How many messages more than before the topics got that grew most',
      rows.map(({ title, topic_id, messages, before, momentum }) => ({
        label: title ?? topic_id,
        parts: [{ value: momentum, color: 'accent' }],
        note: `+${count(momentum)} (${count(messages)}, was ${count(before)})`,
      })),
    ),
    table: table(
      'Topics that grew most, by messages from outside',
      ['topic', 'priority', 'last 7 days#', '7 days before#', 'more#', 'companies#'],
      rows.map((row) => [
        link(row.title ?? row.topic_id, topicPath(row.topic_id)),
        plainWord(row.priority),
        row.messages,
        row.before,
        row.momentum,
        row.companies,
      ]),
    ),
  });
}

const buckets = ['< 1 day', '1–3 days', '3–7 days', '1–4 weeks', '1–3 months', 'longer'] as const;

const definitions =
  'Staff are the people that the API marks as such, or who belong to your own company. A conversation waits when the last message is from outside staff; bots and internal notes do not count. It is with a VIP when the API marks one of the people who wait, or their company, as VIP.';

function waiting(data: ReportData): Html {
  const { waiting: rows, longestWaiting, totals } = data;
  if (totals.waiting === 0) return html`${quiet('No conversation waits for a reply.')}${responseTimes(data)}`;
  const of = (index: number) =>
    rows.find(({ bucket }) => bucket === index + 1) ?? { bucket: 0, vip: 0, others: 0 };
  const series = [
    { name: 'a VIP waits', color: 'bad-fill', values: buckets.map((_, index) => of(index).vip) },
    { name: 'others', color: 'accent', values: buckets.map((_, index) => of(index).others) },
  ];
  return html`${figure({
    lead: `${counted(totals.waiting, 'conversation')} ${totals.waiting === 1 ? 'waits' : 'wait'} for a reply from staff, ${count(totals.waiting_vip)} of them with a VIP. In ${count(totals.waiting_again)}, staff answered before, and a customer wrote again. ${definitions}`,
    chart: groupColumns('Waiting conversations by how long they wait', buckets, series),
    series,
    table: table(
      'Waiting conversations by how long they wait',
      ['for', 'with a VIP#', 'others#', 'all#'],
      buckets.map((name, index) => [name, of(index).vip, of(index).others, of(index).vip + of(index).others]),
    ),
  })}${table(
    `VIPs and urgent topics first, then the longest wait${shownOf(longestWaiting)}`,
    ['conversation', 'last message by', 'VIP', 'priority', 'waits', 'answered before', 'source'],
    longestWaiting.map((row) => [
      linked(row.title ?? `Conversation of ${day(row.last_message_at)}`, row.url),
      row.name,
      row.is_vip ? 'VIP' : '',
      plainWord(row.priority),
      wait(row.hours),
      row.was_answered_before ? 'yes' : 'never',
      row.source,
    ]),
  )}${responseTimes(data)}`;
}

function responseTimes({ responseTimes: rows, totals }: ReportData): Html | null {
  if (!rows.some(({ answered }) => answered > 0)) return null;
  const title = 'Median time until staff replied, by month of the question';
  const left =
    totals.waiting === 0
      ? ''
      : ` The ${counted(totals.waiting, 'conversation')} that still ${totals.waiting === 1 ? 'waits' : 'wait'}, for ${wait(totals.median_hours ?? 0)} in the median, ${totals.waiting === 1 ? 'counts' : 'count'} in none of these times.`;
  return html`<h3>${title}</h3>${figure({
    lead: `Of the questions that were answered.${left}`,
    chart: groupColumns(
      title,
      rows.map(({ month }) => monthName(month).replace(/ \d+$/, '')),
      [{ name: 'hours', color: 'accent', values: rows.map(({ median_hours: hours }) => hours ?? 0) }],
      (hours) => (hours === 0 ? 'none' : wait(hours)),
    ),
    table: table(
      'Time until staff replied, by month of the question',
      ['month', 'questions#', 'answered#', 'median', '90 % within'],
      rows.map((row) => [
        monthName(row.month),
        row.questions,
        row.answered,
        row.median_hours === null ? null : wait(row.median_hours),
        row.p90_hours === null ? null : wait(row.p90_hours),
      ]),
    ),
  })}`;
}

function serviceLevels({
  header,
  totals,
  serviceLevels: rows,
  serviceLevelPeople: people,
}: ReportData): Html {
  if (totals.service_levels === 0)
    return quiet(
      'No service level is set (analysis.serviceLevels): nothing is promised, and nothing can be late.',
    );
  if (rows.length === 0) return quiet('No question of the last 26 weeks falls under a service level.');
  const weeks = everyWeek(rows, header.as_of);
  const sum = (of: typeof rows, what: 'in_time' | 'late' | 'waiting') =>
    of.reduce((all, row) => all + row[what], 0);
  const weekly = (what: 'in_time' | 'late') =>
    weeks.map((at) =>
      sum(
        rows.filter(({ week }) => week === at),
        what,
      ),
    );
  const series = [
    { name: 'in time', color: 'accent', values: weekly('in_time') },
    { name: 'late', color: 'bad-fill', values: weekly('late') },
  ];
  const [all, late, waiting] = [
    sum(rows, 'in_time') + sum(rows, 'late'),
    sum(rows, 'late'),
    sum(rows, 'waiting'),
  ];
  const still = waiting === 0 ? '' : ` ${counted(waiting, 'of them still waits', 'of them still wait')}.`;
  const title = 'Questions by week, and whether they were answered in the time that we promise';
  const share = (one: number, of: number) => (of === 0 ? '' : `${Math.round((100 * one) / of)} %`);
  const shares = (name: string, of: readonly (readonly [string, number, number])[]) =>
    of.length === 0
      ? null
      : table(
          `Late by ${name}`,
          [name, 'questions#', 'late#', 'late, %#'],
          of.map(([one, questions, breached]) => [one, questions, breached, share(breached, questions)]),
        );
  const levels = [...groupBy(rows, (row) => row.service_level)].map(
    ([name, of]) => [name, sum(of, 'in_time') + sum(of, 'late'), sum(of, 'late')] as const,
  );
  const answered = (isTeam: boolean) =>
    people
      .filter((one) => one.is_team === isTeam)
      .map(({ name, answers, late: breached }) => [name, answers, breached] as const);
  return html`${figure({
    lead: `${counted(late, 'question')} of ${count(all)} in ${counted(weeks.length, 'week')} waited longer than we promise (${share(late, all)}).${still}`,
    chart: weeklyColumns(title, weeks, series),
    series,
    table: weeklyTable(title, weeks, series),
  })}${shares('service level', levels)}${shares('team', answered(true))}${shares('who replied', answered(false))}`;
}

function companies({ companies: rows }: ReportData, link: PageLink): Html {
  const [first] = rows;
  if (!first)
    return quiet(
      'No company writes much less than before while something of theirs is open, and no VIP waits for a reply.',
    );
  const { found, leaving } = first;
  const vips = found - leaving;
  const lead = [
    ...(leaving > 0
      ? [
          `${counted(leaving, 'company', 'companies')} ${leaving === 1 ? 'writes' : 'write'} much less than before, or no longer, while something of theirs is open.`,
        ]
      : []),
    ...(vips > 0
      ? [
          `${counted(vips, 'VIP')} ${vips === 1 ? 'writes' : 'write'} as much as before or more, and ${vips === 1 ? 'waits' : 'wait'} for a reply.`,
        ]
      : []),
    most(rows, 'The most important ones:'),
  ];
  return figure({
    lead: lead.join(' '),
    chart: bars(
      'Messages of companies at risk',
      rows.map(({ name, company_id, is_vip, messages, before, ...row }) => ({
        label: `${name ?? company_id}${is_vip ? ' (VIP)' : ''}`,
        parts: [
          { value: messages, color: 'accent' },
          { value: Math.max(0, before - messages), color: 'lost' },
        ],
        note: riskOf({ messages, before, ...row }),
      })),
    ),
    series: [
      { name: 'messages in the last 28 days', color: 'accent' },
      { name: 'fewer than in the 28 days before', color: 'lost' },
    ],
    table: table(
      'Companies at risk',
      ['company', 'VIP', 'why', 'last 28 days#', '28 days before#', 'open topics#', 'urgent#', 'waiting#'],
      rows.map((row) => [
        link(row.name ?? row.company_id, `/companies/${encodeURIComponent(row.company_id)}`),
        row.is_vip ? 'VIP' : '',
        riskOf(row),
        row.messages,
        row.before,
        row.open_topics,
        row.urgent_topics,
        row.waiting,
      ]),
    ),
  });
}

/** Why a company is listed; one that waits and does not write less is there because it is a VIP. */
function riskOf({
  trend,
  messages,
  before,
  days_silent,
  waiting,
}: Pick<
  ReportData['companies'][number],
  'trend' | 'messages' | 'before' | 'days_silent' | 'waiting'
>): string {
  const waits = waiting > 0 ? [`${count(waiting)} waiting`] : [];
  const why = {
    silent: `silent for ${counted(Math.floor(days_silent ?? 0), 'day')}`,
    fading: `${count(messages)}, was ${count(before)}`,
    growing: `grew: ${count(messages)}, was ${count(before)}`,
    new: `new: ${count(messages)}`,
  }[trend];
  return [why ?? `${count(messages)}, was ${count(before)}`, ...waits].join('; ');
}

function duplicates({ duplicates: rows }: ReportData, pageLink: PageLink): Html {
  const parts = (['topic', 'person'] as const).flatMap((entityType) => {
    const own = rows.filter((row) => row.entity_type === entityType);
    const [first] = own;
    if (!first) return [];
    const plural = entityType === 'topic' ? 'topics' : 'people';
    const lead = `${counted(first.found, 'pair')} of ${plural} may be the same. ${first.measured}`;
    if (first.found === 0) return [quiet(`No two ${plural} are probably the same. ${first.measured}`)];
    const link = (id: string | null, name: string | null) =>
      entityType === 'topic' ? pageLink(name ?? id ?? '', topicPath(id)) : (name ?? id);
    return [
      html`<p>${lead}</p>${table(
        `The most probable pairs of ${plural}${shownOf(own)}`,
        ['the two', 'score', 'why'],
        own.map((row) => [
          html`${link(row.id_1, row.name_1)}<br>${link(row.id_2, row.name_2)}`,
          row.score?.toFixed(2) ?? '',
          html`<span class="wraps">${(row.reasons ?? []).filter(Boolean).join('; ')}</span>`,
        ]),
      )}`,
    ];
  });
  return html`${parts.length === 0 ? quiet('There are no topics and no people yet.') : parts}`;
}

/** A source of its own colour each; what is beyond them is one series. */
const maxSources = 6;

function sources({ header, sources: rows }: ReportData): Html {
  if (rows.length === 0) return quiet('There are no messages from outside in the last 26 weeks.');
  const named = rows.map((row) => ({ ...row, source: row.source ?? 'unknown' }));
  const sum = (of: typeof named) => of.reduce((total, { messages }) => total + messages, 0);
  const totals = new Map(
    [...groupBy(named, ({ source }) => source)].map(([source, of]) => [source, sum(of)]),
  );
  const names = [...totals].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const own = names.length > maxSources ? names.slice(0, maxSources - 1) : names;
  const weeks = everyWeek(rows, header.as_of);
  const seriesOf = (name: string, index: number, isOf: (source: string) => boolean) => ({
    name,
    color: colorAt(index),
    values: weeks.map((at) => sum(named.filter(({ week, source }) => week === at && isOf(source)))),
  });
  const series = own.map((name, index) => seriesOf(name, index, (source) => source === name));
  if (own.length < names.length)
    series.push(seriesOf('all others', own.length, (source) => !own.includes(source)));
  const all = sum(named);
  const [largest] = names;
  return figure({
    lead: `${counted(all, 'message')} from outside in ${counted(weeks.length, 'week')}; ${Math.round((100 * (totals.get(largest ?? '') ?? 0)) / all)} % of them by ${largest}. The last week may not be over.`,
    chart: weeklyColumns('Messages from outside by week and source', weeks, series),
    series,
    table: weeklyTable('Messages from outside by week and source', weeks, series),
  });
}

/** A bar for each count, with a table of the same. */
function countsFigure(
  title: string,
  columns: readonly [name: string, number: string],
  counts: readonly (readonly [label: string, times: number, color: string])[],
): Html {
  const rows = counts.map(([label, value, color]) => {
    return { label, parts: [{ value, color }], note: count(value) };
  });
  return figure({
    chart: bars(title, rows),
    table: table(
      title,
      columns,
      counts.map(([label, times]) => [label, times]),
    ),
  });
}

function changes({ changes: rows, latestChanges }: ReportData, link: PageLink): Html {
  if (!rows.some(({ times }) => times > 0)) return quiet('Nothing changed.');
  const chart = countsFigure(
    'How often what happened',
    ['what', 'times#'],
    rows.map(({ what, times }) => [what, times, 'accent']),
  );
  if (latestChanges.length === 0) return chart;
  return html`${chart}${table(
    `The latest changes of priority and state${shownOf(latestChanges)}`,
    ['topic', 'what', 'from', 'to', 'by', 'on'],
    latestChanges.map((row) => [
      link(row.title ?? row.topic_id, topicPath(row.topic_id)),
      row.field,
      plainWord(row.before),
      plainWord(row.after),
      row.changed_by,
      day(row.changed_at),
    ]),
  )}`;
}

const statusColors: Readonly<Record<string, string>> = {
  applied: 'good-fill',
  conflict: 'bad-fill',
  failed: 'bad-fill',
};

function pushed({ pushed: rows, latestPushed }: ReportData): Html {
  if (rows.length === 0)
    return html`<p class="quiet">No changes were queued or pushed. <code>signalhouse changes sheet</code> writes a spreadsheet
to edit.</p>`;
  return html`${countsFigure(
    'Changes by status',
    ['status', 'changes#'],
    rows.map(({ status, changes: times }) => [plainWord(status), times, statusColors[status] ?? 'accent']),
  )}${table(
    `The latest changes${shownOf(latestPushed)}`,
    ['topic or company', 'what', 'from', 'to', 'status', 'by', 'on'],
    latestPushed.map((row) => [
      row.title ?? row.entity_id,
      plainWord(row.field),
      plainWord(row.before),
      plainWord(row.after),
      row.error === null ? plainWord(row.status) : `${plainWord(row.status)}: ${row.error}`,
      row.requested_by,
      day(row.changed_at),
    ]),
  )}`;
}

const stateOrder = ['open', 'in_progress', 'unknown', 'completed', 'dismissed'];

const stateColors: Readonly<Record<string, string>> = {
  open: 'accent',
  in_progress: 's2',
  unknown: 'before',
};

/** From urgent to not, as brightness: the order can be seen without telling colours apart. */
const priorityColors: Readonly<Record<string, string>> = {
  very_high: 'p1',
  high: 'p2',
  default: 'p3',
  low: 'p4',
  very_low: 'p5',
  none: 's6',
};

function stateRank(state: string): number {
  const at = stateOrder.indexOf(state);
  return at === -1 ? stateOrder.length : at;
}

function colorAt(index: number): string {
  return `s${(index % maxSources) + 1}`;
}
