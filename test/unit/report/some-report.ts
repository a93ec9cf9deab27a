import type { ReportData } from '../../../src/report/read.js';

/** A report with something in each part; `text` stands wherever text comes from outside. */
export function someReport(text = 'Boards load slowly'): ReportData {
  const weeks = Array.from({ length: 26 }, (_, index) =>
    new Date(Date.UTC(2026, 4, 25) + index * 7 * 86_400_000).toISOString().slice(0, 10),
  );
  const found = 30;
  return {
    freshness: { resource: 'all', checks: 1_240, stale: 5, share: 0.004, low: 0.002, high: 0.009, days: 30 },
    header: {
      organization: text,
      as_of: '2026-11-17T09:00:00.000Z',
      last_sync_at: '2026-11-17T10:00:00.000Z',
      since: '2026-11-10T00:00:00.000Z',
    },
    totals: {
      ...{ open_topics: 12, urgent_topics: 5, waiting: 40, waiting_vip: 3, waiting_again: 9 },
      median_hours: 31.5,
      ...{ messages: 1_234, messages_before: 900, companies: 20 },
    },
    backlog: [
      { priority: 'very_high', state: 'open', topics: 5 },
      { priority: 'default', state: 'in_progress', topics: 6 },
      { priority: null, state: text, topics: 1 },
    ],
    backlogWeeks: weeks.flatMap((week, index) => [
      { week, priority: 'high', state: 'open', open: 5 + (index % 4), new: 2, reopened: 1, closed: 1 },
      { week, priority: null, state: text, open: index, new: 1, reopened: 0, closed: 0 },
    ]),
    newTopics: [{ topic_id: 't1', title: text, priority: 'high', companies: 4, found }],
    growing: [
      {
        ...{ topic_id: 't1', title: text, priority: 'high' },
        ...{ messages: 30, before: 10, momentum: 20, companies: 4, found },
      },
      {
        ...{ topic_id: 't2', title: null, priority: null },
        ...{ messages: 3, before: 0, momentum: 3, companies: 0, found },
      },
    ],
    waiting: [
      { bucket: 1, vip: 1, others: 7 },
      { bucket: 5, vip: 2, others: 30 },
    ],
    longestWaiting: [
      {
        ...{ group_id: 'g1', title: text, name: text, priority: 'low', hours: 12, is_vip: true },
        ...{ was_answered_before: true, source: text, url: 'https://chat.example/1', found },
      },
      {
        ...{ group_id: 'g2', title: text, name: null, priority: null, hours: 2_000, is_vip: false },
        ...{ was_answered_before: false, source: null, url: `javascript:alert("${text}")`, found },
      },
    ],
    responseTimes: [
      { month: '2026-10-01', questions: 20, answered: 18, median_hours: 1.5, p90_hours: 60 },
      { month: '2026-11-01', questions: 3, answered: 0, median_hours: null, p90_hours: null },
    ],
    serviceLevels: weeks.map((week, index) => ({
      ...{ week, service_level: text, in_time: 10, late: index % 3, waiting: index === 25 ? 1 : 0 },
    })),
    serviceLevelPeople: [
      { name: text, is_team: true, answers: 200, late: 9 },
      { name: text, is_team: false, answers: 120, late: 0 },
    ],
    companies: [
      {
        ...{ company_id: 'c1', name: text, is_vip: true, trend: 'fading', messages: 3, before: 20 },
        ...{ days_silent: 4, open_topics: 3, urgent_topics: 1, waiting: 2, found, leaving: 1 },
      },
    ],
    duplicates: [
      {
        ...{
          entity_type: 'topic',
          measured: text,
          found,
          score: 0.8123,
          reasons: [text, 'began 1 day apart'],
        },
        ...{ id_1: 't1', name_1: text, id_2: 't2', name_2: null },
      },
      {
        ...{ entity_type: 'person', measured: text, found: 0, score: null, reasons: null },
        ...{ id_1: null, name_1: null, id_2: null, name_2: null },
      },
    ],
    sources: weeks.flatMap((week, index) =>
      ['slack', 'email', text].map((source, at) => ({
        ...{ week, source, messages: (index + 1) * (at + 1) },
      })),
    ),
    changes: [
      { what: 'Topics opened', times: 3 },
      { what: 'Topics archived', times: 0 },
    ],
    latestChanges: [
      {
        ...{ topic_id: 't1', title: text, field: 'priority', before: null, after: text },
        ...{ changed_at: '2026-11-16T09:00:00.000Z', changed_by: text, found },
      },
    ],
    pushed: [
      { status: 'applied', changes: 7 },
      { status: 'conflict', changes: 1 },
    ],
    latestPushed: [
      {
        ...{ entity_id: 't1', title: text, field: 'priority', before: text, after: 'high' },
        ...{ status: 'failed', error: text, requested_by: text },
        ...{ changed_at: '2026-11-16T09:00:00.000Z', found },
      },
    ],
  };
}

/** One of a warehouse that is still empty. */
export const emptyReport: ReportData = {
  freshness: null,
  header: { organization: null, as_of: null, last_sync_at: null, since: null },
  totals: {
    ...{ open_topics: 0, urgent_topics: 0, waiting: 0, waiting_vip: 0, waiting_again: 0 },
    median_hours: null,
    ...{ messages: 0, messages_before: 0, companies: 0 },
  },
  ...{
    backlog: [],
    backlogWeeks: [],
    responseTimes: [],
    growing: [],
    newTopics: [],
    waiting: [],
    longestWaiting: [],
    serviceLevels: [],
    serviceLevelPeople: [],
    companies: [],
    duplicates: [],
    sources: [],
  },
  ...{ changes: [], latestChanges: [], pushed: [], latestPushed: [] },
};
