import type { Contents, Facts, RunDetails, StoredRun } from '../../../src/base/facts.js';
import { silentLog } from '../../../src/base/log.js';
import { cacheFacts } from '../../../src/serve/facts-cache.js';
import { Metrics } from '../../../src/serve/http/metrics.js';
import type { ServerOptions, Site } from '../../../src/serve/http/server.js';
import type { RunRecord, ScheduleView } from '../../../src/serve/schedule/record.js';

/** The moment at which the examples take place. */
export const now = Date.parse('2026-11-20T10:15:00.000Z');

export const night: StoredRun = {
  run_id: '20261120T030112000Z-4f2a',
  command: 'sync',
  outcome: 'done',
  exit_code: 0,
  error: null,
  started_at: '2026-11-20T03:01:12.000Z',
  ended_at: '2026-11-20T03:43:02.000Z',
  requests: 4_120,
  rate_limited: 0,
  rejected: 3,
  left_due: 1_204,
  rows_new: 1_204,
  rows_changed: 322,
  rows_removed: 7,
};

const bound = 0.05;
const someContents: Contents = {
  estimates: [
    { resource: 'all', checks: 1_240, stale: 5, share: 0.004, low: 0.002, high: 0.009, days: 30, bound },
    { resource: 'topic_groups', checks: 640, stale: 70, share: 0.11, low: 0.08, high: 0.14, days: 30, bound },
    { resource: 'story', checks: 4, stale: 0, share: 0, low: 0, high: 0.6, days: 9, bound },
    { resource: 'channel', checks: 0, stale: 0, share: null, low: 0, high: 1, days: 0, bound },
  ],
  organization: { id: 'org_1', name: 'Acme Tools', slug: 'acme' },
  runs: [
    night,
    {
      ...night,
      run_id: '20261119T160000000Z-11aa',
      command: 'push',
      outcome: 'failed',
      exit_code: 1,
      started_at: '2026-11-19T16:00:00.000Z',
      ended_at: '2026-11-19T16:30:04.000Z',
      requests: 12,
      rows_new: 0,
      rows_changed: 0,
      rows_removed: 0,
      left_due: null,
      error: 'the API has been unavailable for 30 min',
    },
  ],
  left: {
    run_id: night.run_id,
    due: 1_204,
    requests: 1_310,
    minutes: 11.4,
    complete: true,
    is_pulled: true,
    first_requests: 0,
  },
  userViews: [],
  publishedFiles: [],
  lists: [],
  children: [],
  failing: [],
  spent: [],
  fused: [],
  remade: [],
  rows: { topics: 412, people: 9_210, messages: 120_344 },
  rejected: [
    {
      endpoint: 'people',
      records: 3,
      last_seen_at: '2026-11-20T03:02:00.000Z',
      example: 'email: Invalid input: expected string, received number',
    },
  ],
  drift: [
    {
      endpoint: 'topics',
      path: '$.sentiment.score',
      kind: 'unknown_field',
      occurrences: 412,
      first_seen_at: '2026-11-02T03:00:00.000Z',
    },
  ],
};

export const someFacts = {
  holder: null,
  files: {
    worker: { path: '/data/worker.duckdb', bytes: 48_234_496 },
    published: { path: '/data/signals.duckdb', bytes: 31_981_568 },
  },
  diskFreeBytes: 81_000_000_000,
  publishedAt: '2026-11-20T10:05:00.000Z',
  contents: someContents,
  freshness: [
    { resource: 'topics', at: '2026-11-20T10:04:00.000Z', objectiveMinutes: 60 },
    { resource: 'people', at: '2026-11-18T03:00:00.000Z', objectiveMinutes: 1440 },
    { resource: 'companies', at: null, objectiveMinutes: 1440 },
    { resource: 'stories', at: '2026-11-20T03:10:00.000Z', objectiveMinutes: null },
  ],
  spending: { held: 37, limit: 120, windowMs: 60_000 },
  spent: {
    sliceMinutes: 10,
    slices: Array.from({ length: 36 }, (_, index) => ({
      from: new Date(now - (36 - index) * 600_000).toISOString(),
      requests: index % 7 === 0 ? 0 : 140 + ((index * 397) % 900),
      rateLimited: index === 20 ? 35 : 0,
      busiestMinute: index % 7 === 0 ? 0 : 40 + ((index * 397) % 80),
    })),
  },
  queue: { queued: 12, applied: 340, conflict: 2 },
} satisfies Facts;

export const someRun: RunRecord = {
  job: 'nightly',
  trigger: 'schedule',
  outcome: 'done',
  exitCode: 0,
  dueAt: '2026-11-20T03:00:00.000Z',
  startedAt: night.started_at,
  endedAt: '2026-11-20T03:43:02.000Z',
  runIds: [night.run_id],
  message: '4,120 requests, 1,204 new and 322 changed rows',
};

