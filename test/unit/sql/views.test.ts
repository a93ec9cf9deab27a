import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStand, type Row, type Stand } from './stand.js';
import { day, lines, present, settle, talk, topic } from './town.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => settle(stand));

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
    expect(views).not.toEqual([]);
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
    const roles = `SELECT person_id, company_id, CASE WHEN is_staff THEN 'staff' END AS staff, CASE WHEN is_bot THEN 'bot' END AS bot,
      CASE WHEN is_vip THEN 'vip' END AS vip, CASE WHEN is_company_vip THEN 'of a vip' END AS of_vip FROM person_roles`;
    expect(await lines(stand, `${roles} ORDER BY person_id`)).toEqual([
      ...['ann | acme | - | - | - | of a vip', 'bob | beta | - | - | - | -', 'bot | - | - | bot | - | -'],
      ...['colleague | us | staff | - | - | -', 'eve | - | - | - | - | -'],
      ...['only-in-topic | acme | - | - | - | of a vip', 'staff | us | staff | - | - | -'],
      ...['taken-over | beta | - | - | - | -', 'vip | acme | - | - | vip | of a vip'],
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
    const ofAccounts = "FROM author_people WHERE author_id SIMILAR TO 'a[0-9]' ORDER BY ALL";
    expect(await lines(stand, `SELECT author_id, person_id, display_name ${ofAccounts}`)).toEqual([
      ...['a1 | ann | Name of ann', 'a2 | eve | Name of eve', 'a3 | - | A stranger'],
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
    const senders =
      'SELECT message_id, week::VARCHAR AS week, side, sender_id FROM message_senders ORDER BY ALL';
    const found = await lines(stand, senders);
    await stand.run("SET TimeZone = 'UTC'");
    expect(found).toEqual([
      ...['g1 | 2026-03-02 | external | ann', 'g2 | 2026-03-09 | staff | staff'],
      ...['g3 | 2026-03-09 | bot | bot', 'g4 | 2026-03-09 | staff | bob', 'g5 | 2026-03-09 | external | -'],
    ]);
  });
});

