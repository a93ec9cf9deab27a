import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStand, type Row, type Stand } from './stand.js';
import { day, present, settle, talk, topic } from './town.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => settle(stand));
afterAll(() => stand.close());

const all = (sql: string) => stand.all(sql);
const one = async (sql: string): Promise<Row> => (await all(sql))[0] ?? {};

describe('the clock of the data', () => {
  test('is the latest time in the data, without wrong clocks of sources', async () => {
    await talk(stand, 'g', 't', [
      { by: 'ann', at: '2026-03-15T13:00:00Z', but: { synced_at: '2026-03-15T14:00:00Z' } },
      { by: 'ann', at: '2099-01-01T00:00:00Z', but: { synced_at: '2026-03-15T14:00:00Z' } },
    ]);
    expect(await one('SELECT as_of FROM data_as_of')).toEqual({ as_of: new Date('2026-03-15T13:00:00Z') });
    await stand.insert('history', [{ id: 'h', changed_at: '2026-03-16T00:00:00Z' }]);
    expect(await one('SELECT as_of FROM data_as_of')).toEqual({ as_of: new Date('2026-03-16T00:00:00Z') });
  });

  test('an empty warehouse has no time, and every view is empty', async () => {
    await stand.clear();
    const views = await all('SELECT view_name FROM duckdb_views() WHERE NOT internal');
    expect(views.length).toBeGreaterThan(10);
    for (const { view_name } of views) {
      if (view_name === 'business_hours') continue;
      const rows = await all(`FROM ${view_name}`);
      expect(rows).toEqual(view_name === 'data_as_of' ? [{ as_of: null, last_sync_at: null }] : []);
    }
  });
});

describe('final_ids', () => {
  test('follows merges to their end, and stops in a circle of merges', async () => {
    await stand.insert('people', [
      { id: 'x', merged_into_id: 'y' },
      { id: 'y', merged_into_id: 'ann' },
      { id: 'round', merged_into_id: 'about' },
      { id: 'about', merged_into_id: 'round' },
    ]);
    await stand.insert('merges', [
      { entity_type: 'person', source_id: 'before-us', target_id: 'x', merged_at: day(9) },
      { entity_type: 'person', source_id: 'bob', target_id: 'ann', merged_at: day(9) },
    ]);
    const rows = await all(
      "SELECT id, final_id FROM final_ids WHERE id NOT IN ('round', 'about') ORDER BY id",
    );
    expect(rows).toEqual([
      { id: 'before-us', final_id: 'ann' },
      { id: 'x', final_id: 'ann' },
      { id: 'y', final_id: 'ann' },
    ]);
  });
});

