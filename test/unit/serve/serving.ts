import type { Contents, Facts } from '../../../src/base/facts.js';
import { silentLog } from '../../../src/base/log.js';
import { cacheFacts } from '../../../src/serve/facts-cache.js';
import { Metrics } from '../../../src/serve/http/metrics.js';
import type { ServerOptions } from '../../../src/serve/http/server.js';
import type { RunRecord } from '../../../src/serve/schedule/record.js';
import type { ScheduleView } from '../../../src/serve/schedule/view.js';

/** The moment at which the examples take place. */
export const now = Date.parse('2026-11-20T10:15:00.000Z');

const someContents: Contents = {
  userViews: [],
  organization: { id: 'org_1', name: 'Acme Tools', slug: 'acme' },
  runs: [],
  left: { run_id: '20261120T030112000Z-4f2a', due: 1_204, requests: 1_310, minutes: 11.4 },
  lists: [],
  children: [],
  failing: [],
  spent: [],
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
    })),
  },
  queue: { queued: 12, applied: 340, conflict: 2 },
} satisfies Facts;

export const someRun: RunRecord = {
  job: 'nightly',
  trigger: 'schedule',
  outcome: 'done',
  dueAt: '2026-11-20T03:00:00.000Z',
  startedAt: '2026-11-20T03:01:12.000Z',
  endedAt: '2026-11-20T03:43:02.000Z',
  exitCode: 0,
  message: '4,120 requests, 1,204 new and 322 changed rows',
};

export const someSchedule: ScheduleView = {
  stopping: false,
  running: {
    job: 'hourly-push',
    trigger: 'schedule',
    dueAt: '2026-11-20T10:10:00.000Z',
    since: '2026-11-20T10:10:04.000Z',
    progress: { phase: 'topic details', done: 120, total: 400 },
    outage: null,
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
    },
  ],
  history: [
    someRun,
    {
      ...someRun,
      job: 'export',
      outcome: 'failed',
      startedAt: '2026-11-19T23:00:00.000Z',
      endedAt: '2026-11-19T23:00:04.000Z',
      exitCode: 1,
      message: 'there is no warehouse in /data yet. Run signalhouse sync first.',
    },
    {
      ...someRun,
      job: 'hourly-push',
      outcome: 'skipped',
      startedAt: null,
      endedAt: '2026-11-19T22:10:00.000Z',
      exitCode: null,
      message: 'nightly has been running since 2026-11-19T22:00:00.000Z',
    },
  ],
};

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
  more: Partial<Omit<ServerOptions, 'facts' | 'schedule'>> & {
    facts?: () => Promise<Facts>;
    schedule?: Partial<ServerOptions['schedule']>;
  } = {},
): ServerOptions {
  const { facts = () => Promise.resolve(someFacts), schedule, ...rest } = more;
  return {
    port: 0,
    facts: cacheFacts({ facts, log: silentLog, maxAgeMs: 0 }),
    schedule: { view: () => someSchedule, ask: () => 'accepted', ...schedule },
    metrics: new Metrics({ version: '1.2.3' }),
    version: '1.2.3',
    log: silentLog,
    ...rest,
  };
}
