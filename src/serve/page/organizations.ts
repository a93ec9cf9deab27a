import type { Iso } from '../../base/clock.js';
import { type Facts, firstPullText } from '../../base/facts.js';
import { count, counted } from '../../base/units.js';
import { html, type Tone } from '../../view/html.js';
import { Times } from '../../view/times.js';
import { ageOf, type View, type Words } from '../../view/view.js';
import { viewHtml } from '../../view/view-html.js';
import type { ScheduleView } from '../schedule/record.js';
import { type Attention, attention } from './attention.js';
import { servedDocument, type Visitor } from './document.js';
import { otherHolder } from './runs.js';

/** The page of all organizations of a service; `status --all` shows the same. */

/** From bad to good. */
const states = ['failing', 'no data', 'first pull', 'unknown', 'open points', 'well'] as const;
/** `first pull`: it was never complete; `unknown`: its warehouse was not read yet; `open points`: it works, and a person should decide or look. */
type OrganizationState = (typeof states)[number];

export interface OrganizationLine {
  readonly organization: string;
  readonly state: OrganizationState;
  /** The current activity; null for none. */
  readonly doing: 'running' | 'waiting' | null;
  readonly lastSuccessAt: Iso | null;
  /** Problems for a person to solve, the worst first. */
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
  const failing = lines.filter(({ state }) => state === 'failing').length;
  const title = `${failing > 0 ? `(${failing}) ` : ''}${counted(lines.length, 'organization')}`;
  const look = { times: new Times(now, 'UTC'), link: (path: string) => path };
  return servedDocument({
    title,
    refreshMs,
    heading: counted(lines.length, 'organization'),
    visitor,
    main: viewHtml(organizationsView(lines), look),
    footer: html`<p id="sizes">Signalhouse ${version}</p>
<p>For programs: <a href="/organizations.json">organizations.json</a>, <a href="/metrics">metrics</a></p>`,
  });
}

/** All organizations, the worst first, with what is wrong. */
export function organizationsView(lines: readonly OrganizationLine[]): View {
  const rows = worstFirst(lines).map(({ organization, state, doing, lastSuccessAt, problems }): Words[] => {
    const [first] = problems;
    const more = problems.length > 1 ? `and ${count(problems.length - 1)} more` : null;
    return [
      { path: `/o/${organization}/`, words: organization },
      [
        { badge: state, tone: tones[state] },
        doing && [' ', { badge: doing, tone: doing === 'running' ? 'busy' : 'quiet' }],
      ],
      ageOf(lastSuccessAt),
      first ? [`${first.title}: ${first.reason}`.replaceAll(/\s+/g, ' '), { note: more }] : null,
    ];
  });
  const failing = lines.filter(({ state }) => state === 'failing').length;
  const heading =
    failing > 0 ? `${counted(failing, 'organization')} of ${lines.length} failing` : 'The worst first';
  const columns = ['organization', 'state', 'last success', 'what is wrong'];
  return [{ id: 'organizations', heading, blocks: [{ columns, rows }] }];
}
