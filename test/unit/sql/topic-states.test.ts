import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStand, type Row, type Stand } from './stand.js';
import { day, lines, present, settle, topic } from './town.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(async () => {
  await settle(stand);
  await stand.run('DELETE FROM topics');
});

let records = 0;
/** A record of the history of topic `t`, so many days before the present, or at a moment. */
const change = (at: number | string, changes: object, previous: object | null, but: Row = {}): Row => ({
  id: `h${++records}`,
  entity_type: 'topic',
  entity_id: 't',
  changed_at: typeof at === 'number' ? day(at) : at,
  operation: 'UPDATE',
  changes,
  previous_values: previous,
  ...but,
});

const asOf = async (moment: string, columns = 'priority, lifecycle_state, is_open, based_on') =>
  (await stand.all(`SELECT ${columns} FROM topic_as_of('${moment}') WHERE topic_id = 't'`))[0];

const known = { synced_at: present };

describe('topic_as_of', () => {
  test('before the first sync: what the last record says, or what the next one says was there before', async () => {
    await stand.insert('topics', [
      topic('t', { ...known, title: 'New', priority: 'high', lifecycle_state: 'completed' }),
    ]);
    await stand.insert('history', [
      change(20, { priority: 'low' }, { priority: 'default' }),
      change(15, { title: 'New' }, { title: 'Old' }),
      change(10, { priority: 'high', lifecycleState: 'open' }, { priority: 'low', lifecycleState: null }),
      change(5, { lifecycleState: 'completed' }, { lifecycleState: 'open' }),
      change(5, { priority: 'very_low' }, null, { entity_type: 'company' }),
    ]);
    const at = (ago: number) => asOf(day(ago), 'title, priority, lifecycle_state, is_open');
    expect(await at(31)).toBeUndefined();
    expect([await at(30), await at(20), await at(12), await at(10), await at(4)]).toEqual([
      { title: 'Old', priority: 'default', lifecycle_state: null, is_open: true },
      { title: 'Old', priority: 'low', lifecycle_state: null, is_open: true },
      { title: 'New', priority: 'low', lifecycle_state: null, is_open: true },
      { title: 'New', priority: 'high', lifecycle_state: 'open', is_open: true },
      { title: 'New', priority: 'high', lifecycle_state: 'completed', is_open: false },
    ]);
  });

  test('of a topic whose history was never fetched nothing is known before a sync saw it', async () => {
    await stand.insert('topics', [topic('t', { ...known, priority: 'high' })]);
    await stand.run('DELETE FROM fetched_histories');
    await stand.insert('topic_versions', [
      { topic_id: 't', valid_from: day(3), title: 'Now', priority: 'high', graph_status: 'active' },
    ]);
    expect(await asOf(day(4))).toBeUndefined();
    expect(await asOf(day(2))).toMatchObject({ priority: 'high', based_on: 'versions' });
  });

  test('a record without the earlier value leaves it unknown; what no record names was always so', async () => {
    await stand.insert('topics', [topic('t', { ...known, priority: 'high', lifecycle_state: 'open' })]);
    await stand.insert('history', [change(10, { priority: 'high' }, null)]);
    expect(await asOf(day(11))).toMatchObject({
      priority: null,
      lifecycle_state: 'open',
      based_on: 'history',
    });
    expect(await asOf(day(9))).toMatchObject({ priority: 'high', lifecycle_state: 'open' });
  });

  test('a day is its end in UTC, a moment is a moment, in any session time zone', async () => {
    await stand.insert('topics', [
      topic('t', { ...known, created_at: '2026-03-01T00:00:00Z', priority: 'low' }),
    ]);
    await stand.insert('history', [
      change('2026-03-05T23:59:59.5Z', { priority: 'high' }, { priority: 'default' }),
      change('2026-03-06T00:00:00Z', { priority: 'low' }, { priority: 'high' }),
    ]);
    await stand.run("SET TimeZone = 'America/Los_Angeles'");
    const priorities = await stand.all(`SELECT list([
      (SELECT priority FROM topic_as_of(DATE '2026-03-04')),
      (SELECT priority FROM topic_as_of(DATE '2026-03-05')),
      (SELECT priority FROM topic_as_of('2026-03-05')),
      (SELECT priority FROM topic_as_of('2026-3-5')),
      (SELECT priority FROM topic_as_of('2026-03-06')),
      (SELECT priority FROM topic_as_of(TIMESTAMP '2026-03-05 23:59:59')),
      (SELECT priority FROM topic_as_of(TIMESTAMP '2026-03-06 00:00:00')),
      (SELECT priority FROM topic_as_of(TIMESTAMPTZ '2026-03-06 00:59:59.7+01')),
      (SELECT priority FROM topic_as_of('2026-03-05T23:59:59.6Z'))
    ])[1]::VARCHAR AS answers`);
    await stand.run("SET TimeZone = 'UTC'");
    expect(priorities).toEqual([{ answers: '[default, high, high, high, low, default, low, high, high]' }]);
  });

  test('archived, superseded, merged, deleted and brought back', async () => {
    await stand.insert('topics', [
      topic('t', { ...known, graph_status: 'active' }),
      topic('old', { ...known, graph_status: 'superseded', lifecycle_state: null }),
      topic('merged', { ...known, deleted_at: present, merged_into_id: 't' }),
      topic('gone', { ...known, deleted_at: present }),
    ]);
    const archive = { graphStatus: 'archived', archivedAt: day(20), archivedReason: 'x' };
    const back = { graphStatus: 'active', archivedAt: null, archivedReason: null };
    await stand.insert('history', [
      change(20, archive, back),
      change(10, back, archive),
      change(10, { graphStatus: 'superseded' }, { graphStatus: 'active' }, { entity_id: 'old' }),
      change(10, { mergedInto: 't' }, null, { entity_id: 'merged', operation: 'DELETE' }),
      change(10, {}, { title: 'x' }, { entity_id: 'gone', operation: 'DELETE' }),
    ]);
    await stand.insert('history', [
      change(22, {}, null, { entity_id: 'returned', operation: 'DELETE' }),
      change(21, { restored: true }, null, { entity_id: 'returned' }),
    ]);
    await stand.insert('topics', [topic('returned', known)]);
    await stand.insert('merges', [
      { entity_type: 'topic', source_id: 'merged', target_id: 't', merged_at: day(10) },
    ]);
    const open = async (ago: number) =>
      (await stand.all(`SELECT topic_id FROM backlog_as_of('${day(ago)}') ORDER BY 1`)).map(
        (row) => row.topic_id,
      );
    expect(await open(29)).toEqual(['gone', 'merged', 'old', 'returned', 't']);
    expect(await open(22)).toEqual(['gone', 'merged', 'old', 't']);
    expect(await open(15)).toEqual(['gone', 'merged', 'old', 'returned']);
    expect(await open(9)).toEqual(['returned', 't']);
    expect(await asOf(day(15), 'archived_at')).toEqual({ archived_at: new Date(day(20)) });
    expect(
      await stand.all(
        `SELECT merged_into_id, deleted_at FROM topic_as_of('${day(9)}') WHERE topic_id = 'merged'`,
      ),
    ).toEqual([{ merged_into_id: 't', deleted_at: new Date(day(10)) }]);
  });

  test('without a history, the topic itself says since when it is archived or superseded', async () => {
    const archived = { ...known, graph_status: 'archived', archived_at: day(8) };
    await stand.insert('topics', [
      topic('t', archived),
      topic('old', { ...known, graph_status: 'superseded', superseded_at: day(8) }),
    ]);
    await stand.insert('topic_versions', [
      {
        topic_id: 'old',
        valid_from: day(12),
        priority: 'low',
        lifecycle_state: 'open',
        graph_status: 'active',
      },
    ]);
    const open = async (ago: number) =>
      (await stand.all(`SELECT topic_id FROM backlog_as_of('${day(ago)}') ORDER BY 1`)).map(
        (row) => row.topic_id,
      );
    expect([await open(9), await open(8)]).toEqual([['old', 't'], []]);
  });

  test('from the first version on: what a sync saw, and what the history records since', async () => {
    await stand.insert('topics', [topic('t', { ...known, priority: 'very_high' })]);
    const version = (from: number, to: number | null, but: Row) => ({
      topic_id: 't',
      title: 'Title of t',
      graph_status: 'active',
      lifecycle_state: 'open',
      valid_from: day(from),
      valid_to: to === null ? null : day(to),
      ...but,
    });
    await stand.insert('topic_versions', [
      // The history has no record of this: it was fetched before.
      version(10, 3, { priority: 'low', graph_status: null }),
      version(3, null, { priority: 'very_high' }),
    ]);
    await stand.insert('history', [
      change(20, { priority: 'default' }, { priority: 'very_low' }),
      change(6, { priority: 'high' }, { priority: 'low' }),
    ]);
    const seen = async (ago: number) => asOf(day(ago), 'priority, based_on');
    expect([await seen(25), await seen(11), await seen(10), await seen(5), await seen(1)]).toEqual([
      { priority: 'very_low', based_on: 'history' },
      { priority: 'default', based_on: 'history' },
      { priority: 'low', based_on: 'versions' },
      { priority: 'high', based_on: 'versions' },
      { priority: 'very_high', based_on: 'versions' },
    ]);
  });
});