describe('who is who', () => {
  test('staff by a topic, or else by our own company; bots, VIPs and merged companies', async () => {
    await stand.insert('companies', [{ id: 'old-beta', merged_into_id: 'beta', deleted_at: day(1) }]);
    await stand.insert('people', [
      { id: 'colleague', company_id: 'us' },
      { id: 'taken-over', company_id: 'old-beta' },
      { id: 'gone', deleted_at: day(1) },
    ]);
    await stand.insert('topic_people', [
      { topic_id: 't', person_id: 'only-in-topic', is_staff: false, company_id: 'acme' },
    ]);
    const rows = await all(
      'SELECT * EXCLUDE (display_name, company_name) FROM person_roles ORDER BY person_id',
    );
    const nobody = { is_staff: false, is_bot: false, is_vip: false, is_company_vip: false };
    expect(rows).toEqual([
      { ...nobody, person_id: 'ann', company_id: 'acme', is_company_vip: true },
      { ...nobody, person_id: 'bob', company_id: 'beta' },
      { ...nobody, person_id: 'bot', company_id: null, is_bot: true },
      { ...nobody, person_id: 'colleague', company_id: 'us', is_staff: true },
      { ...nobody, person_id: 'eve', company_id: null },
      { ...nobody, person_id: 'only-in-topic', company_id: 'acme', is_company_vip: true },
      { ...nobody, person_id: 'staff', company_id: 'us', is_staff: true },
      { ...nobody, person_id: 'taken-over', company_id: 'beta' },
      { ...nobody, person_id: 'vip', company_id: 'acme', is_vip: true, is_company_vip: true },
    ]);
  });

  test('an account belongs to one person: not deleted, after merges, synced last', async () => {
    await stand.insert('people', [
      { id: 'merged', merged_into_id: 'ann', deleted_at: day(1) },
      { id: 'gone', deleted_at: day(1) },
    ]);
    await stand.insert('authors', [
      { id: 'a1', source_name: 'email', source_author_id: '1' },
      { id: 'a2', source_name: 'email', source_author_id: '2' },
      { id: 'a3', source_name: 'email', source_author_id: '3', display_name: 'A stranger' },
    ]);
    await stand.insert('person_identities', [
      { person_id: 'merged', platform: 'email', platform_id: '1', synced_at: day(1) },
      { person_id: 'gone', platform: 'email', platform_id: '2', synced_at: day(1) },
      { person_id: 'bob', platform: 'email', platform_id: '2', synced_at: day(3) },
      { person_id: 'eve', platform: 'email', platform_id: '2', synced_at: day(2) },
    ]);
    const rows = await all(
      "SELECT author_id, person_id, display_name FROM author_people WHERE author_id SIMILAR TO 'a[0-9]' ORDER BY ALL",
    );
    expect(rows).toEqual([
      { author_id: 'a1', person_id: 'ann', display_name: 'Name of ann' },
      { author_id: 'a2', person_id: 'eve', display_name: 'Name of eve' },
      { author_id: 'a3', person_id: null, display_name: 'A stranger' },
    ]);
  });

  test('each message has its side and its UTC week in any session time zone; deleted ones are left out', async () => {
    await talk(stand, 'g', 't', [
      { by: 'ann', at: '2026-03-08T23:59:59Z' },
      { by: 'staff', at: '2026-03-09T00:00:00Z' },
      { by: 'bot', at: '2026-03-09T00:00:01Z' },
      { by: 'bob', at: '2026-03-09T00:00:02Z', but: { is_internal: true } },
      { by: null, at: '2026-03-09T00:00:03Z' },
      { by: 'ann', at: '2026-03-09T00:00:04Z', but: { deleted_at: present } },
    ]);
    await stand.run("SET TimeZone = 'America/Los_Angeles'");
    const rows = await all(
      'SELECT message_id, week::VARCHAR AS week, side, sender_id FROM message_senders ORDER BY message_id',
    );
    await stand.run("SET TimeZone = 'UTC'");
    expect(rows).toEqual([
      { message_id: 'g1', week: '2026-03-02', side: 'external', sender_id: 'ann' },
      { message_id: 'g2', week: '2026-03-09', side: 'staff', sender_id: 'staff' },
      { message_id: 'g3', week: '2026-03-09', side: 'bot', sender_id: 'bot' },
      { message_id: 'g4', week: '2026-03-09', side: 'staff', sender_id: 'bob' },
      { message_id: 'g5', week: '2026-03-09', side: 'external', sender_id: null },
    ]);
  });
});

describe('backlog', () => {
  test.each([
    { deleted_at: day(1) },
    { archived_at: day(1) },
    { merged_into_id: 't' },
    { graph_status: 'superseded' },
    { graph_status: 'archived' },
    { lifecycle_state: 'completed' },
    { lifecycle_state: 'dismissed' },
    { detail_unavailable_reason: 'archived_in_v1_to_v2_migration' },
  ])('leaves out %o', async (but) => {
    await stand.insert('topics', [topic('closed', but)]);
    expect(await all('SELECT topic_id FROM backlog')).toEqual([{ topic_id: 't' }]);
  });

  test.each([
    { lifecycle_state: null },
    { lifecycle_state: 'in_progress' },
    { lifecycle_state: 'unknown' },
    { graph_status: null },
  ])('keeps %o', async (but) => {
    await stand.insert('topics', [topic('kept', but)]);
    expect(await all('SELECT topic_id FROM backlog ORDER BY 1')).toEqual([
      { topic_id: 'kept' },
      { topic_id: 't' },
    ]);
  });

  test('counts people without staff and bots, each once after merges; age and momentum', async () => {
    await stand.insert('people', [{ id: 'second-ann', merged_into_id: 'ann', deleted_at: day(1) }]);
    await stand.insert('topic_people', [{ topic_id: 't', person_id: 'second-ann', is_staff: false }]);
    await stand.run(
      "UPDATE topics SET priority = 'high', total_group_count = 3, staff_response_group_count = 1",
    );
    await talk(stand, 'g', 't', [
      { by: 'ann', at: day(13) },
      { by: 'ann', at: day(8) },
      { by: 'bob', at: day(1) },
      { by: 'vip', at: day(2) },
      { by: 'vip', at: day(3) },
      { by: 'staff', at: day(1) },
      { by: 'bot', at: day(1) },
      { by: 'ann', at: '2099-01-01T00:00:00Z' },
    ]);
    expect(await one('FROM backlog')).toMatchObject({
      topic_id: 't',
      priority: 'high',
      priority_rank: 2,
      age_days: 30,
      people: 4,
      companies: 2,
      vip_people: 1,
      vip_companies: 1,
      staff: 1,
      conversations_without_staff: 2,
      messages_last_7_days: 3,
      messages_7_days_before: 2,
      momentum: 1,
      last_message_at: new Date(day(1)),
    });
  });
});

