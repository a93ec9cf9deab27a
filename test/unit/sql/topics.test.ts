import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Doc, instant, openStand, type Row, type Stand } from './stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());
afterAll(() => stand.close());

async function topicsOf(docs: Doc[]): Promise<Row[]> {
  await stand.store(docs);
  return stand.project('topics');
}
const listed = (body: object, at = 0): Doc => ({
  endpoint: 'topics',
  id: 't',
  body: { id: 't', ...body },
  at,
});
const detail = (body: object, at = 0): Doc => ({
  endpoint: 'topic',
  id: 't',
  body: { id: 't', ...body },
  at,
});

describe('topics', () => {
  test('every field of list and detail arrives, unicode and all', async () => {
    const [row] = await topicsOf([
      listed({
        authorIds: ['a1', 'a2'],
        messageCount: 12,
        totalGroupCount: 3,
        staffResponseGroupCount: 1,
        similarity: 0.25,
        sources: ['slack', 'email'],
        linkedTicket: { displayName: 'ENG-7', linkType: 'linear', url: 'https://x/7' },
        timeRangeStart: 1_767_225_600,
        timeRangeEnd: 1_767_225_600_500,
      }),
      detail({
        title: 'Žluťoučký "kůň" 🐴\n',
        summary: '',
        issueType: 'bug_report',
        keywords: ['ő', '"', 'x,y'],
        lifecycleState: 'open',
        lifecycleStateConfidence: 0.5,
        priority: 'high',
        priorityReasoning: 'many ask',
        eventCount: 9_007_199_254_740_991,
        graphStatus: 'superseded',
        archivedAt: '2026-01-02T03:04:05.678+02:00',
        archivedByUserId: 'u1',
        archivedReason: 'done',
        supersededAt: '2026-01-02T03:04:05Z',
        successorTopic: { id: 't2', title: 'Next' },
        createdAt: '2026-01-02T03:04:05.123456Z',
        updatedAt: '2026-01-02',
      }),
    ]);
    expect(row).toEqual({
      id: 't',
      title: 'Žluťoučký "kůň" 🐴\n',
      summary: '',
      issue_type: 'bug_report',
      keywords: ['ő', '"', 'x,y'],
      priority: 'high',
      priority_reasoning: 'many ask',
      lifecycle_state: 'open',
      lifecycle_state_confidence: 0.5,
      graph_status: 'superseded',
      event_count: 9_007_199_254_740_991,
      message_count: 12,
      total_group_count: 3,
      staff_response_group_count: 1,
      sources: ['slack', 'email'],
      author_ids: ['a1', 'a2'],
      similarity: 0.25,
      linked_ticket_display_name: 'ENG-7',
      linked_ticket_link_type: 'linear',
      linked_ticket_url: 'https://x/7',
      time_range_start: new Date('2026-01-01T00:00:00Z'),
      time_range_end: new Date('2026-01-01T00:00:00.500Z'),
      created_at: new Date('2026-01-02T03:04:05.123Z'),
      updated_at: new Date('2026-01-02T00:00:00Z'),
      archived_at: new Date('2026-01-02T01:04:05.678Z'),
      archived_by_user_id: 'u1',
      archived_reason: 'done',
      superseded_at: new Date('2026-01-02T03:04:05Z'),
      successor_topic_id: 't2',
      successor_topic_title: 'Next',
      deleted_at: null,
      deleted_reason: null,
      merged_into_id: null,
      detail_unavailable_reason: null,
      synced_at: instant(0),
      run_id: 'r1',
    });
  });

  test.each([
    { listAt: 1, detailAt: 2, title: 'detail', state: null },
    { listAt: 2, detailAt: 1, title: 'list', state: 'open' },
  ])('the newer one wins, also with a null ($title)', async ({ listAt, detailAt, title, state }) => {
    const [row] = await topicsOf([
      listed({ title: 'list', lifecycleState: 'open', messageCount: 4 }, listAt),
      detail({ title: 'detail', lifecycleState: null, graphStatus: 'active' }, detailAt),
    ]);
    expect(row).toMatchObject({
      title,
      lifecycle_state: state,
      message_count: 4,
      graph_status: 'active',
      synced_at: instant(2),
    });
  });

  test('each field comes from the newest document that has it', async () => {
    const fields = {
      title: 'title',
      priority: 'priority',
      issueType: 'issue_type',
      archivedReason: 'archived_reason',
    };
    const value = fc.option(fc.string({ unit: 'grapheme', maxLength: 5 }), { nil: null });
    const said = fc.record(
      { title: value, priority: value, issueType: value, archivedReason: value },
      { requiredKeys: [] },
    );
    const pair = fc.record({
      listed: fc.option(said, { nil: null }),
      detail: said,
      listedLast: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(pair, { minLength: 20, maxLength: 100 }), async (pairs) => {
        await stand.clear();
        const expected = pairs.map(({ listed: list, detail: own, listedLast }, index) => {
          const merged: Row = listedLast ? { ...own, ...list } : { ...list, ...own };
          const row: Row = { id: String(1000 + index) };
          for (const [field, column] of Object.entries(fields)) row[column] = merged[field] ?? null;
          return row;
        });
        const rows = await topicsOf(
          pairs.flatMap(({ listed: list, detail: own, listedLast }, index): Doc[] => {
            const id = String(1000 + index);
            const docs: Doc[] = [{ endpoint: 'topic', id, body: own, at: listedLast ? 1 : 2 }];
            if (list) docs.push({ endpoint: 'topics', id, body: list, at: listedLast ? 2 : 1 });
            return docs;
          }),
        );
        expect(
          rows.map(({ id, title, priority, issue_type, archived_reason }) => ({
            id,
            title,
            priority,
            issue_type,
            archived_reason,
          })),
        ).toEqual(expected);
      }),
      { numRuns: 10 },
    );
  });

  test('undocumented fields and values of another type do not affect other fields', async () => {
    const [row] = await topicsOf([
      listed({
        title: 'x',
        sentiment: { score: 1 },
        eventCount: 'many',
        keywords: 'none',
        updatedAt: 'soon',
        linkedTicket: 7,
      }),
    ]);
    expect(row).toMatchObject({
      title: 'x',
      event_count: null,
      keywords: null,
      updated_at: null,
      linked_ticket_url: null,
    });
  });

  test('presence and merges of a topic, neither of which is a topic itself', async () => {
    const rows = await topicsOf([
      listed({ title: 'x' }, 1),
      {
        endpoint: 'topic_presence',
        id: 't',
        at: 3,
        run: 'r3',
        body: {
          deletedAt: '2026-01-05T00:00:00Z',
          deletedReason: 'merged',
          mergedIntoId: null,
          detailUnavailableReason: null,
        },
      },
      {
        endpoint: 'topic_merges',
        id: 't',
        at: 2,
        run: 'r2',
        body: { mergedInto: { targetTopic: { id: 't9' } }, merges: [] },
      },
      { endpoint: 'topic_presence', id: 'never-listed', body: { deletedAt: '2026-01-05T00:00:00Z' } },
    ]);
    expect(rows).toMatchObject([
      {
        id: 't',
        deleted_at: new Date('2026-01-05T00:00:00Z'),
        deleted_reason: 'merged',
        merged_into_id: 't9',
        synced_at: instant(3),
        run_id: 'r3',
      },
    ]);
  });
});