describe('backlog', () => {
  test('has what is open, whatever else is not known', async () => {
    const closed = [
      ...[{ deleted_at: day(1) }, { archived_at: day(1) }, { merged_into_id: 't' }],
      ...['superseded', 'archived'].map((graph_status) => ({ graph_status })),
      ...['completed', 'dismissed'].map((lifecycle_state) => ({ lifecycle_state })),
      { detail_unavailable_reason: 'archived_in_v1_to_v2_migration' },
    ];
    await stand.insert('topics', [
      ...closed.map((but, index) => topic(`closed ${index}`, but)),
      ...[null, 'in_progress', 'unknown'].map((state) => topic(`is ${state}`, { lifecycle_state: state })),
      topic('without status', { graph_status: null }),
    ]);
    const open = await lines(stand, 'SELECT topic_id FROM backlog ORDER BY 1');
    expect(open).toEqual(['is in_progress', 'is null', 'is unknown', 't', 'without status']);
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
    const counts = 'messages, people, companies, conversations, staff_messages, bot_messages';
    const ofTopics = `SELECT topic_id, week::VARCHAR AS week, ${counts} FROM topic_weekly_activity ORDER BY week`;
    expect(await lines(stand, ofTopics)).toEqual([
      ...['t | 2026-03-02 | 2 | 2 | 1 | 1 | 1 | 1', 't | 2026-03-09 | 1 | 1 | 1 | 1 | 0 | 0'],
    ]);
    const ofCompanies = `SELECT company_id, name, week::VARCHAR AS week, messages, people, conversations
      FROM company_weekly_activity ORDER BY week, name`;
    expect(await lines(stand, ofCompanies)).toEqual([
      ...['acme | Acme | 2026-03-02 | 3 | 2 | 2', 'beta | Beta | 2026-03-09 | 1 | 1 | 1'],
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
    const mix = 'SELECT source_name, messages, people, companies, share FROM source_mix ORDER BY 1';
    expect(await lines(stand, mix)).toEqual(['email | 1 | 1 | 1 | 0.25', 'slack | 3 | 2 | 2 | 0.75']);
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

test('companies_at_risk write less than before while something is open, or are VIPs and wait', async () => {
  await stand.insert('companies', [{ id: 'gamma', name: 'Gamma', is_vip: true }]);
  await stand.insert('people', [{ id: 'gil', company_id: 'gamma' }]);
  await stand.insert('authors', [
    { id: 'agil', source_author_id: 'gil', source_name: 'slack', is_bot: false },
  ]);
  await stand.insert('person_identities', [{ person_id: 'gil', platform: 'slack', platform_id: 'gil' }]);
  await stand.insert('topics', [topic('open')]);
  await stand.insert('topic_people', [{ topic_id: 'open', person_id: 'ann' }]);
  const write = (by: string, ...days: number[]) => days.map((one) => ({ by, at: day(one) }));
  await talk(stand, 'fading', 'open', [...write('ann', 45, 44, 43, 3), ...write('staff', 2)]);
  await talk(stand, 'steady', null, write('bob', 40, 39, 3, 2));
  await talk(stand, 'waits', null, write('gil', 4));
  const columns = `company_id, reason, trend, open_topics, open_conversations, waiting_conversations, longest_wait_hours,
    day(last_staff_reply_at AT TIME ZONE 'UTC')`;
  const replied = new Date(day(2)).getUTCDate();
  expect(await lines(stand, `SELECT ${columns} FROM companies_at_risk ORDER BY 1`)).toEqual([
    `acme | fading | fading | 2 | 1 | 0 | - | ${replied}`,
    'gamma | vip_waits | new | 0 | 0 | 1 | 96 | -',
  ]);
  const [backlog] = await all("SELECT last_staff_reply_at FROM backlog WHERE topic_id = 'open'");
  expect(backlog).toEqual({ last_staff_reply_at: new Date(day(2)) });
});

describe('company_health', () => {
  test('the trend compares four weeks with the four before', async () => {
    const trends = [
      { last: 0, before: 2, trend: 'silent' },
      { last: 2, before: 0, trend: 'new' },
      { last: 3, before: 2, trend: 'growing' },
      { last: 2, before: 3, trend: 'fading' },
      { last: 4, before: 3, trend: 'steady' },
    ];
    const account = { source_name: 'slack', is_bot: false };
    for (const { last, before, trend: id } of trends) {
      await stand.insert('companies', [{ id, name: id, is_org_company: false }]);
      await stand.insert('people', [{ id, company_id: id }]);
      await stand.insert('authors', [{ id: `a${id}`, source_author_id: id, ...account }]);
      await stand.insert('person_identities', [{ person_id: id, platform: 'slack', platform_id: id }]);
      await talk(stand, id, null, [
        ...Array.from({ length: before }, () => ({ by: id, at: day(40) })),
        ...Array.from({ length: last }, () => ({ by: id, at: day(3) })),
      ]);
    }
    const columns =
      'company_id, trend, messages_last_28_days, messages_28_days_before, days_silent, unanswered_groups';
    const health = await lines(stand, `SELECT ${columns} FROM company_health WHERE messages > 0 ORDER BY 1`);
    const expected = trends.map(
      ({ last, before, trend }) => `${trend} | ${trend} | ${last} | ${before} | ${last > 0 ? 3 : 40} | 1`,
    );
    expect(health).toEqual(expected.sort());
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
    const columns = 'company_id, is_vip, open_topics, urgent_topics, messages, people, trend';
    expect(await lines(stand, `SELECT ${columns} FROM company_health ORDER BY 1`)).toEqual([
      ...['acme | true | 2 | 1 | 0 | 2 | silent', 'beta | false | 1 | 0 | 0 | 1 | silent'],
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
    const columns = `person_id, is_staff, company_name, conversations_helped, people_helped, answers, first_answers,
      median_minutes_to_first_answer, reactions, last_helped_at`;
    expect(await lines(stand, `SELECT ${columns} FROM top_helpers ORDER BY person_id`)).toEqual([
      'bob | false | Beta | 1 | 1 | 1 | 1 | 120 | 0 | 2026-03-13T14:00',
      'staff | true | Us | 2 | 2 | 3 | 1 | 60 | 3 | 2026-03-13T17:00',
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
    const states = 'history_id, from_state, to_state, days_in_from_state FROM lifecycle_transitions';
    expect(await lines(stand, `SELECT ${states} ORDER BY 1`)).toEqual([
      ...['1 | - | open | -', '2 | open | in_progress | 10', '5 | in_progress | - | 3'],
    ]);
    const priorities = 'history_id, from_priority, to_priority, direction FROM priority_transitions';
    expect(await lines(stand, `SELECT ${priorities} ORDER BY 1`)).toEqual([
      ...['1 | - | default | -', '3 | default | very_high | raised', '5 | very_high | low | lowered'],
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
    const columns = 'entity_type, entity_id, name, change, details, changed_by';
    expect(await lines(stand, `SELECT ${columns} FROM recent_changes ORDER BY 1, 2, change`)).toEqual([
      'company | acme | Acme | created | - | user',
      'person | m | M | merged | into ann | -',
      'topic | gone | Title of gone | gone | archived_in_v1_to_v2_migration | -',
      'topic | t | Title of t | messages | 2 | -',
      'topic | t | Title of t | messages deleted | 1 | -',
      'topic | t | Title of t | messages edited | 1 | -',
      'topic | t | Title of t | updated | archivedAt: nothing -> nothing, keywords: nothing -> ["a"], priority: low -> high | Ann',
    ]);
  });
});
