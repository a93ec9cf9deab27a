import {
  type Contents,
  type Facts,
  type Freshness,
  firstPullText,
  freshnessState,
  leftDue,
  spendingText,
} from '../../base/facts.js';
import { estimateText, isOverBound } from '../../base/freshness-estimate.js';
import { bytes, count, counted, duration } from '../../base/units.js';
import { shareBar } from '../../view/charts.js';
import { costText, driftText, failingText } from '../../view/run.js';
import { ageOf, clockOf, counts, type Fact, type Section, type View, type Words } from '../../view/view.js';
import type { Look } from '../../view/view-html.js';
import type { ScheduleView } from '../schedule/record.js';
import { jobsTable, nowList } from './activity.js';
import { attention } from './attention.js';
import { ageShare, durationsChart, requestsChart } from './charts.js';
import { allRuns, otherHolder, runsTable } from './runs.js';

export interface Known {
  /** Null until they were read for the first time. */
  readonly facts: Facts | null;
  /** Why they cannot be read; null when they can. */
  readonly problem: string | null;
  readonly schedule: ScheduleView;
}

/** How many runs a status lists; /runs lists all that are known. */
const shownRuns = 12;

/** Stored rows, their freshness, and problems: the view of the command `status` and of the status page. */
export function statusView(known: Known, look: Look, organization?: string): View {
  const { facts, schedule } = known;
  const { times } = look;
  const listed = new Set(facts?.contents?.runs.map(({ run_id: id }) => id));
  const todo = attention(known, times, organization).map(({ reason, runId, ...item }) => {
    const path = `/runs/${encodeURIComponent(runId ?? '')}`;
    const isListed = runId !== undefined && listed.has(runId);
    return { ...item, reason: [reason, isListed ? [' ', { path, words: 'Show the run' }] : null] };
  });
  const now = nowList(schedule, times);
  const isUsed = facts?.spent.slices.some(({ requests }) => requests > 0) === true;
  return [
    { id: 'attention', heading: 'What to do', blocks: [{ todo }] },
    { id: 'now', heading: 'Running now', blocks: now === null ? [] : [now] },
    ...(facts === null
      ? []
      : [
          freshness(facts, times.now),
          estimates(facts.contents),
          { id: 'queue', heading: 'Changes to push', blocks: [{ facts: Object.entries(facts.queue) }] },
          {
            id: 'requests',
            heading: 'Requests a minute',
            blocks: facts.contents || isUsed ? [requestsChart(facts, times, schedule.running !== null)] : [],
          },
        ]),
    { id: 'jobs', heading: 'Jobs', blocks: [jobsTable(schedule)] },
    runs(known, look),
    ...(facts === null ? [] : [warehouse(facts, times.now), ...contentsOf(facts.contents)]),
  ];
}

function runs({ facts, schedule }: Known, { times }: Look): Section {
  const all = allRuns(facts, schedule);
  const chart = durationsChart(all, times);
  const rest = all.length - shownRuns;
  const more: Words = rest > 0 ? { path: '/runs', words: `All ${counted(all.length, 'run')}` } : null;
  return {
    id: 'runs',
    heading: 'Runs',
    blocks: [...(chart ? [chart] : []), runsTable(all.slice(0, shownRuns)), { sentence: more }],
  };
}

const states = {
  fresh: { badge: 'fresh', tone: 'good' },
  stale: { badge: 'STALE', tone: 'bad' },
  never: { badge: 'NEVER COMPLETE', tone: 'warn' },
  open: null,
} as const;

function freshness({ freshness: all, contents }: Facts, now: number): Section {
  const rows = (contents ? all : []).map((one): Words[] => {
    const state = states[freshnessState(one, now)];
    const bar = ageShare(one, now);
    const label = `${one.resource}: ${Math.round((bar ?? 0) * 100)} % of the age that is allowed`;
    return [
      one.resource,
      [state, bar === null || state === null ? null : shareBar(label, bar, state.tone)],
      ageOf(one.at),
      one.objectiveMinutes === null ? null : within(one),
    ];
  });
  const left = contents?.left ?? null;
  const isLeft = left !== null && (left.due > 0 || !left.complete);
  const backlog = left && `Left due by the last sync: ${leftText(left)}. The next one continues there.`;
  return {
    id: 'freshness',
    heading: 'Freshness',
    blocks: [
      { columns: ['list', 'state', 'last complete', 'within'], rows },
      { sentence: isLeft ? backlog : null },
    ],
  };
}

/** An objective as the settings have it: `45 min`, `6 h`, `7 d`. */
function within({ objectiveMinutes }: Freshness): string {
  const minutes = objectiveMinutes ?? 0;
  if (minutes % 60 !== 0) return duration(minutes * 60_000);
  return minutes > 2880 && minutes % 1440 === 0 ? `${minutes / 1440} d` : `${minutes / 60} h`;
}

function leftText(left: NonNullable<Contents['left']>): string {
  return leftDue(left, `${counted(left.due, 'fetch', 'fetches')} (${costText(left)})`);
}

function estimates(contents: Contents | null): Section {
  const known = (contents?.estimates ?? []).filter(
    ({ resource, checks }) => resource === 'all' || checks > 0,
  );
  const list = known.map((one) => `${estimateText(one)}${isOverBound(one) ? ': MORE THAN ALLOWED' : ''}`);
  return { id: 'estimates', heading: 'Out of date, by random checks', blocks: [{ list }], isClosed: true };
}

