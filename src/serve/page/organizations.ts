import type { Iso } from '../../base/clock.js';
import { type Facts, firstPullText } from '../../base/facts.js';
import { counted } from '../../base/units.js';
import { badge, html, type Piece, type Row, section, type Tone, table } from '../../view/html.js';
import { Times } from '../../view/times.js';
import type { ScheduleView } from '../schedule/record.js';
import { type Attention, attention } from './attention.js';
import { servedDocument, type Visitor } from './document.js';
import { otherHolder } from './runs.js';

/** The page of all organizations of a service, and what it says of each: `status --all` says the same. */

/** From bad to good. */
const states = ['failing', 'no data', 'first pull', 'unknown', 'open points', 'well'] as const;
/** `first pull`: it was never complete; `unknown`: its warehouse was not read yet; `open points`: it works, and somebody should decide or look. */
type OrganizationState = (typeof states)[number];

export interface OrganizationLine {
  readonly organization: string;
  readonly state: OrganizationState;
  /** What it does now; null for nothing. */
  readonly doing: 'running' | 'waiting' | null;
  readonly lastSuccessAt: Iso | null;
  /** What a person should do, the worst first. */
  readonly problems: readonly Pick<Attention, 'tone' | 'title' | 'reason' | 'commands'>[];
}

interface Known {
  readonly facts: Facts | null;
  /** Why its settings or its warehouse cannot be read; null where they can. */
  readonly problem: string | null;
  readonly schedule: ScheduleView;
}

export function organizationLine(organization: string, known: Known, now: number): OrganizationLine {
  const { facts, problem, schedule } = known;
  const items = attention(known, new Times(now, 'UTC'), organization);
  const isBad = problem !== null || items.some(({ tone }) => tone === 'bad');
  const doing =
    schedule.running !== null || (facts !== null && otherHolder(facts) !== null)
      ? 'running'
      : schedule.waiting.length > 0
        ? 'waiting'
        : null;
  return {
    organization,
    state: isBad
      ? 'failing'
      : facts === null
        ? 'unknown'
        : facts.contents === null
          ? 'no data'
          : firstPullText(facts.contents) !== null
            ? 'first pull'
            : items.length > 0
              ? 'open points'
              : 'well',
    doing,
    lastSuccessAt: lastSuccess(facts, schedule),
    problems: items.map(({ tone, title, reason, commands }) => ({ tone, title, reason, commands })),
  };
}

/** When a run last succeeded, by a job or a command; without one, when data were published. */
function lastSuccess(facts: Facts | null, { jobs }: ScheduleView): Iso | null {
  const runs =
    facts?.contents?.runs.filter(({ outcome }) => outcome === 'done' || outcome === 'stopped') ?? [];
  const ends = [...jobs.map(({ lastSuccessAt }) => lastSuccessAt), ...runs.map((run) => run.ended_at)];
  const known = ends.filter((at) => at !== null);
  return known.length > 0 ? known.reduce((a, b) => (a > b ? a : b)) : (facts?.publishedAt ?? null);
}

/** The worst first; among equals, the one whose last success is longest ago. */
export function worstFirst(lines: readonly OrganizationLine[]): OrganizationLine[] {
  const rank = ({ state }: OrganizationLine) => states.indexOf(state);
  const last = ({ lastSuccessAt }: OrganizationLine) => lastSuccessAt ?? '';
  return lines.toSorted(
    (a, b) =>
      rank(a) - rank(b) || last(a).localeCompare(last(b)) || a.organization.localeCompare(b.organization),
  );
}

const tones: Readonly<Record<OrganizationState, Tone>> = {
  failing: 'bad',
  'no data': 'warn',
  'first pull': 'warn',
  unknown: 'quiet',
  'open points': 'warn',
  well: 'good',
};

export interface OrganizationsContent {
  readonly lines: readonly OrganizationLine[];
  readonly version: string;
  readonly now: number;
  readonly refreshMs: number;
  readonly visitor: Visitor | null;
}

/** All organizations, each with its state, its last success and what is wrong. */
export function organizationsPage({ lines, version, now, refreshMs, visitor }: OrganizationsContent): string {
  const times = new Times(now, 'UTC');
  const rows = worstFirst(lines).map((line): Row => {
    const { organization, state, doing, lastSuccessAt } = line;
    const busy = doing && html` ${badge(doing === 'running' ? 'busy' : 'quiet', doing)}`;
    const name = html`<a href="/o/${organization}/">${organization}</a>`;
    return [name, html`${badge(tones[state], state)}${busy}`, times.since(lastSuccessAt), wrong(line)];
  });
  const failing = lines.filter(({ state }) => state === 'failing').length;
  const title = `${failing > 0 ? `(${failing}) ` : ''}${counted(lines.length, 'organization')}`;
  const found = table(
    'organizations-table',
    'Organizations, the worst first',
    ['Organization', 'State', 'Last success', 'What is wrong'],
    rows,
  );
  const heading =
    failing > 0 ? `${counted(failing, 'organization')} of ${lines.length} failing` : 'The worst first';
  return servedDocument({
    title,
    refreshMs,
    heading: counted(lines.length, 'organization'),
    visitor,
    main: section('organizations', heading, found),
    footer: html`<p id="sizes">Signalhouse ${version}</p>
<p>For programs: <a href="/organizations.json">organizations.json</a>, <a href="/metrics">metrics</a></p>`,
  });
}

function wrong({ problems }: OrganizationLine): Piece {
  const [first] = problems;
  if (first === undefined) return html`<span class="quiet none">-</span>`;
  const more = problems.length > 1 ? html` <span class="quiet">and ${problems.length - 1} more</span>` : null;
  return html`<strong>${first.title}</strong> <span class="message" title="${first.reason}">${first.reason}</span>${more}`;
}
