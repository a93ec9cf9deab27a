import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStand, type Row, type Stand } from './stand.js';
import { by, day, lines, present, settle, talk, topic } from './town.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => settle(stand));

const all = (sql: string) => stand.all(sql);
const one = async (sql: string): Promise<Row> => (await all(sql))[0] ?? {};

/** A record of the history of topic `t`. */
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

describe('the clock of the data', () => {
  test('is the latest time in the data, without wrong clocks of sources', async () => {
    await talk(stand, 'g', 't', [
      by('ann', '2026-03-15T13:00:00Z', { synced_at: '2026-03-15T14:00:00Z' }),
      by('ann', '2099-01-01T00:00:00Z', { synced_at: '2026-03-15T14:00:00Z' }),
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
      const nothing = { as_of: null, last_sync_at: null, requests_left: null, is_complete: null };
      expect(rows).toEqual(view_name === 'data_as_of' ? [nothing] : []);
    }
  });
});

// "Attempted to access index 0 within vector of size 0", now and then on several threads, after which the file has to be opened
// again (duckdb#25713, in 1.5.5): a subquery counts as well.
test('no SQL file has an aggregate over all rows as a window', () => {
  const sql = fileURLToPath(new URL('../../../sql/', import.meta.url));
  const files = readdirSync(sql, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sql'),
  );
  expect(files).toContain('views/33_message_search.sql');
  expect(files.filter((name) => /OVER\s*\(\s*\)/i.test(readFileSync(`${sql}${name}`, 'utf8')))).toEqual([]);
});

test('every view gives the same answer in any session time zone, also after a change of its clocks', async () => {
  // The clocks of Los Angeles changed on 2026-03-08: days are not 24 hours there.
  const edges = [7, 14, 28, 56].flatMap((ago) => [by('ann', day(ago, -0.5)), by('bob', day(ago, 0.5))]);
  await talk(stand, 'g', 't', [...edges.toReversed(), by('staff', 1), by('vip', 0.5)]);
  await talk(stand, 'h', 't', [by('eve', 10)]);
  await stand.insert('history', [
    {
      id: 'h1',
      entity_type: 'topic',
      entity_id: 't',
      changed_at: day(20),
      changes: '{"lifecycleState": "unknown"}',
    },
    {
      id: 'h2',
      entity_type: 'topic',
      entity_id: 't',
      changed_at: day(1),
      changes: '{"lifecycleState": "open"}',
    },
  ]);
  await stand.insert('topics', [topic('gone', { deleted_at: day(1) })]);
  await stand.insert('topic_versions', [
    { topic_id: 't', valid_from: day(9), graph_status: 'archived', archived_at: day(10) },
    { topic_id: 't', valid_from: day(8), graph_status: 'active', archived_at: null },
  ]);
  const views = await all('SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL');
  const answers = async (timezone: string) => {
    await stand.run(`SET TimeZone = '${timezone}'`);
    const rows: [unknown, Row[]][] = [];
    for (const { view_name } of views) rows.push([view_name, await all(`FROM ${view_name} ORDER BY ALL`)]);
    for (const call of [`backlog_as_of('${day(0)}')`, "changes_since('2026-03-01')"])
      rows.push([call, await all(`FROM ${call} ORDER BY ALL`)]);
    await stand.run("SET TimeZone = 'UTC'");
    return rows;
  };
  expect(await answers('America/Los_Angeles')).toEqual(await answers('UTC'));
});

test('final_ids follows merges to their end, and stops in a circle of merges', async () => {
  await stand.insert('people', [
    { id: 'x', merged_into_id: 'y' },
    { id: 'y', merged_into_id: 'ann' },
    { id: 'round', merged_into_id: 'about' },
    { id: 'about', merged_into_id: 'round' },
    { id: 'outside', merged_into_id: 'round' },
    ...Array.from({ length: 30 }, (_, n) => ({
      id: `link${n}`,
      merged_into_id: n === 29 ? 'ann' : `link${n + 1}`,
    })),
  ]);
  await stand.insert('merges', [
    { entity_type: 'person', source_id: 'before-us', target_id: 'x', merged_at: day(9) },
    { entity_type: 'person', source_id: 'bob', target_id: 'ann', merged_at: day(9) },
  ]);
  const rows = await all(
    "SELECT id, final_id FROM final_ids WHERE id IN ('before-us', 'x', 'y', 'bob') ORDER BY id",
  );
  expect(rows).toEqual([
    { id: 'before-us', final_id: 'ann' },
    { id: 'x', final_id: 'ann' },
    { id: 'y', final_id: 'ann' },
  ]);
  expect(await all("SELECT DISTINCT final_id FROM final_ids WHERE id LIKE 'link%'")).toEqual([
    { final_id: 'ann' },
  ]);
  expect(await all("SELECT id, final_id FROM final_ids WHERE id IN ('round', 'about') ORDER BY id")).toEqual([
    { id: 'about', final_id: 'round' },
    { id: 'round', final_id: 'about' },
  ]);
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
      // A topic that is not listed any more keeps the company that she has left.
      { topic_id: 't', person_id: 'has-left', company_id: null, synced_at: day(1) },
      { topic_id: 'superseded', person_id: 'has-left', company_id: 'acme', synced_at: day(9) },
    ]);
    const roles = `SELECT person_id, company_id, CASE WHEN is_staff THEN 'staff' END AS staff, CASE WHEN is_bot THEN 'bot' END AS bot,
      CASE WHEN is_vip THEN 'vip' END AS vip, CASE WHEN is_company_vip THEN 'of a vip' END AS of_vip FROM person_roles`;
    expect(await lines(stand, `${roles} ORDER BY person_id`)).toEqual([
      'ann | acme | - | - | - | of a vip',
      'bob | beta | - | - | - | -',
      'bot | - | - | bot | - | -',
      'colleague | us | staff | - | - | -',
      'eve | - | - | - | - | -',
      'has-left | - | - | - | - | -',
      'only-in-topic | acme | - | - | - | of a vip',
      'staff | us | staff | - | - | -',
      'taken-over | beta | - | - | - | -',
      'vip | acme | - | - | vip | of a vip',
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
      'a1 | ann | Name of ann',
      'a2 | eve | Name of eve',
      'a3 | - | A stranger',
    ]);
  });

  test('each message has its side and its UTC week in any session time zone; deleted ones are left out', async () => {
    await talk(stand, 'g', 't', [
      by('ann', '2026-03-08T23:59:59Z'),
      by('staff', '2026-03-09T00:00:00Z'),
      by('bot', '2026-03-09T00:00:01Z'),
      by('bob', '2026-03-09T00:00:02Z', { is_internal: true }),
      by(null, '2026-03-09T00:00:03Z'),
      by('ann', '2026-03-09T00:00:04Z', { deleted_at: present }),
    ]);
    await stand.run("SET TimeZone = 'America/Los_Angeles'");
    const senders =
      'SELECT message_id, week::VARCHAR AS week, side, sender_id FROM message_senders ORDER BY ALL';
    const found = await lines(stand, senders);
    await stand.run("SET TimeZone = 'UTC'");
    expect(found).toEqual([
      'g1 | 2026-03-02 | external | ann',
      'g2 | 2026-03-09 | staff | staff',
      'g3 | 2026-03-09 | bot | bot',
      'g4 | 2026-03-09 | staff | bob',
      'g5 | 2026-03-09 | external | -',
    ]);
  });
});