test('backlog_as_of now is the backlog, with its ages', async () => {
  await stand.insert('topics', [
    topic('t', known),
    topic('high', { ...known, priority: 'high', created_at: day(1.5) }),
    topic('done', { ...known, lifecycle_state: 'completed' }),
    topic('migrated', { ...known, detail_unavailable_reason: 'archived_in_v1_to_v2_migration' }),
    topic('unknown-start', { ...known, created_at: null, time_range_start: day(4) }),
  ]);
  const columns = 'topic_id, title, priority, priority_rank, lifecycle_state, opened_at, age_days';
  const now = await stand.all(`SELECT ${columns} FROM backlog_as_of('${present}') ORDER BY 1`);
  expect(now).toEqual(await stand.all(`SELECT ${columns} FROM backlog ORDER BY 1`));
  expect(now.map(({ topic_id, age_days }) => [topic_id, age_days])).toEqual([
    ['high', 1.5],
    ['t', 30],
    ['unknown-start', 4],
  ]);
});

test('backlog_weekly: open at the end of each week, and what came, came back and went', async () => {
  // Weeks begin on 2026-02-16, 02-23, 03-02 and 03-09; the present is Sunday 03-15.
  await stand.insert('topics', [
    topic('t', { ...known, created_at: '2026-02-17T00:00:00Z', lifecycle_state: 'open' }),
    topic('short', {
      ...known,
      created_at: '2026-02-24T00:00:00Z',
      lifecycle_state: 'dismissed',
      priority: 'low',
    }),
    topic('migrated', {
      ...known,
      created_at: '2026-02-18T00:00:00Z',
      detail_unavailable_reason: 'archived_in_v1_to_v2_migration',
    }),
    topic('edge', { ...known, created_at: '2026-03-02T00:00:00Z', priority: 'high', lifecycle_state: null }),
  ]);
  await stand.insert('history', [
    change('2026-03-03T00:00:00Z', { lifecycleState: 'completed' }, { lifecycleState: null }),
    change('2026-03-10T00:00:00Z', { lifecycleState: 'open' }, { lifecycleState: 'completed' }),
    change(
      '2026-02-25T00:00:00Z',
      { lifecycleState: 'dismissed' },
      { lifecycleState: 'open' },
      { entity_id: 'short' },
    ),
    change('2026-03-09T00:00:00Z', { priority: 'high' }, { priority: 'default' }, { entity_id: 'edge' }),
  ]);
  const columns = 'week::VARCHAR AS week, priority, lifecycle_state, "open", new, reopened, closed';
  expect(await lines(stand, `SELECT ${columns} FROM backlog_weekly ORDER BY 1, 2, 3 NULLS FIRST`)).toEqual([
    '2026-02-16 | default | - | 1 | 1 | 0 | 0',
    '2026-02-16 | default | open | 0 | 1 | 0 | 1',
    '2026-02-23 | default | - | 1 | 0 | 0 | 0',
    '2026-02-23 | low | dismissed | 0 | 1 | 0 | 1',
    '2026-03-02 | default | - | 1 | 1 | 0 | 0',
    '2026-03-02 | default | completed | 0 | 0 | 0 | 1',
    '2026-03-09 | default | open | 1 | 0 | 1 | 0',
    '2026-03-09 | high | - | 1 | 0 | 0 | 0',
  ]);
});