/** The files and who uses them. */
function warehouse(facts: Facts, now: number): Section {
  const { contents, foreignLogs = [], files, publishedAt, spent } = facts;
  const { organization = null, left = null } = contents ?? {};
  const { published, worker } = files;
  const holder = otherHolder(facts);
  const recent = spent.slices.reduce((sum, one) => sum + one.requests, 0);
  const limited = spent.slices.reduce((sum, one) => sum + one.rateLimited, 0);
  const hours = duration(spent.slices.length * spent.sliceMinutes * 60_000);
  const path = published && `, ${bytes(published.bytes)}: ${published.path}`;
  const named = organization && (organization.name ?? organization.slug ?? '');
  const list: Fact[] = [
    ['organization', organization && `${named} (${organization.id})`],
    ['published', publishedAt ? [ageOf(publishedAt), path] : unpublishedText(facts, now)],
    ...foreignLogs.map((name): Fact => ['foreign log', `${name}: ${whatLogDoes}`]),
    ['live', worker && `${bytes(worker.bytes)}: ${worker.path}`],
    ['in use by', holder ? `${holder.command}, process ${holder.pid}, since ${holder.since}` : 'no process'],
    ['spent', spendingText(facts.spending)],
    [
      'recently',
      recent > 0
        ? `${counted(recent, 'request')} in the last ${hours}, ${count(limited)} of them answered 429`
        : null,
    ],
    ['first pull', contents && (firstPullText(contents) ? `not complete, ${firstPullText(contents)}` : null)],
    ['left due', left && `${leftText(left)} after the last sync`],
  ];
  return { id: 'warehouse', heading: 'Warehouse', blocks: [{ facts: list }], isClosed: true };
}

const whatLogDoes =
  'another program opened the published file for writing. Other readers may see its changes, or fail, until the next publication removes it.';

/** Why nothing is published. */
function unpublishedText({ holder, files }: Facts, now: number): string {
  if (holder) {
    const since = duration(now - Date.parse(holder.since));
    return `not yet: ${holder.command} has been running for ${since}, and publishes at its end, a long run every half hour`;
  }
  return files.worker === null
    ? 'NOTHING YET: run signalhouse sync'
    : 'NOTHING YET: no run has succeeded; run signalhouse sync, which continues where the last one ended';
}

function contentsOf(contents: Contents | null): Section[] {
  if (contents === null) return [];
  const closed = (id: string, heading: string, ...blocks: Section['blocks']): Section => {
    return { id, heading, blocks, isClosed: true };
  };
  return [
    closed('failing', 'Failed when last requested', { list: contents.failing.map(failingText) }),
    closed('rejected', 'Rejected records (ops.rejected_records)', {
      list: contents.rejected.map((one): Words => {
        return [
          `${one.endpoint}: ${counted(one.records, 'record')}, last seen `,
          ageOf(one.last_seen_at),
          `, e.g. ${one.example}`,
        ];
      }),
    }),
    closed('drift', 'Differences from the API documentation (ops.schema_drift)', {
      list: contents.drift.map((one): Words => {
        return [`${driftText(one)}, ${count(one.occurrences)} times since `, clockOf(one.first_seen_at)];
      }),
    }),
    lists(contents),
    closed('details', 'Details by endpoint', {
      columns: ['endpoint', 'fetched#', 'oldest', 'newest', 'failing#'],
      rows: contents.children.map((one) => [
        one.endpoint,
        one.asked,
        ageOf(one.oldest_at),
        ageOf(one.newest_at),
        one.failing,
      ]),
    }),
    closed('rows', 'Rows', counts('table', 'rows', contents.rows)),
    closed('remade', 'Tables made again by another version', {
      list: contents.remade.map((one): Words => [`${one.table}, `, clockOf(one.at)]),
    }),
    closed('views', 'Your views (views/*.sql)', {
      list: contents.userViews.map(({ file, creates, error }) =>
        error === null ? `${file}: ${creates.join(', ')}` : `${file}: LEFT OUT: ${error}`,
      ),
    }),
    closed('files', 'Published files (publish)', { list: contents.publishedFiles.map(publishedText) }),
  ];
}

function lists({ lists: all }: Contents): Section {
  const rows = all.map((one) => [
    one.endpoint,
    one.total_count ?? one.ids,
    ageOf(one.read_at),
    ageOf(one.verified_at),
  ]);
  const unverified = all.flatMap(({ endpoint, note }) =>
    note === null ? [] : `${endpoint}: the last scan is not verified; ${note}`,
  );
  const columns = ['list', 'items#', 'read', 'verified'];
  return { id: 'lists', heading: 'Lists', blocks: [{ columns, rows }, { list: unverified }], isClosed: true };
}

function publishedText(one: Contents['publishedFiles'][number]): string {
  const { file, profile, excluded, masked, views_adapted: adapted, views_left_out: leftOut, outdated } = one;
  return [
    `${file}: profile ${profile}`,
    ...(outdated ? ['NOT AS THE SETTINGS SAY: run signalhouse rebuild to publish it again'] : []),
    ...(excluded.length > 0 ? [`without ${excluded.join(', ')}`] : []),
    ...(masked.length > 0 ? [`${counted(masked.length, 'column')} masked (ops.published_files)`] : []),
    ...(adapted.length > 0 ? [`views with columns as NULL: ${adapted.join(', ')}`] : []),
    ...(leftOut.length > 0 ? [`VIEWS LEFT OUT: ${leftOut.join('; ')}`] : []),
  ].join('; ');
}