describe('backlog', () => {
  test('has what is open, whatever else is not known', async () => {
    const closed = [
      { deleted_at: day(1) },
      { archived_at: day(1) },
      { merged_into_id: 't' },
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
      "UPDATE topics SET priority = 'high', priority_rank = 2, total_group_count = 3, staff_response_group_count = 1",
    );
    await talk(stand, 'g', 't', [
      by('ann', 13),
      by('ann', 8),
      by('bob', 1),
      by('vip', 2),
      by('vip', 3),
      by('staff', 1),
      by('bot', 1),
      by('ann', '2099-01-01T00:00:00Z'),
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
      last_staff_reply_at: new Date(day(1)),
    });
  });
});

describe('history', () => {
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
      '1 | - | open | -',
      '2 | open | in_progress | 10',
      '5 | in_progress | - | 3',
    ]);
    const priorities = 'history_id, from_priority, to_priority, direction FROM priority_transitions';
    expect(await lines(stand, `SELECT ${priorities} ORDER BY 1`)).toEqual([
      '1 | - | default | -',
      '3 | default | very_high | raised',
      '5 | very_high | low | lowered',
    ]);
  });

  test('a previous value of null counts, also where the record that set it is missing', async () => {
    await stand.insert('history', [
      change('1', day(20), { lifecycleState: 'open' }, null),
      change('2', day(10), { lifecycleState: 'open' }, { lifecycleState: null }),
    ]);
    expect(
      await lines(stand, 'SELECT history_id, from_state, to_state FROM lifecycle_transitions ORDER BY 1'),
    ).toEqual(['1 | - | open', '2 | - | open']);
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
      by('ann', 3, { run_id: 'r1' }),
      by('ann', 1, { run_id: 'r2' }),
      by('ann', day(1, 1), { run_id: 'r2' }),
      by('ann', 5, { run_id: 'r2', edited_at: day(1) }),
      by('ann', 5, { run_id: 'r2', edited_at: day(2), deleted_at: day(1) }),
      // A reaction to a message that is not new.
      by('ann', 5, { run_id: 'r2' }),
      by('ann', 5, { run_id: 'r2', edited_at: day(4) }),
    ]);
    const columns = 'entity_type, entity_id, name, change, details, changed_by';
    expect(await lines(stand, `SELECT ${columns} FROM recent_changes ORDER BY 1, 2, change`)).toEqual([
      'company | acme | Acme | created | - | user',
      'person | m | M | merged | into ann | -',
      'topic | gone | Title of gone | gone | archived_in_v1_to_v2_migration | -',
      'topic | t | Title of t | messages | 2 | -',
      'topic | t | Title of t | messages deleted | 1 | -',
      'topic | t | Title of t | messages edited | 1 | -',
      'topic | t | Title of t | older messages | 2 | -',
      'topic | t | Title of t | updated | archived_at: nothing -> nothing, keywords: nothing -> ["a"], priority: low -> high | Ann',
    ]);
  });
});

