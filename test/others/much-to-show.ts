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
        run_id: `20261120T${String(index).padStart(9, '0')}Z-4f2a`,
        command: isPush ? 'push' : 'sync',
        started_at: at(index * 8 + 2),
        ended_at: at(index * 8 + (isPush ? 1.98 : 0.9 + (index % 5) / 5)),
        outcome,
        requests: isPush ? index : 4_000 + index * 17,
        left_due: isPush ? null : 0,
        error: outcome === 'failed' ? `GET /topics?page=${index}: no answer within 30 s, 6 times` : null,
      };
    }),
    failing: ['topic_history', 'person_groups', 'company_activity'].map((endpoint, index) => ({
      endpoint,
      entities: 3 + index * 900,
      error: `GET /${endpoint}/{id}/with/a/very/long/path/that/does/not/end/soon: HTTP 500 Internal Server Error`,
      ids: ['a', 'b', 'c'],
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
};

/** Many jobs, and a long message. */
export const muchSchedule: ScheduleView = {
  ...someSchedule,
  jobs: ['nightly', 'decisions', 'export-for-the-finance-department'].flatMap((name) =>
    someSchedule.jobs.map((job) => ({ ...job, name: `${name}-${job.name}` })),
  ),
  history: [
    {
      ...someRun,
      outcome: 'failed',
      exitCode: 1,
      runIds: [],
      message: `push: 3 applied; sync: ${'4,120 requests, 1,204 new and 322 changed rows, '.repeat(4)}the API has been unavailable for 30 min`,
    },
    ...someSchedule.history.slice(1),
  ],
};