describe('activity by week', () => {
  test('of topics and companies, from the messages', async () => {
    await stand.insert('topics', [topic('deleted', { deleted_at: day(1) })]);
    await talk(stand, 'g', 't', [
      { by: 'ann', at: '2026-03-03T10:00:00Z' },
      { by: 'vip', at: '2026-03-04T10:00:00Z' },
      { by: 'staff', at: '2026-03-04T11:00:00Z' },
      { by: 'bot', at: '2026-03-04T12:00:00Z' },
      { by: 'bob', at: '2026-03-10T10:00:00Z' },
    ]);
    await talk(stand, 'h', 'deleted', [{ by: 'ann', at: '2026-03-05T10:00:00Z' }]);
    expect(
      await all(
        'SELECT * EXCLUDE (title) REPLACE (week::VARCHAR AS week) FROM topic_weekly_activity ORDER BY week',
      ),
    ).toEqual([
      {
        topic_id: 't',
        week: '2026-03-02',
        messages: 2,
        people: 2,
        companies: 1,
        conversations: 1,
        staff_messages: 1,
        bot_messages: 1,
      },
      {
        topic_id: 't',
        week: '2026-03-09',
        messages: 1,
        people: 1,
        companies: 1,
        conversations: 1,
        staff_messages: 0,
        bot_messages: 0,
      },
    ]);
    expect(
      await all('SELECT * REPLACE (week::VARCHAR AS week) FROM company_weekly_activity ORDER BY week, name'),
    ).toEqual([
      { company_id: 'acme', name: 'Acme', week: '2026-03-02', messages: 3, people: 2, conversations: 2 },
      { company_id: 'beta', name: 'Beta', week: '2026-03-09', messages: 1, people: 1, conversations: 1 },
    ]);
  });

  test('the mix of sources, whose shares of a week make one', async () => {
    await talk(stand, 'g', null, [
      { by: 'ann', at: day(1) },
      { by: 'bob', at: day(1) },
      { by: 'bob', at: day(1) },
      { by: 'ann', at: day(1), but: { source_name: 'email' } },
      { by: 'staff', at: day(1), but: { source_name: 'email' } },
    ]);
    expect(
      await all('SELECT source_name, messages, people, companies, share FROM source_mix ORDER BY 1'),
    ).toEqual([
      { source_name: 'email', messages: 1, people: 1, companies: 1, share: 0.25 },
      { source_name: 'slack', messages: 3, people: 2, companies: 2, share: 0.75 },
    ]);
  });
});

