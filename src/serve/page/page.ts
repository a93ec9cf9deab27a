import { canonicalZone } from '../../base/clock.js';
import { type Contents, type Facts, freshnessState, type RunDetails } from '../../base/facts.js';
import { bytes, count, counted } from '../../base/units.js';
import { type Html, html, type Piece, type Tone } from '../../view/html.js';
import { Times } from '../../view/times.js';
import { viewHtml } from '../../view/view-html.js';
import type { ScheduleView } from '../schedule/record.js';
import { activity } from './activity.js';
import { type Attention, attention } from './attention.js';
import { durationsChart } from './charts.js';
import { servedDocument, type Visitor } from './document.js';
import { runDetails } from './run-details.js';
import { allRuns, otherHolder, type RunLine, runsTable } from './runs.js';
import { statusView } from './status.js';

export interface PageContent {
  /** Null until they were read for the first time. */
  readonly facts: Facts | null;
  /** Why the last read of the facts failed; null when it succeeded. */
  readonly problem: string | null;
  readonly schedule: ScheduleView;
  readonly version: string;
  readonly now: number;
  /** How often the page refreshes itself. */
  readonly refreshMs: number;
  /** Whether /report shows the report. */
  readonly hasReport: boolean;
  /** Whether there are pages about topics. */
  readonly hasTopics?: boolean;
  /** Its name in the settings, and where its pages are, where the service has several organizations. */
  readonly organization?: { readonly name: string; readonly base: string } | undefined;
  /** The reader; null where no login is needed. */
  readonly visitor?: Visitor | null;
  /** The query of the page's address: `zone` is the time zone that the reader chose; one that does not exist counts as none. */
  readonly query?: Readonly<Record<string, unknown>>;
}

export type { Person, Visitor } from './document.js';

/** Needed by every page in addition to its content. */
export interface Frame {
  readonly content: PageContent;
  readonly times: Times;
  /** A path that keeps the chosen time zone. */
  readonly keep: (path: string) => string;
  /** The same as a link: where the page of the organization is. */
  readonly link: (path: string) => string;
  readonly path: string;
}

export function frameOf(content: PageContent, path: string): Frame {
  const { schedule, now, query } = content;
  const zone = query?.zone;
  // There are thousands of ways to write each zone, and the format of each name is cached.
  const chosen = typeof zone === 'string' ? canonicalZone(zone) : undefined;
  const keep = (to: string) =>
    chosen === undefined ? to : `${to}${to.includes('?') ? '&' : '?'}zone=${encodeURIComponent(chosen)}`;
  const link = (to: string) => (content.organization?.base ?? '') + keep(to);
  return { content, times: new Times(now, chosen ?? zonesOf(schedule)[0] ?? 'UTC'), keep, link, path };
}

/** The time zones of the jobs, and UTC. Times are shown in the first unless the reader chooses another. */
function zonesOf({ jobs }: ScheduleView): string[] {
  const zones = jobs.flatMap(({ timezone }) => canonicalZone(timezone) ?? []);
  return [...new Set([...zones, 'UTC'])];
}

/**
 * The status page: is it healthy, what is it doing, what should I do? It works without a script. assets/live.js fetches
 * it again and changes only what differs. Sections without content are left out.
 */
export function statusPage(content: PageContent): string {
  const frame = frameOf(content, '/');
  const { facts, schedule, organization } = content;
  const items = attention(content, frame.times, organization?.name);
  return page(frame, {
    title: `${items.length > 0 ? `(${items.length}) ` : ''}${organizationName(content)}`,
    heading: organizationName(content),
    main: html`${answers(frame, items, allRuns(facts, schedule))}
${viewHtml(statusView(content, frame, organization?.name), frame)}`,
  });
}

function organizationName({ organization: named, facts }: PageContent): string {
  const organization = facts?.contents?.organization;
  return named?.name ?? organization?.name ?? organization?.id ?? 'Signalhouse';
}

/** The three questions, each with its answer. */
function answers({ content, times }: Frame, items: readonly Attention[], runs: readonly RunLine[]): Html {
  const { facts, schedule } = content;
  const [tone, answer] = health(facts, items);
  const [doing, detail] = activity(schedule, facts, times);
  const isBusy = schedule.running !== null || otherHolder(facts) !== null;
  const [first] = items;
  const more = items.length > 1 ? ` and ${count(items.length - 1)} more` : '';
  const now = html`<span id="state" role="status" aria-live="polite">${doing}</span>`;
  const tile = (kind: Tone, question: string, ...[short, long]: [Piece, Piece]) =>
    html`<div class="answer ${kind}"><h2>${question}</h2><p class="short">${short}</p><p class="long">${long}</p></div>\n`;
  return html`<div id="answers" class="answers">
${tile(tone, 'Is it healthy?', answer, evidence(facts, runs, times))}${tile(isBusy ? 'busy' : 'quiet', 'What is it doing?', now, detail)}${
  first === undefined
    ? tile(
        facts === null ? 'quiet' : 'good',
        'What should I do?',
        'Nothing',
        'There is nothing to decide or to fix.',
      )
    : tile(
        first.tone,
        'What should I do?',
        counted(items.length, 'thing'),
        html`<a href="#attention">${first.title}${more}</a>`,
      )
}</div>`;
}

