import type { Facts, StoredRun } from '../../src/base/facts.js';
import type { ScheduleView } from '../../src/serve/schedule/record.js';
import { night, now, someFacts, someRun, someSchedule } from '../unit/serve/serving.js';

const hourMs = 3_600_000;
const at = (hoursAgo: number) => new Date(now - hoursAgo * hourMs).toISOString();

/** A worker that has run for a year, and has every kind of trouble. */
export const muchFacts: Facts = {
  ...someFacts,
  contents: {
    ...someFacts.contents,
    organization: {
      id: 'org_2',
      name: 'Internationale Gesellschaft für Produktforschung und Kundenzufriedenheit mbH',
      slug: 'igpk',
    },
    runs: Array.from({ length: 300 }, (_, index): StoredRun => {
      const outcome = index % 11 === 4 ? 'failed' : index % 7 === 3 ? 'incomplete' : 'done';
      const isPush = index % 3 === 1;
      return {
        ...night,
        ...{ run_id: `20261120T${String(index).padStart(9, '0')}Z-4f2a`, command: isPush ? 'push' : 'sync' },
        ...{
          started_at: at(index * 8 + 2),
          ended_at: at(index * 8 + (isPush ? 1.98 : 0.9 + (index % 5) / 5)),
        },
        ...{ outcome, requests: isPush ? index : 4_000 + index * 17, left_due: isPush ? null : 0 },
        error: outcome === 'failed' ? `GET /topics?page=${index}: no answer within 30 s, 6 times` : null,
      };
    }),
    failing: ['topic_history', 'person_groups', 'company_activity'].map((endpoint, index) => ({
      endpoint,
      entities: 3 + index * 900,
      error: `GET /${endpoint}/{id}/with/a/very/long/path/that/does/not/end/soon: HTTP 500 Internal Server Error`,
      ids: ['a', 'b', 'c'],
    })),
    rejected: ['people', 'groups', 'messages', 'stories'].map((endpoint, index) => ({
      endpoint,
      records: 10 ** index,
      last_seen_at: at(index),
      example: `/items/${index}/metadata/x: Invalid input: expected string, received ${'undefined '.repeat(9)}`,
    })),
    fused: [{ endpoint: 'companies' }],
    drift: Array.from({ length: 64 }, (_, index) => ({
      endpoint: 'topics',
      path: `$.sentiment.byLanguage.region_${index}.scores[*].confidenceIntervalLowerBound`,
      kind: 'unknown_field',
      occurrences: 412 * index,
      first_seen_at: at(index * 24),
    })),
    rows: Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`table_${index}`, 3_456_789])),
  },
  freshness: ['topics', 'companies', 'people', 'channels', 'stories', 'automation_templates'].map(
    (resource, index) => ({
      resource,
      at: index === 3 ? null : at(index * 9),
      objectiveMinutes: index === 4 ? null : 26 * 60,
    }),
  ),
  queue: {
    queued: 1_200,
    sending: 3,
    applied: 34_000,
    unchanged: 120,
    conflict: 12,
    failed: 7,
    cancelled: 4,
  },
};

/** Many jobs in several time zones, with a long message each. */
export const muchSchedule: ScheduleView = {
  ...someSchedule,
  jobs: ['nightly', 'decisions', 'hourly-push', 'export-for-the-finance-department', 'weekly-dump'].map(
    (name, index) => ({
      name,
      run: (['sync+push', 'push', 'push', 'export', 'export'] as const)[index] ?? 'sync',
      cron: ['0 3 * * *', '*/10 7-19 * * 1-5', '10 * * * *', '0 6 1 * *', '0 6 * * 1'][index] ?? '',
      timezone: ['Europe/Berlin', 'Europe/Berlin', 'UTC', 'America/New_York', 'Asia/Tokyo'][index] ?? 'UTC',
      nextAt: at(-index * 30 - 1),
      last: {
        ...someRun,
        job: name,
        outcome: (['failed', 'done', 'skipped', 'incomplete', 'interrupted'] as const)[index] ?? 'done',
      },
      lastSuccessAt: at(30),
      overdueSince: null,
    }),
  ),
  history: [
    {
      ...someRun,
      outcome: 'failed',
      exitCode: 1,
      runIds: [],
      message: `push: 3 applied, 12 conflicts, 7 failed; sync: ${'4,120 requests, 1,204 new and 322 changed rows, '.repeat(4)}the API has been unavailable for 30 min; the next try is at 2026-11-20 10:20:00Z`,
    },
    ...someSchedule.history.slice(1),
  ],
};