describe('unanswered_groups', () => {
  test('an answer is public, by staff, and comes after the question', async () => {
    await talk(stand, 'answered', 't', [
      { by: 'ann', at: day(2) },
      { by: 'staff', at: day(1) },
    ]);
    await talk(stand, 'noted', 't', [
      { by: 'vip', at: day(2) },
      { by: 'staff', at: day(1), but: { is_internal: true } },
      { by: 'bob', at: day(1) },
    ]);
    await talk(stand, 'announced', 't', [
      { by: 'staff', at: day(3) },
      { by: 'bob', at: day(2, 1) },
    ]);
    await talk(stand, 'by-bot', 't', [
      { by: 'eve', at: day(2) },
      { by: 'bot', at: day(1) },
    ]);
    await talk(stand, 'withdrawn', 't', [
      { by: 'ann', at: day(2) },
      { by: 'staff', at: day(1), but: { deleted_at: present } },
    ]);
    await talk(stand, 'among-staff', 't', [{ by: 'staff', at: day(2) }]);
    await talk(stand, 'archived', 't', [{ by: 'ann', at: day(2) }]);
    await stand.run("UPDATE groups SET archived_at = now() WHERE id = 'archived'");
    const rows = await all('FROM unanswered_groups ORDER BY group_id');
    expect(rows.map(({ group_id }) => group_id)).toEqual(['announced', 'by-bot', 'noted', 'withdrawn']);
    expect(rows[0]).toMatchObject({
      waiting_hours: 47,
      messages: 1,
      people: 1,
      companies: 1,
      is_vip: false,
      opened_at: new Date(day(2, 1)),
    });
    expect(rows[2]).toMatchObject({
      title: 'Title of noted',
      topic_id: 't',
      topic_title: 'Title of t',
      waiting_hours: 48,
      messages: 2,
      people: 2,
      companies: 2,
      is_vip: true,
      internal_notes: 1,
      community_answers: 1,
      last_message_at: new Date(day(1)),
    });
  });

  test('of several topics, the most urgent one that still exists counts for a conversation', async () => {
    await stand.insert('topics', [
      topic('urgent', { priority: 'high' }),
      topic('dead', { priority: 'very_high', deleted_at: day(1) }),
    ]);
    await talk(stand, 'g', 't', [{ by: 'ann', at: day(2) }]);
    await stand.insert('topic_groups', [
      { topic_id: 'urgent', group_id: 'g' },
      { topic_id: 'dead', group_id: 'g' },
    ]);
    await talk(stand, 'h', null, [{ by: 'ann', at: day(2) }]);
    expect(await all('SELECT group_id, topic_id, topic_priority FROM unanswered_groups ORDER BY 1')).toEqual([
      { group_id: 'g', topic_id: 'urgent', topic_priority: 'high' },
      { group_id: 'h', topic_id: null, topic_priority: null },
    ]);
  });
});

describe('company_health', () => {
  test.each([
    { last: 0, before: 2, trend: 'silent' },
    { last: 2, before: 0, trend: 'new' },
    { last: 3, before: 2, trend: 'growing' },
    { last: 2, before: 3, trend: 'fading' },
    { last: 4, before: 3, trend: 'steady' },
  ])('$before messages, then $last: $trend', async ({ last, before, trend }) => {
    await talk(stand, 'g', 't', [
      ...Array.from({ length: before }, () => ({ by: 'bob', at: day(40) })),
      ...Array.from({ length: last }, () => ({ by: 'bob', at: day(3) })),
    ]);
    expect(await one("FROM company_health WHERE company_id = 'beta'")).toMatchObject({
      trend,
      messages: last + before,
      messages_last_28_days: last,
      messages_28_days_before: before,
      days_silent: last > 0 ? 3 : 40,
      people: 1,
      people_who_wrote: 1,
      unanswered_groups: 1,
      open_topics: 1,
      urgent_topics: 0,
    });
  });

  test('one row per company, without our own and deleted ones, with what it waits for', async () => {
    await stand.insert('people', [
      { id: 'on-our-side', company_id: 'beta' },
      { id: 'their-bot', company_id: 'beta' },
    ]);
    await stand.insert('topic_people', [
      { topic_id: 'urgent', person_id: 'on-our-side', is_staff: true },
      { topic_id: 'urgent', person_id: 'their-bot', is_bot: true },
    ]);
    await stand.insert('companies', [{ id: 'gone', deleted_at: day(1) }]);
    await stand.insert('topics', [
      topic('urgent', { priority: 'very_high' }),
      topic('done', { lifecycle_state: 'completed' }),
    ]);
    await stand.insert('topic_people', [
      { topic_id: 'urgent', person_id: 'ann' },
      { topic_id: 'urgent', person_id: 'vip' },
      { topic_id: 'done', person_id: 'ann' },
    ]);
    const rows = await all(
      'SELECT company_id, is_vip, open_topics, urgent_topics, messages, trend FROM company_health ORDER BY 1',
    );
    expect(rows).toEqual([
      { company_id: 'acme', is_vip: true, open_topics: 2, urgent_topics: 1, messages: 0, trend: 'silent' },
      { company_id: 'beta', is_vip: false, open_topics: 1, urgent_topics: 0, messages: 0, trend: 'silent' },
    ]);
  });
});

