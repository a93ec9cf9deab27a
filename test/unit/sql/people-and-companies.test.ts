import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { instant, openStand, type Stand } from './stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());
afterAll(() => stand.close());

describe('people', () => {
  test('every field of list and page arrives', async () => {
    await stand.store([
      {
        endpoint: 'people',
        id: 'p',
        at: 1,
        body: { id: 'p', displayName: 'Ann', messageCount: 1, lastSeenAt: '2026-01-01T00:00:00Z' },
      },
      {
        endpoint: 'person',
        id: 'p',
        at: 2,
        run: 'r2',
        body: {
          id: 'p',
          displayName: 'Ann B',
          avatarUrl: 'a',
          avgMessagesPerWeek: 1.5,
          conversationCount: 2,
          createdAt: '2026-01-01T00:00:00Z',
          company: { id: 'c', domain: 'c.io', logoUrl: 'l', name: 'C' },
          connections: {
            github: 'gh',
            linkedin: 'li',
            phone: '+1',
            title: 'CTO',
            twitter: 'tw',
            website: 'w',
          },
          description: 'd',
          ecosystemTags: ['e'],
          expertiseTags: [],
          firstSeenAt: '2026-01-01T00:00:00Z',
          identityCount: 1,
          isVip: true,
          messageCount: 7,
          primaryEmail: 'a@c.io',
          sources: ['slack'],
          weeklyActivity: [0, 1.5],
        },
      },
      { endpoint: 'person_merges', id: 'p', at: 3, run: 'r2', body: { mergedInto: null, merges: [] } },
    ]);
    expect(await stand.project('people')).toEqual([
      {
        id: 'p',
        display_name: 'Ann B',
        primary_email: 'a@c.io',
        description: 'd',
        avatar_url: 'a',
        is_vip: true,
        company_id: 'c',
        company_name: 'C',
        company_domain: 'c.io',
        company_logo_url: 'l',
        connections_github: 'gh',
        connections_linkedin: 'li',
        connections_phone: '+1',
        connections_title: 'CTO',
        connections_twitter: 'tw',
        connections_website: 'w',
        ecosystem_tags: ['e'],
        expertise_tags: [],
        sources: ['slack'],
        identity_count: 1,
        conversation_count: 2,
        message_count: 7,
        avg_messages_per_week: 1.5,
        weekly_activity: [0, 1.5],
        first_seen_at: new Date('2026-01-01T00:00:00Z'),
        last_seen_at: new Date('2026-01-01T00:00:00Z'),
        created_at: new Date('2026-01-01T00:00:00Z'),
        deleted_at: null,
        deleted_reason: null,
        merged_into_id: null,
        detail_unavailable_reason: null,
        synced_at: instant(3),
        run_id: 'r2',
      },
    ]);
  });

  test('two companies are never mixed, and a list without companies takes none away', async () => {
    await stand.store([
      {
        endpoint: 'person',
        id: 'moved',
        at: 1,
        body: { company: { id: 'old', domain: 'old.io', name: 'Old' } },
      },
      { endpoint: 'people', id: 'moved', at: 2, body: { company: { id: 'new', name: 'New' } } },
      {
        endpoint: 'person',
        id: 'stayed',
        at: 1,
        body: { company: { id: 'old', domain: 'old.io', name: 'Old' } },
      },
      { endpoint: 'people', id: 'stayed', at: 2, body: { displayName: 'x' } },
    ]);
    expect(await stand.project('people')).toMatchObject([
      { id: 'moved', company_id: 'new', company_name: 'New', company_domain: null },
      { id: 'stayed', company_id: 'old', company_domain: 'old.io' },
    ]);
  });

  test('source stats and a tombstone', async () => {
    await stand.store([
      {
        endpoint: 'person_source_stats',
        id: 'slack',
        parent: 'p',
        body: { source: 'slack', messageCount: 3 },
      },
      { endpoint: 'people', id: 'p', body: {} },
      {
        endpoint: 'person_presence',
        id: 'p',
        body: { deletedAt: '2026-01-02T00:00:00Z', mergedIntoId: 'q' },
      },
    ]);
    expect(await stand.project('person_source_stats')).toMatchObject([
      { person_id: 'p', source: 'slack', message_count: 3 },
    ]);
    expect(await stand.project('people')).toMatchObject([
      { deleted_at: new Date('2026-01-02T00:00:00Z'), merged_into_id: 'q' },
    ]);
  });
});

describe('companies', () => {
  test.each([
    { listAt: 1, activityAt: 2, count: 20 },
    { listAt: 2, activityAt: 1, count: 10 },
  ])(
    'list, page and activity together, the younger count wins ($count)',
    async ({ listAt, activityAt, count }) => {
      await stand.store([
        {
          endpoint: 'companies',
          id: 'c',
          at: listAt,
          body: {
            name: 'C',
            isOrgCompany: false,
            isVip: true,
            messageCount: 10,
            personCount: 3,
            lastSeenAt: null,
            primaryDomain: 'c.io',
            logoUrl: 'l',
          },
        },
        {
          endpoint: 'company_activity',
          id: 'c',
          at: activityAt,
          body: {
            messageCount: 20,
            weeklyActivity: [1, 2],
            sourceStats: [
              { source: 'slack', messageCount: 4 },
              { source: 'slack', messageCount: 1 },
              { source: 'email', messageCount: null },
            ],
          },
        },
        {
          endpoint: 'company',
          id: 'c',
          at: 0,
          body: {
            name: 'Old name',
            createdAt: '2026-01-01T00:00:00Z',
            connections: { email: 'e', github: 'g', linkedin: null, phone: null, twitter: 't' },
          },
        },
        { endpoint: 'company_activity', id: 'unlisted', body: { messageCount: 1 } },
      ]);
      expect(await stand.project('companies')).toMatchObject([
        {
          id: 'c',
          name: 'C',
          primary_domain: 'c.io',
          logo_url: 'l',
          is_org_company: false,
          is_vip: true,
          person_count: 3,
          message_count: count,
          weekly_activity: [1, 2],
          last_seen_at: null,
          created_at: new Date('2026-01-01T00:00:00Z'),
          connections_email: 'e',
          connections_github: 'g',
          connections_twitter: 't',
          synced_at: instant(2),
        },
      ]);
      expect(await stand.project('company_source_stats')).toMatchObject([
        { company_id: 'c', source: 'email', message_count: null },
        { company_id: 'c', source: 'slack', message_count: 5 },
      ]);
    },
  );

  test('employees and identities', async () => {
    await stand.store([
      {
        endpoint: 'company_employees',
        id: 'p',
        parent: 'c',
        body: { id: 'p', name: 'Ann', avatarUrl: null },
      },
      {
        endpoint: 'company_identities',
        id: 'crm:1:2',
        parent: 'c',
        body: { id: 'i', platform: 'crm', platformId: '1:2', platformUsername: null },
      },
    ]);
    expect(await stand.project('company_employees')).toMatchObject([
      { company_id: 'c', person_id: 'p', name: 'Ann', avatar_url: null },
    ]);
    expect(await stand.project('company_identities')).toMatchObject([
      { company_id: 'c', platform: 'crm', platform_id: '1:2', id: 'i', platform_username: null },
    ]);
  });
});