function health(facts: Facts | null, items: readonly Attention[]): [Tone, string] {
  if (items.some(({ tone }) => tone === 'bad')) return ['bad', 'No'];
  if (facts === null) return ['quiet', 'Starting'];
  if (facts.contents === null) return ['quiet', 'Not known yet'];
  return items.length > 0 ? ['warn', 'Yes, with open points'] : ['good', 'Yes'];
}

/** The evidence for the answer. */
function evidence(facts: Facts | null, runs: readonly RunLine[], times: Times): Piece {
  if (facts === null) return 'The warehouse has not been read yet.';
  if (facts.contents === null) return 'Nothing is published yet.';
  const wanted = facts.freshness.filter((one) => freshnessState(one, times.now) !== 'open');
  const fresh = wanted.filter((one) => freshnessState(one, times.now) === 'fresh');
  const lists =
    wanted.length === 0 ? '' : `${count(fresh.length)} of ${counted(wanted.length, 'list')} fresh; `;
  const last = runs.find(
    ({ command, endedAt, outcome }) => command === 'sync' && endedAt !== null && outcome !== 'skipped',
  );
  return last === undefined
    ? html`${lists}published ${times.since(facts.publishedAt)}`
    : html`${lists}last sync ${last.outcome} ${times.since(last.endedAt)}`;
}

export function runsPage(content: PageContent): string {
  const frame = frameOf(content, '/runs');
  const runs = allRuns(content.facts, content.schedule);
  const chart = durationsChart(runs, frame.times);
  const blocks = [...(chart ? [chart] : []), runsTable(runs)];
  const main = viewHtml([{ id: 'runs', heading: 'Duration of the last 30', blocks }], frame);
  return page(frame, { title: 'Runs', heading: 'Runs', main });
}

export function runPage(content: PageContent, run: RunDetails): string {
  const frame = frameOf(content, '/runs');
  const line = allRuns(content.facts, content.schedule).find(({ id }) => id === run.run_id) ?? null;
  const name = line?.job == null ? run.command : `${line.job}: ${run.command}`;
  return page(frame, {
    title: name,
    heading: html`${name}`,
    main: viewHtml(runDetails(run, line, content.version), frame),
  });
}

interface Document {
  /** Whether it keeps itself up to date; true by default. */
  readonly isLive?: boolean;
  /** A file of assets that makes it easier to use. */
  readonly script?: 'topics.js' | undefined;
  readonly title: string;
  readonly heading: Piece;
  readonly main: Html;
}

/** A page with the header and the footer that all have. */
export function page(
  { content, times, link, path }: Frame,
  { title, heading, main, script, isLive = true }: Document,
): string {
  const {
    facts,
    schedule,
    version,
    refreshMs,
    hasReport,
    hasTopics = false,
    organization,
    visitor = null,
  } = content;
  const base = organization?.base ?? '';
  const home = organization === undefined ? null : html`<a href="/">All organizations</a>`;
  const places = [
    ...(hasTopics ? [['/topics', 'Topics'] as const] : []),
    ...(hasReport ? [['/report', 'Report for people'] as const] : []),
    ...(visitor ? [['/sheets', 'Sheets'] as const] : []),
  ].filter(([to]) => to !== path);
  const up = path === '/' ? home : html`<a href="${link('/')}">${organizationName(content)}</a>`;
  const zones = [...new Set([...zonesOf(schedule), times.zone])].map((zone) => {
    const current = zone === times.zone ? html` aria-current="true"` : null;
    return html`<li><a href="${inZone(content.query, zone)}"${current}>${zone}</a></li>`;
  });
  return servedDocument({
    title,
    refreshMs: isLive ? refreshMs : null,
    script,
    heading,
    above: up && html`<p class="back">${up}</p>`,
    below: html`<p><span id="published">${published(facts, times)}</span>${places.map(([to, name]) => html` · <a href="${base}${to}">${name}</a>`)}</p>`,
    visitor,
    aside: html`<nav aria-label="Time zone"><span>Times in</span><ul id="zones">${zones}</ul></nav>`,
    main,
    footer: html`<p id="sizes">Signalhouse ${version}${facts?.contents ? ` · ${sizes({ files: facts.files, rows: facts.contents.rows })}` : null}</p>
<p>For programs: <a href="${base}/status.json">status.json</a>, <a href="/metrics">metrics</a></p>`,
  });
}

/** The same page with its times in a zone. */
function inZone(query: PageContent['query'], zone: string): string {
  const all = Object.entries({ ...query, zone }).filter(
    (one): one is [string, string] => typeof one[1] === 'string',
  );
  return `?${new URLSearchParams(all)}`;
}

function published(facts: Facts | null, times: Times): Html {
  if (!facts?.publishedAt) return html`Nothing published yet`;
  return html`Data published ${times.since(facts.publishedAt)}`;
}

/** The warehouse in one line. */
function sizes({ files, rows }: Pick<Facts, 'files'> & { rows: Contents['rows'] }): string {
  const size = (file: Facts['files'][keyof Facts['files']]) => (file === null ? 'none' : bytes(file.bytes));
  const total = Object.values(rows).reduce((sum, number) => sum + number, 0);
  return `${counted(total, 'row')} in ${counted(Object.keys(rows).length, 'table')}; published file ${size(files.published)}, live file ${size(files.worker)}`;
}