describe('top_helpers', () => {
  test('people who answer publicly what others opened', async () => {
    await talk(stand, 'g', 't', [
      { by: 'ann', at: day(2) },
      { by: 'bot', at: day(2, 1) },
      { by: 'staff', at: day(2, 1), but: { is_internal: true } },
      { by: 'bob', at: day(2, 2) },
      { by: 'ann', at: day(2, 3) },
      { by: 'staff', at: day(2, 4) },
      { by: 'staff', at: day(2, 5) },
    ]);
    await talk(stand, 'h', 't', [
      { by: 'staff', at: day(3) },
      { by: 'eve', at: day(2) },
      { by: 'staff', at: day(2, 1) },
    ]);
    await stand.insert('message_reactions', [
      { message_id: 'g6', identifier: 'heart', count: 2 },
      { message_id: 'g6', identifier: 'up', count: 1 },
      { message_id: 'h1', identifier: 'up', count: 9 },
    ]);
    expect(
      await all('SELECT * EXCLUDE (display_name, company_id) FROM top_helpers ORDER BY person_id'),
    ).toEqual([
      {
        person_id: 'bob',
        is_staff: false,
        company_name: 'Beta',
        conversations_helped: 1,
        people_helped: 1,
        answers: 1,
        first_answers: 1,
        median_minutes_to_first_answer: 120,
        reactions: 0,
        last_helped_at: new Date(day(2, 2)),
      },
      {
        person_id: 'staff',
        is_staff: true,
        company_name: 'Us',
        conversations_helped: 2,
        people_helped: 2,
        answers: 3,
        first_answers: 1,
        median_minutes_to_first_answer: 60,
        reactions: 3,
        last_helped_at: new Date(day(2, 5)),
      },
    ]);
  });
});

