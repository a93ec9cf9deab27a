import { join } from 'node:path';
import { iso, millis, systemClock } from '../base/clock.js';
import { ExitCode, messageOf, type Problem, problemText } from '../base/errors.js';
import {
  type Facts,
  type Freshness,
  type FreshnessState,
  firstPullText,
  freshnessState,
} from '../base/facts.js';
import { isOverBound } from '../base/freshness-estimate.js';
import { tableWidth, terminalText } from '../cli/output.js';
import { forEach } from '../cli/perform.js';
import {
  type OrganizationLine,
  organizationLine,
  organizationsView,
  worstFirst,
} from '../serve/page/organizations.js';
import { statusView } from '../serve/page/status.js';
import { Agenda } from '../serve/schedule/agenda.js';
import type { Job } from '../serve/schedule/job.js';
import {
  type JobView,
  type ScheduleMemory,
  type ScheduleView,
  scheduleMemory,
} from '../serve/schedule/record.js';
import { fileStore } from '../serve/store.js';
import { Times } from '../view/times.js';
import type { View } from '../view/view.js';
import { all, command } from './command.js';
import { readFacts } from './facts.js';
import { eachOrganization, type Setup, setUp } from './setup.js';

export const status = command({
  examples: [
    ['signalhouse status', 'Works while a sync runs'],
    ['signalhouse status --all', 'Every organization, the worst first'],
    ['signalhouse status --json | jq .contents.rejected', 'Rejected records, as JSON'],
    ['signalhouse status > /dev/null || alert', 'Exit 3: stale, missing, incomplete'],
  ],
  input: { all },
  async run({ all: isAll }, context): Promise<StatusReport | OrganizationLine[]> {
    if (!isAll) return statusOf(await setUp(context));
    const { contexts } = await eachOrganization(context, { all: true, withKeys: false });
    const outcomes = await forEach(contexts, async (one) =>
      organizationStatus(await setUp(one), one.sources.organization ?? ''),
    );
    return worstFirst(
      outcomes.map(({ organization, report, error }) => report ?? unreadable(organization, error)),
    );
  },
  show: (found) =>
    Array.isArray(found)
      ? terminalText(organizationsView(found), tableWidth() ?? Number.POSITIVE_INFINITY)
      : shownStatus(found, Date.now()),
  exitCode(found) {
    if (!Array.isArray(found)) return found.exitCode;
    return found.every(isWell) ? ExitCode.done : ExitCode.incomplete;
  },
});

/** What `status` reports: the facts that the status page shows as well, with the jobs of `serve`. */
export interface StatusReport extends Facts {
  readonly freshness: readonly (Freshness & { readonly state: FreshnessState })[];
  /** The jobs of `serve` and their last runs; without jobs where it never ran. */
  readonly schedule: ScheduleView;
  readonly exitCode: ExitCode;
}

/** The last runs that `status` reports; the status page lists more. */
const shownRuns = 5;

/** The file in which `serve` remembers its runs. */
export function scheduleFile(dataDir: string): string {
  return join(dataDir, 'schedule.json');
}

/**
 * The state of the warehouse and of its runs. It writes nothing and waits for no lock. The exit code is `incomplete` when a
 * resource is older than its objective, or more of it is out of date than that allows; until the first pull was complete once;
 * and where nothing was ever published, unless a run is active: a mistyped folder or a lost volume must not look well.
 */
export async function statusOf(setup: Setup): Promise<StatusReport> {
  const now = (setup.clock ?? systemClock).now();
  const facts = await readFacts(setup);
  const freshness = facts.freshness.map((one) => ({ ...one, state: freshnessState(one, now) }));
  const { contents } = facts;
  const isMissed =
    contents === null
      ? facts.holder === null
      : freshness.some(({ state }) => state === 'stale' || state === 'never') ||
        firstPullText(contents) !== null ||
        contents.estimates.some(isOverBound);
  return {
    ...facts,
    contents: contents && { ...contents, runs: contents.runs.slice(0, shownRuns) },
    freshness,
    schedule: await scheduleOf(setup, now),
    exitCode: isMissed ? ExitCode.incomplete : ExitCode.done,
  };
}

/**
 * What `status --all` says of an organization, as the page of all of them does. Without `serve`, what is known of its runs is what
 * it published.
 */
async function organizationStatus(setup: Setup, organization: string): Promise<OrganizationLine> {
  const now = (setup.clock ?? systemClock).now();
  const schedule = await scheduleOf(setup, now);
  const known = await readFacts(setup).then(
    (facts) => ({ facts, problem: null }),
    (error: unknown) => ({ facts: null, problem: messageOf(error) }),
  );
  return organizationLine(organization, { ...known, schedule }, now);
}

/** The line of one whose settings cannot be read. */
function unreadable(
  organization: string,
  error: { readonly message: string; readonly problems: readonly Problem[] } | null,
): OrganizationLine {
  const reason = [error?.message, ...(error?.problems ?? []).map(problemText)].join(' ');
  const problem = { tone: 'bad', title: 'Its settings cannot be read', reason } as const;
  const problems = [{ ...problem, commands: ['signalhouse config check'] }];
  return { organization, state: 'failing', doing: null, lastSuccessAt: null, problems };
}

/** Whether it needs no attention: its data are there and fresh, and what ran last did not fail. */
export function isWell({ state, doing }: OrganizationLine): boolean {
  return state === 'well' || state === 'open points' || (state === 'no data' && doing === 'running');
}

/** What `serve` remembers, and when its jobs run next. */
async function scheduleOf({ config, log }: Setup, now: number): Promise<ScheduleView> {
  const memory = await fileStore(scheduleFile(config.dataDir), scheduleMemory, log).load();
  return {
    stopping: false,
    running: null,
    waiting: [],
    history: memory?.history ?? [],
    jobs: memory ? config.serve.jobs.map((job) => jobView(job, memory, now)) : [],
  };
}

function jobView(job: Job, { jobs, history }: ScheduleMemory, now: number): JobView {
  const agenda = new Agenda();
  const { handledDue, retryAt, unavailable, lastSuccessAt = null } = jobs[job.name] ?? {};
  const missed = agenda.begin(job, millis(handledDue), now);
  return {
    name: job.name,
    run: job.run,
    cron: job.cron,
    timezone: job.timezone,
    nextAt: iso(agenda.nextStart(job, now, millis(retryAt))),
    overdueSince: missed === null || job.catchUp === false ? null : iso(missed),
    unavailableSince: unavailable?.since ?? null,
    last: history.find((record) => record.job === job.name) ?? null,
    lastSuccessAt,
  };
}

/** The view of the command: the status page without the current activity. */
export function shownStatus(report: StatusReport, now: number): View {
  const { schedule, ...facts } = report;
  const look = { times: new Times(now, 'UTC'), link: (path: string) => path };
  return statusView({ facts, problem: null, schedule }, look);
}