export const someSchedule: ScheduleView = {
  stopping: false,
  running: {
    job: 'hourly-push',
    trigger: 'schedule',
    dueAt: '2026-11-20T10:10:00.000Z',
    since: '2026-11-20T10:10:04.000Z',
    outage: null,
    progress: { phase: 'topic details', done: 120, total: 400 },
  },
  waiting: [
    {
      job: 'export',
      trigger: 'manual',
      dueAt: null,
      since: '2026-11-20T10:14:00.000Z',
      progress: null,
      outage: null,
    },
  ],
  jobs: [
    {
      name: 'nightly',
      run: 'sync+push',
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      nextAt: '2026-11-21T02:00:40.000Z',
      last: someRun,
      lastSuccessAt: someRun.endedAt,
      overdueSince: null,
      unavailableSince: null,
    },
    {
      name: 'hourly-push',
      run: 'push',
      cron: '10 * * * *',
      timezone: 'UTC',
      nextAt: '2026-11-20T11:10:00.000Z',
      last: null,
      lastSuccessAt: null,
      overdueSince: '2026-11-20T09:10:00.000Z',
      unavailableSince: null,
    },
  ],
  history: [
    someRun,
    {
      ...someRun,
      job: 'export',
      outcome: 'failed',
      exitCode: 1,
      runIds: [],
      startedAt: '2026-11-19T23:00:00.000Z',
      endedAt: '2026-11-19T23:00:04.000Z',
      message: 'there is no warehouse in /data yet. Run signalhouse sync first.',
    },
    {
      ...someRun,
      job: 'hourly-push',
      outcome: 'skipped',
      exitCode: null,
      runIds: [],
      startedAt: null,
      endedAt: '2026-11-19T22:10:00.000Z',
      message: 'nightly has been running since 2026-11-19T22:00:00.000Z',
    },
  ],
};

/** A run as its page shows it. */
export const someDetails: RunDetails = {
  ...night,
  outcome: 'incomplete',
  exit_code: 3,
  program_version: '1.2.3',
  pid: 4711,
  summary: {
    runId: night.run_id,
    outcome: 'incomplete',
    stoppedBy: null,
    minutes: 41.8,
    organization: { id: 'org_1', name: 'Acme Tools' },
    published: null,
    requests: { total: 4_120, rateLimited: 0, byEndpoint: { topic: 402, person: 1_200, topics: 21 } },
    rows: {
      topics: { new: 12, changed: 310, removed: 0 },
      messages: { new: 1_192, changed: 12, removed: 7 },
      people: { new: 0, changed: 0, removed: 0 },
    },
    scans: [
      {
        endpoint: 'companies',
        verified: true,
        complete: true,
        attempts: 1,
        fused: true,
        note: null,
        items: 40,
        totalCount: 40,
        missing: 60,
      },
    ],
    rejected: {
      new: 1,
      known: 2,
      examples: [{ endpoint: 'people', entityId: 'p_1', message: 'email: Invalid input', hint: null }],
    },
    failures: [{ endpoint: 'topic_history', entityId: 't_9', message: 'HTTP 500', hint: null }],
    drift: [{ endpoint: 'topics', path: '$.sentiment.score', kind: 'unknown_field' }],
    notes: ['the API was unavailable for 3 min'],
    left: { due: 1_204, requests: 1_310, minutes: 11.4, complete: true, runs: null },
    leftByResource: [],
  },
};

/** Before the first sync has ended. */
export const noFacts: Facts = {
  ...someFacts,
  files: { worker: null, published: null },
  publishedAt: null,
  contents: null,
  queue: {},
  freshness: someFacts.freshness.map((one) => ({ ...one, at: null })),
  spending: { ...someFacts.spending, held: 0 },
  spent: {
    ...someFacts.spent,
    slices: someFacts.spent.slices.map(({ from }) => ({
      from,
      requests: 0,
      rateLimited: 0,
      busiestMinute: 0,
    })),
  },
};

/** When nothing is wrong. */
export const wellFacts: Facts = {
  ...someFacts,
  contents: {
    ...someContents,
    estimates: [],
    rejected: [],
    drift: [],
    left: { ...someContents.left!, due: 0, requests: 0, minutes: 0 },
    runs: [night],
  },
  freshness: someFacts.freshness.slice(0, 1),
  queue: { queued: 1 },
};

/** Nothing runs, and the last run was a good one. */
export const wellSchedule: ScheduleView = { ...someSchedule, running: null, waiting: [], history: [someRun] };

/** What nothing was ever planned in. */
export const emptySchedule: ScheduleView = {
  stopping: false,
  running: null,
  waiting: [],
  jobs: [],
  history: [],
};

/** Options of a server around examples; what a test is about, it hands in. */
export function serving(
  more: Partial<
    Omit<ServerOptions, 'sites'> & Pick<Site, 'intake' | 'report' | 'run' | 'metrics' | 'sheets' | 'topics'>
  > & {
    facts?: () => Promise<Facts>;
    schedule?: Partial<Site['schedule']>;
  } = {},
): ServerOptions {
  const {
    facts = () => Promise.resolve(someFacts),
    schedule,
    intake,
    report,
    sheets,
    topics,
    ...rest
  } = more;
  const { run = async () => someDetails, metrics = new Metrics({ version: '1.2.3' }), ...options } = rest;
  const site: Site = {
    intake,
    report,
    sheets,
    topics,
    run,
    metrics,
    facts: cacheFacts({ facts, log: silentLog, maxAgeMs: 0 }),
    schedule: { view: () => someSchedule, ask: async () => 'accepted', ...schedule },
  };
  return { port: 0, version: '1.2.3', log: silentLog, ...options, sites: [site] };
}