describe('history', () => {
  const change = (id: string, at: string, changes: object, previous: object | null, but: Row = {}): Row => ({
    id,
    entity_type: 'topic',
    entity_id: 't',
    changed_at: at,
    changed_by: 'user',
    user_name: 'Ann',
    operation: 'UPDATE',
    changes,
    previous_values: previous,
    ...but,
  });

  test('transitions of lifecycle and priority, from the previous values or the previous record', async () => {
    await stand.insert('topics', [topic('deleted', { deleted_at: day(1) })]);
    await stand.insert('history', [
      change('1', day(20), { lifecycleState: 'open', priority: 'default', title: 'x' }, null, {
        operation: 'INSERT',
        changed_by: 'agent',
      }),
      change('2', day(10), { lifecycleState: 'in_progress' }, { lifecycleState: 'open' }),
      change('3', day(9), { priority: 'very_high', lifecycleState: 'in_progress' }, null),
      change('4', day(8), { title: 'y' }, { title: 'x' }),
      change(
        '5',
        day(7),
        { priority: 'low', lifecycleState: null },
        { priority: 'very_high', lifecycleState: 'in_progress' },
      ),
      change('6', day(7), { priority: 'low' }, { priority: 'high' }, { entity_id: 'deleted' }),
      change('7', day(7), { priority: 'low' }, { priority: 'high' }, { entity_type: 'company' }),
    ]);
    expect(
      await all(
        'SELECT history_id, from_state, to_state, days_in_from_state FROM lifecycle_transitions ORDER BY 1',
      ),
    ).toEqual([
      { history_id: '1', from_state: null, to_state: 'open', days_in_from_state: null },
      { history_id: '2', from_state: 'open', to_state: 'in_progress', days_in_from_state: 10 },
      { history_id: '5', from_state: 'in_progress', to_state: null, days_in_from_state: 3 },
    ]);
    expect(
      await all(
        'SELECT history_id, from_priority, to_priority, direction FROM priority_transitions ORDER BY 1',
      ),
    ).toEqual([
      { history_id: '1', from_priority: null, to_priority: 'default', direction: null },
      { history_id: '3', from_priority: 'default', to_priority: 'very_high', direction: 'raised' },
      { history_id: '5', from_priority: 'very_high', to_priority: 'low', direction: 'lowered' },
    ]);
  });

  test('changes of the last sync, without rows whose time alone moved', async () => {
    await stand.insert('ops.runs', [
      { run_id: 'r1', command: 'sync', started_at: day(1) },
      { run_id: 'r2', command: 'sync', started_at: day(0) },
      { run_id: 'r2-plan', command: 'plan', started_at: day(0) },
    ]);
    await stand.run("UPDATE topics SET run_id = 'r2'");
    await stand.insert('topics', [
      topic('gone', { deleted_at: day(0, 1), deleted_reason: 'archived_in_v1_to_v2_migration' }),
    ]);
    await stand.insert('people', [
      { id: 'm', display_name: 'M', deleted_at: day(0, 1), merged_into_id: 'ann' },
      { id: 'before', deleted_at: day(2) },
    ]);
    await stand.insert('history', [
      change('1', day(2), { priority: 'low' }, null, { run_id: 'r1' }),
      change(
        '2',
        day(1),
        { priority: 'high', archivedAt: null, keywords: ['a'] },
        { priority: 'low' },
        { run_id: 'r2' },
      ),
      change('3', day(1), { name: 'New' }, null, {
        run_id: 'r2',
        operation: 'INSERT',
        entity_type: 'company',
        entity_id: 'acme',
        user_name: null,
      }),
    ]);
    await talk(stand, 'g', 't', [
      { by: 'ann', at: day(3), but: { run_id: 'r1' } },
      { by: 'ann', at: day(1), but: { run_id: 'r2' } },
      { by: 'ann', at: day(1, 1), but: { run_id: 'r2' } },
      { by: 'ann', at: day(5), but: { run_id: 'r2', edited_at: day(1) } },
      { by: 'ann', at: day(5), but: { run_id: 'r2', edited_at: day(2), deleted_at: day(1) } },
    ]);
    expect(
      await all('SELECT * EXCLUDE (changed_at) FROM recent_changes ORDER BY entity_type, entity_id, change'),
    ).toEqual([
      {
        entity_type: 'company',
        entity_id: 'acme',
        name: 'Acme',
        change: 'created',
        details: null,
        changed_by: 'user',
      },
      {
        entity_type: 'person',
        entity_id: 'm',
        name: 'M',
        change: 'merged',
        details: 'into ann',
        changed_by: null,
      },
      {
        entity_type: 'topic',
        entity_id: 'gone',
        name: 'Title of gone',
        change: 'gone',
        details: 'archived_in_v1_to_v2_migration',
        changed_by: null,
      },
      {
        entity_type: 'topic',
        entity_id: 't',
        name: 'Title of t',
        change: 'messages',
        details: '2',
        changed_by: null,
      },
      {
        entity_type: 'topic',
        entity_id: 't',
        name: 'Title of t',
        change: 'messages deleted',
        details: '1',
        changed_by: null,
      },
      {
        entity_type: 'topic',
        entity_id: 't',
        name: 'Title of t',
        change: 'messages edited',
        details: '1',
        changed_by: null,
      },
      {
        entity_type: 'topic',
        entity_id: 't',
        name: 'Title of t',
        change: 'updated',
        details: 'archivedAt: nothing -> nothing, keywords: nothing -> ["a"], priority: low -> high',
        changed_by: 'Ann',
      },
    ]);
  });
});

test('story_buckets', async () => {
  await stand.store([
    {
      endpoint: 'story_buckets',
      id: 'unread',
      body: {
        archivedCount: 1,
        everythingCount: 200,
        forYouCount: 3,
        unreadCount: 4,
        visitedThrough: '2026-01-01T00:00:00Z',
      },
    },
  ]);
  expect(await one('FROM story_buckets')).toMatchObject({
    bucket: 'unread',
    archived_count: 1,
    everything_count: 200,
    for_you_count: 3,
    unread_count: 4,
    visited_through: new Date('2026-01-01T00:00:00Z'),
  });
});