test('lifecycle_funnel: how many topics get how far, after how many days', async () => {
  await stand.insert('topics', [
    topic('t', { ...known, lifecycle_state: 'completed' }),
    topic('open', { ...known, lifecycle_state: 'open' }),
    topic('never', { ...known, lifecycle_state: null }),
    topic('deleted', { ...known, deleted_at: day(1) }),
  ]);
  await stand.insert('history', [
    change(28, { lifecycleState: 'open' }, { lifecycleState: null }),
    change(25, { title: 'x' }, { title: 'y' }),
    change(20.5, { lifecycleState: 'completed' }, { lifecycleState: 'open' }),
    change(20, { lifecycleState: 'open' }, { lifecycleState: 'completed' }),
    change(18, { lifecycleState: 'completed' }, { lifecycleState: 'open' }),
    change(29, { lifecycleState: 'open' }, { lifecycleState: null }, { entity_id: 'open' }),
  ]);
  const columns = `position, step, topics, round(share, 3) AS share, median_days_to_reach, median_days_in_state, topics_now`;
  expect(await lines(stand, `SELECT ${columns} FROM lifecycle_funnel ORDER BY position`)).toEqual([
    '1 | created | 3 | 1 | 0 | - | 0',
    '3 | open | 2 | 0.667 | 1.5 | 4.75 | 1',
    '5 | completed | 1 | 0.333 | 9.5 | 0.5 | 1',
  ]);
});