describe('what is different since a day', () => {
  const since = (
    moment: string,
    columns = 'entity_type, entity_id, field, old_value, new_value, changed_by, source',
  ) => lines(stand, `SELECT ${columns} FROM changes_since('${moment}') ORDER BY ALL`);

  test('one row per field, from its first to its last value, with who changed it last', async () => {
    await stand.insert('history', [
      change('1', day(9), { priority: 'low' }, { priority: 'default' }),
      change('2', day(5), { priority: 'high', lifecycleState: 'open' }, { priority: 'low' }),
      change('3', day(4), { priority: 'very_high' }, { priority: 'high' }, { user_name: 'Bob' }),
      change('4', day(3), { issueType: 'bug' }, { issueType: 'question' }),
      change('5', day(2), { issueType: 'question' }, { issueType: 'bug' }),
      change('6', day(1), {}, null, { operation: 'INSERT', entity_type: 'company', entity_id: 'acme' }),
    ]);
    await stand.insert('history_requests', [{ history_id: '2', requested_by: 'kim' }]);
    expect(await since(day(6))).toEqual([
      `company | acme | created_at | - | ${day(1)} | Ann | history`,
      'topic | t | lifecycle_state | - | open | kim | history',
      'topic | t | priority | low | very_high | Bob | history',
    ]);
    // The value before a record that does not say it is that of the record before.
    await stand.run("UPDATE history SET previous_values = NULL WHERE id = '3'");
    expect(await since(day(4))).toEqual([
      `company | acme | created_at | - | ${day(1)} | Ann | history`,
      'topic | t | priority | high | very_high | Bob | history',
    ]);
  });

  test('versions say what the history does not, and only that', async () => {
    const version = (ago: number, but: Row) => ({
      topic_id: 't',
      valid_from: day(ago),
      graph_status: 'active',
      ...but,
    });
    await stand.insert('topic_versions', [
      version(9, { priority: 'low', message_count: 1, archived_at: day(20) }),
      version(5, { priority: 'high', message_count: 2, archived_at: day(20) }),
      version(4, { priority: 'default', message_count: 3, archived_at: null }),
    ]);
    await stand.insert('history', [change('1', day(6), { priority: 'high' }, { priority: 'low' })]);
    expect(await since(day(7))).toEqual([
      `topic | t | archived_at | ${day(20)} | - | - | versions`,
      'topic | t | message_count | 1 | 3 | - | versions',
      'topic | t | priority | low | default | - | versions',
    ]);
    // The sync found on the fifth day what had happened on the sixth.
    expect(await since(day(5), 'field, old_value')).toEqual([
      `archived_at | ${day(20)}`,
      'message_count | 1',
      'priority | high',
    ]);
    // What comes with the first detail was not known before.
    await stand.insert('topic_versions', [
      { topic_id: 'new', valid_from: day(4) },
      { topic_id: 'new', valid_from: day(3), graph_status: 'archived', archived_at: day(20) },
    ]);
    expect(await lines(stand, "SELECT field FROM field_changes WHERE entity_id = 'new'")).toEqual([]);
    // The same by a clock of the service that is some minutes ahead.
    await stand.run(`UPDATE history SET changed_at = '${day(5, 0.1)}'`);
    const found = "SELECT source, new_value FROM field_changes WHERE field = 'priority' ORDER BY changed_at";
    expect(await lines(stand, found)).toEqual(['history | high', 'versions | default']);
  });

  test('tombstones say what is gone, and versions what came back', async () => {
    await stand.insert('topics', [topic('gone', { deleted_at: day(2), deleted_reason: 'why' })]);
    await stand.insert('companies', [{ id: 'c', deleted_at: day(2), merged_into_id: 'acme' }]);
    await stand.insert('people_versions', [
      { person_id: 'ann', valid_from: day(5), deleted_at: day(6) },
      { person_id: 'ann', valid_from: day(2), deleted_at: null },
      { person_id: 'bob', valid_from: day(5) },
      { person_id: 'bob', valid_from: day(2), deleted_at: day(2) },
    ]);
    expect(await since(day(2))).toEqual([
      `company | c | deleted_at | - | ${day(2)} | - | tombstones`,
      'company | c | merged_into_id | - | acme | - | tombstones',
      `person | ann | deleted_at | ${day(6)} | - | - | versions`,
      `topic | gone | deleted_at | - | ${day(2)} | - | tombstones`,
      'topic | gone | deleted_reason | - | why | - | tombstones',
    ]);
  });

  test('a day means its start in UTC, a moment itself', async () => {
    await stand.insert('history', [change('1', '2026-03-10T00:00:00Z', { priority: 'low' }, null)]);
    const found = async (moment: string) => (await since(moment)).length;
    expect(await found('2026-03-10')).toBe(1);
    expect(await found('2026-03-11')).toBe(0);
    expect(await found('2026-03-10 00:00:01')).toBe(0);
    expect(await found('2026-03-10T01:00:00+01:00')).toBe(1);
  });
});

test('the audit has the reason that was given with a change', async () => {
  await stand.insert('ops.changes', [
    {
      id: 'c1',
      entity_type: 'topic',
      topic_id: 't',
      status: 'queued',
      wanted: { priority: 'high' },
      requested_reason: 'Q4',
    },
  ]);
  expect(await lines(stand, 'SELECT action, entity_id, reason, outcome FROM audit')).toEqual([
    'change | t | Q4 | queued',
  ]);
});