describe('topic_people', () => {
  const inList = (body: object, at = 0): Doc => ({
    endpoint: 'topic_persons',
    id: 'p',
    parent: 't',
    body,
    at,
  });
  const onPage = (body: object, at = 0): Doc => ({
    endpoint: 'topic_people',
    id: 'p',
    parent: 't',
    body,
    at,
  });

  test('list and detail combined, each with fields that the other does not have', async () => {
    await stand.store([
      inList(
        {
          displayName: 'Ann',
          isBot: false,
          isStaff: true,
          avatarUrl: null,
          company: { id: 'c', domain: 'c.io', isOrgCompany: true, logoUrl: 'l', name: 'C' },
        },
        1,
      ),
      onPage(
        {
          displayName: 'Ann B',
          isBot: false,
          isVip: true,
          messageCount: 4,
          sources: ['slack'],
          title: 'CTO',
          company: { id: 'c', domain: null, logoUrl: 'l', name: 'C' },
          identities: [{ platform: 'slack', platformId: '1' }],
        },
        2,
      ),
      { endpoint: 'topic_persons', id: 'p', parent: 'other', body: { displayName: 'Ann' } },
    ]);
    expect(await stand.project('topic_people')).toMatchObject([
      { topic_id: 'other', person_id: 'p', display_name: 'Ann', is_vip: null, message_count: null },
      {
        topic_id: 't',
        person_id: 'p',
        display_name: 'Ann B',
        title: 'CTO',
        is_staff: true,
        is_vip: true,
        message_count: 4,
        sources: ['slack'],
        company_id: 'c',
        company_domain: null,
        company_is_org_company: true,
        synced_at: instant(2),
      },
    ]);
  });

  test('two companies are never mixed', async () => {
    await stand.store([
      inList({ company: { id: 'old', domain: 'old.io', isOrgCompany: true, name: 'Old' } }, 1),
      onPage({ company: { id: 'new', name: 'New' } }, 2),
    ]);
    expect(await stand.project('topic_people')).toMatchObject([
      { company_id: 'new', company_name: 'New', company_domain: null, company_is_org_company: null },
    ]);
  });

  test('a person who left the company has none', async () => {
    await stand.store([inList({ company: { id: 'old', name: 'Old' } }, 1), onPage({ company: null }, 2)]);
    expect(await stand.project('topic_people')).toMatchObject([{ company_id: null, company_name: null }]);
  });
});

describe('raw.moment', () => {
  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 03:04:05.25+05:30', '2026-01-01T21:34:05.250Z'],
    ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02T03:04:05z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
    ['1767225600', '2026-01-01T00:00:00.000Z'],
    ['1767225600.5', '2026-01-01T00:00:00.500Z'],
    ['1767225600500', '2026-01-01T00:00:00.500Z'],
    ['-86400', '1969-12-31T00:00:00.000Z'],
    ['1e300', null],
    ['2026-13-02T03:04:05Z', null],
    ['soon', null],
    ['', null],
  ])('%s', async (said, meant) => {
    const [row] = await stand.all(`SELECT raw.moment('${said}') AS at_utc`);
    expect(row).toEqual({ at_utc: meant === null ? null : new Date(meant) });
  });
});
