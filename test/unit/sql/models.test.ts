import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dateTime } from '../../../src/contract/fields.js';
import { type Doc, instant, openStand, type Stand } from './stand.js';

// Which of several documents decides. That every field arrives in its column, the tests against the sandbox show, which
// compare all columns of all tables.

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());

const doc = (endpoint: string, id: string, at: number, body: object, parent?: string): Doc => ({
  endpoint,
  id,
  at,
  body,
  ...(parent !== undefined && { parent }),
});

describe('topics', () => {
  test.each([
    { listAt: 1, detailAt: 2, title: 'detail', state: null },
    { listAt: 2, detailAt: 1, title: 'list', state: 'open' },
  ])('the newer one wins, also with a null ($title)', async ({ listAt, detailAt, title, state }) => {
    await stand.store([
      doc('topics', 't', listAt, { title: 'list', lifecycleState: 'open', messageCount: 4 }),
      doc('topic', 't', detailAt, { title: 'detail', lifecycleState: null, graphStatus: 'active' }),
    ]);
    expect(await stand.project('topics')).toMatchObject([
      { title, lifecycle_state: state, message_count: 4, graph_status: 'active', synced_at: instant(2) },
    ]);
  });

  test('undocumented fields and values of another type do not affect other fields', async () => {
    const odd = { eventCount: 'many', keywords: 'none', updatedAt: 'soon', linkedTicket: 7 };
    await stand.store([doc('topics', 't', 0, { title: 'x', sentiment: { score: 1 }, ...odd })]);
    expect(await stand.project('topics')).toMatchObject([
      { title: 'x', event_count: null, keywords: null, updated_at: null, linked_ticket_url: null },
    ]);
  });
});

describe('the company of a person', () => {
  const kinds = [
    ['people', 'people', 'person', undefined],
    ['topic_people', 'topic_persons', 'topic_people', 't'],
  ] as const;
  const whole = { id: '1', name: 'Old', domain: 'one.example', logoUrl: 'https://one.example/logo' };

  test.each(kinds)('of %s keeps what only the older one says of it', async (table, listed, own, parent) => {
    await stand.store([
      doc(own, 'p', 1, { company: whole }, parent),
      doc(listed, 'p', 2, { company: { id: '1', name: 'New', logoUrl: null } }, parent),
    ]);
    const company = { company_id: '1', company_name: 'New', company_domain: 'one.example' };
    expect(await stand.project(table)).toMatchObject([{ ...company, company_logo_url: null }]);
  });

  test.each(kinds)('of %s is not mixed with another one', async (table, listed, own, parent) => {
    await stand.store([
      doc(own, 'p', 1, { company: whole }, parent),
      doc(listed, 'p', 2, { company: { id: '2', name: 'Two' } }, parent),
    ]);
    expect(await stand.project(table)).toMatchObject([
      { company_id: '2', company_name: 'Two', company_domain: null, company_logo_url: null },
    ]);
  });
});

test('the schedule of a template is one that the API had, also before its detail was fetched again', async () => {
  await stand.store([
    doc('automation_template', 'weekly', 1, { schedule: { type: 'cron', expr: '0 9 * * 1' } }),
    doc('automation_templates', 'weekly', 2, { schedule: { type: 'rrule', rrule: 'FREQ=WEEKLY' } }),
  ]);
  const [row] = await stand.project('automation_templates');
  expect(JSON.parse(String(row?.schedule))).toEqual({ type: 'rrule', rrule: 'FREQ=WEEKLY' });
});

test.each([
  ['2026-01-02 03:04:05.25+05:30', '2026-01-01T21:34:05.250Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02T03:04:05z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
  ['1767225600.5', '2026-01-01T00:00:00.500Z'],
  ['1767225600500', '2026-01-01T00:00:00.500Z'],
  ['-86400', '1969-12-31T00:00:00.000Z'],
  ['1e300', null],
  ['2026-13-02T03:04:05Z', null],
  ['2026-02-30T03:04:05Z', null],
  ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
  ['2016-12-31T23:59:60Z', null],
  ['2026-01-02T25:04:05Z', null],
  ['soon', null],
  ['', null],
])('the moment %s is %s', async (said, meant) => {
  const [row] = await stand.all(`SELECT raw.moment('${said}') AS at_utc`);
  expect(row).toEqual({ at_utc: meant === null ? null : new Date(meant) });
  // What would be NULL is rejected, and so is a record with it.
  if (meant === null) expect(dateTime.safeParse(said).success).toBe(false);
});
