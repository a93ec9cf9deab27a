import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Analysis, ofSettings } from '../../../src/load/views.js';
import { sqlFile } from '../../../src/store/sql.js';
import { openStand, type Row, type Stand } from './stand.js';
import { by, day, lines, present, settle, talk, topic } from './town.js';

const analysis: Analysis = {
  businessHours: { timezone: 'UTC', days: ['mon'], opens: '09:00', closes: '17:00' },
  serviceLevels: [],
  teams: {},
};

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => settle(stand));

const all = (sql: string) => stand.all(sql);

describe('who waits', () => {
  test('awaiting_reply has who wrote last in each conversation that waits for staff, answered before or not', async () => {
    await talk(stand, 'followed-up', 't', [
      by('ann', 5),
      by('staff', 4),
      by('bob', 3),
      by('staff', 2, { is_internal: true }),
      by('vip', 1),
      by('bot', day(0, -1)),
    ]);
    await talk(stand, 'never', null, [by(null, day(0, -1.5))]);
    await talk(stand, 'announced', 't', [by('staff', 4), by('bob', 3)]);
    await talk(stand, 'answered', 't', [by('ann', 5), by('staff', 4)]);
    await talk(stand, 'archived', 't', [by('ann', 5)]);
    await talk(stand, 'withdrawn', 't', [by('ann', 5), by('staff', 4), by('ann', 3, { deleted_at: day(1) })]);
    await talk(stand, 'noted', 't', [by('vip', 2), by('staff', 1, { is_internal: true }), by('bob', 1)]);
    await talk(stand, 'by-bot', 't', [by('eve', 2), by('bot', 1)]);
    await talk(stand, 'taken-back', 't', [by('ann', 2), by('staff', 1, { deleted_at: present })]);
    await talk(stand, 'among-staff', 't', [by('staff', 2)]);
    await stand.run("UPDATE groups SET archived_at = now() WHERE id = 'archived'");
    const rows = await all('FROM awaiting_reply ORDER BY group_id');
    const never = ['announced', 'by-bot', 'never', 'noted', 'taken-back'];
    expect(rows.map(({ group_id }) => group_id)).toEqual([...never, 'followed-up'].sort());
    expect(rows[0]).toMatchObject({ was_answered_before: false, waiting_hours: 72 });
    expect(rows[2]).toEqual({
      group_id: 'followed-up',
      title: 'Title of followed-up',
      topic_id: 't',
      topic_title: 'Title of t',
      topic_priority: 'default',
      topic_priority_rank: 3,
      topic_lifecycle_state: 'open',
      is_open: true,
      waiting_since: new Date(day(3)),
      waiting_hours: 72,
      last_message_at: new Date(day(1)),
      last_message_id: 'followed-up5',
      last_author_id: 'avip',
      last_person_id: 'vip',
      last_name: 'Name of vip',
      last_company_id: 'acme',
      side: 'external',
      is_vip: true,
      was_answered_before: true,
      messages: 2,
      source_name: 'slack',
      source_url: null,
    });
    expect(rows[3]).toMatchObject({
      waiting_hours: 1.5,
      is_vip: false,
      last_name: null,
      topic_priority: null,
    });
    // One definition of a first answer: the last turns say the same.
    const turns = `SELECT group_id, began_at, answer = 'next', messages FROM conversation_turns
      JOIN groups ON groups.id = group_id AND archived_at IS NULL WHERE answered_at IS NULL AND side = 'external'`;
    const waits = 'SELECT group_id, waiting_since, was_answered_before, messages FROM awaiting_reply';
    expect(await lines(stand, `${waits} ORDER BY 1`)).toEqual(await lines(stand, `${turns} ORDER BY 1`));
    const unanswered = await all('FROM unanswered_groups ORDER BY group_id');
    expect(unanswered.map(({ group_id }) => group_id)).toEqual(never);
    expect(unanswered[0]).toMatchObject({
      opened_at: new Date(day(3)),
      waiting_hours: 72,
      messages: 1,
      people: 1,
      is_vip: false,
    });
    expect(unanswered[3]).toMatchObject({
      title: 'Title of noted',
      topic_id: 't',
      topic_title: 'Title of t',
      waiting_hours: 48,
      is_vip: true,
      messages: 2,
      people: 2,
      companies: 2,
      internal_notes: 1,
      community_answers: 1,
      last_message_at: new Date(day(1)),
    });
  });

  test('of several topics, the most urgent open one counts for a conversation, and a closed one only where none is open', async () => {
    await stand.insert('topics', [
      topic('urgent', { priority: 'high' }),
      topic('dead', { priority: 'very_high', deleted_at: day(1) }),
      topic('closed', { priority: 'very_high', lifecycle_state: 'completed' }),
    ]);
    await talk(stand, 'g', 't', [by('ann', 2)]);
    await stand.insert('topic_groups', [
      { topic_id: 'urgent', group_id: 'g' },
      { topic_id: 'dead', group_id: 'g' },
      { topic_id: 'closed', group_id: 'g' },
    ]);
    await talk(stand, 'h', null, [by('ann', 2)]);
    await talk(stand, 'i', 'closed', [by('ann', 2)]);
    for (const view of ['unanswered_groups', 'awaiting_reply'])
      expect(
        await lines(stand, `SELECT group_id, topic_id, topic_priority, is_open FROM ${view} ORDER BY 1`),
      ).toEqual(['g | urgent | high | true', 'h | - | - | -', 'i | closed | very_high | false']);
  });
});

describe('how fast staff answers', () => {
  test('turns of two sides: whom they belong to, and when the other side answers', async () => {
    await talk(stand, 'g', 't', [
      by('staff', 9),
      by('ann', 8),
      by('vip', 7),
      by('ann', day(7, 1)),
      by('staff', 6),
      by('bob', 5),
    ]);
    const columns = `turn, side, answer, messages, is_vip, first_message_id, last_message_id, hours_to_answer, ended_at`;
    expect(await lines(stand, `SELECT ${columns} FROM conversation_turns ORDER BY turn`)).toEqual([
      '1 | staff | - | 1 | false | g1 | g1 | 24 | 2026-03-06T12:00',
      '2 | external | first | 3 | true | g2 | g4 | 48 | 2026-03-08T13:00',
      '3 | staff | - | 1 | false | g5 | g5 | 24 | 2026-03-09T12:00',
      '4 | external | next | 1 | false | g6 | g6 | - | 2026-03-10T12:00',
    ]);
  });

  test('by month, source, priority and first or next answer', async () => {
    const ask = (group: string, from: string, hours: number) =>
      talk(stand, group, 't', [
        by('ann', from),
        by('staff', new Date(Date.parse(from) + hours * 3_600_000).toISOString()),
      ]);
    await ask('a', '2026-02-27T10:00:00Z', 1);
    await ask('b', '2026-02-27T10:00:00Z', 2.5);
    await talk(stand, 'c', null, [by('ann', '2026-03-01T00:00:00Z')]);
    await talk(stand, 'd', 't', [
      by('ann', '2026-03-02T10:00:00Z'),
      by('staff', '2026-03-02T11:00:00Z'),
      by('ann', '2026-03-02T12:00:00Z'),
      by('staff', '2026-03-02T12:30:00Z'),
    ]);
    const columns =
      'month::VARCHAR AS month, priority, answer, questions, answered, median_hours, average_hours';
    expect(await lines(stand, `SELECT ${columns} FROM response_times ORDER BY ALL`)).toEqual([
      '2026-02-01 | default | first | 2 | 2 | 1.75 | 1.75',
      '2026-03-01 | default | first | 1 | 1 | 1 | 1',
      '2026-03-01 | default | next | 1 | 1 | 0.5 | 0.5',
      '2026-03-01 | - | first | 1 | 0 | - | -',
    ]);
  });

  test('in the report, by months without a gap, from the first in which anybody asked', async () => {
    await talk(stand, 'a', 't', [by('ann', '2025-12-27T10:00:00Z'), by('staff', '2025-12-27T12:00:00Z')]);
    await talk(stand, 'b', 't', [by('ann', '2026-02-27T10:00:00Z')]);
    expect(await lines(stand, sqlFile('report/response_times'))).toEqual([
      '2025-12-01T00:00 | 1 | 1 | 2 | 2',
      '2026-01-01T00:00 | 0 | 0 | - | -',
      '2026-02-01T00:00 | 1 | 0 | - | -',
      '2026-03-01T00:00 | 0 | 0 | - | -',
    ]);
  });

  // 2026-03-06 is a Friday.
  const waits: [from: string, to: string, hours: number][] = [
    ['2026-03-06T10:00:00Z', '2026-03-06T12:30:00Z', 2.5],
    ['2026-03-06T16:00:00Z', '2026-03-09T10:00:00Z', 2],
    ['2026-03-06T20:00:00Z', '2026-03-09T08:00:00Z', 0],
    ['2026-03-07T12:00:00Z', '2026-03-08T12:00:00Z', 0],
    ['2026-03-06T08:00:00Z', '2026-03-16T18:00:00Z', 56],
  ];
  const businessHours = async () =>
    (
      await all(
        "SELECT business_hours_to_answer AS h FROM conversation_turns WHERE side = 'external' ORDER BY group_id",
      )
    ).map(({ h }) => h);

  test('working hours skip nights and weekends', async () => {
    for (const [index, [from, to]] of waits.entries())
      await talk(stand, `g${index}`, 't', [by('ann', from), by('staff', to)]);
    expect(await businessHours()).toEqual(waits.map(([, , hours]) => hours));
  });

  test('working hours count for ten years: one message of the year 1 would fill 700,000 days', async () => {
    await talk(stand, 'a', 't', [by('ann', '0001-01-01T00:00:00Z')]);
    await talk(stand, 'b', 't', [by('ann', '9999-12-31T00:00:00Z'), by('staff', '9999-12-31T12:00:00Z')]);
    await talk(stand, 'c', 't', [by('ann', '2026-03-06T10:00:00Z'), by('staff', '2026-03-06T12:30:00Z')]);
    const [old] = await all("SELECT business_hours_waited AS h FROM conversation_turns WHERE group_id = 'a'");
    expect(Number(old?.h) / 40 / 52).toBeCloseTo(10, 0);
    expect((await businessHours()).slice(1)).toEqual([0, 2.5]);
  });

  test('working hours are those of the settings, in their time zone', async () => {
    await talk(stand, 'g', 't', [by('ann', '2026-03-06T10:00:00Z'), by('staff', '2026-03-07T12:00:00Z')]);
    const view = sqlFile('views/07_business_hours');
    await stand.run(
      ofSettings.business_hours(view, {
        ...analysis,
        businessHours: {
          timezone: 'Europe/Berlin',
          days: ['sat', 'fri', 'sat'],
          opens: '12:00',
          closes: '24:00',
        },
      }),
    );
    // Friday from 12:00 in Berlin, an hour after the question; Saturday up to 13:00, when the answer came.
    expect(await businessHours()).toEqual([13]);
    expect(
      await all('SELECT timezone, days::VARCHAR AS days, closes::VARCHAR AS closes FROM business_hours'),
    ).toEqual([{ timezone: 'Europe/Berlin', days: '[5, 6]', closes: '24:00:00' }]);
    await stand.run(view);
    expect(() => ofSettings.business_hours('SELECT 1', analysis)).toThrow('no line for');
    expect(() => ofSettings.teams('SELECT 1', analysis)).toThrow('no empty list');
  });

  test('an hour that a clock change repeats or leaves out is worked where the setting says so', async () => {
    const found: [from: string, to: string, around: number, sundays: number, days: number][] = [
      // From 02:30 to 02:10, when it is that late for the second time.
      ['2026-10-25T00:30:00Z', '2026-10-25T01:10:00Z', 40 / 60, 40 / 60, 0],
      ['2026-10-24T20:00:00Z', '2026-10-26T20:00:00Z', 48, 25, 8],
      ['2026-03-28T20:00:00Z', '2026-03-30T20:00:00Z', 48, 23, 8],
      ['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z', 1, 1, 0],
    ];
    for (const [index, [from, to]] of found.entries())
      await talk(stand, `g${index}`, 't', [by('ann', from), by('staff', to)]);
    const view = sqlFile('views/07_business_hours');
    const always = { timezone: 'Europe/Berlin', opens: '00:00', closes: '24:00' };
    for (const [at, hours] of [
      { ...always, days: [...analysis.businessHours.days, 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] },
      { ...always, days: ['sun'] },
      { ...always, days: ['mon'], opens: '09:00', closes: '17:00' },
    ].entries()) {
      await stand.run(ofSettings.business_hours(view, { ...analysis, businessHours: hours } as Analysis));
      expect(await businessHours()).toEqual(found.map((one) => one[2 + at]));
    }
    await stand.run(view);
  });

  test('service levels: the first that fits promises a reply, and who waits longer is a breach, answered or not', async () => {
    const settings: Analysis = {
      ...analysis,
      serviceLevels: [
        { name: 'VIP', vip: true, firstReplyHours: 1 },
        { name: "urgent's", priority: ['high'], firstReplyHours: 2, nextReplyHours: 4 },
        { name: 'others', nextReplyHours: 2 },
      ],
      // Who was merged since counts under the id of the survivor.
      teams: { "it's support": ['former'], second: ['staff', 'gone'] },
    };
    const former = { id: 'former', deleted_at: day(1), merged_into_id: 'staff' };
    await stand.insert('people', [former]);
    const names = { '37_service_levels': 'service_levels', '38_teams': 'teams' } as const;
    for (const [file, name] of Object.entries(names) as [string, keyof typeof ofSettings][])
      await stand.run(ofSettings[name](sqlFile(`views/${file}`), settings));
    await stand.insert('topics', [topic('urgent', { priority: 'high' })]);
    // The 2nd of March is a Monday.
    const at = (hour: number) => `2026-03-02T${String(hour).padStart(2, '0')}:00:00Z`;
    await talk(stand, 'urgent', 'urgent', [
      by('ann', at(9)),
      by('staff', at(11)),
      by('bob', at(12)),
      by('staff', '2026-03-03T09:30:00Z'),
      by('ann', '2026-03-13T16:30:00Z'),
    ]);
    await talk(stand, 'vip', 'urgent', [
      by('vip', at(9)),
      by('staff', at(11)),
      // To a VIP, VIP alone promises; a next reply it does not.
      by('vip', at(12)),
    ]);
    await talk(stand, 'other', null, [by('eve', at(9)), by('staff', at(10)), by('eve', at(11))]);
    await talk(stand, 'archived', null, [by('eve', at(9)), by('staff', at(10)), by('eve', at(11))]);
    await stand.run("UPDATE groups SET archived_at = now() WHERE id = 'archived'");
    const columns =
      'group_id, turn, service_level, hours_allowed, round(hours_waited, 2) AS waited, is_breached, team';
    // Acme is a VIP, and so are its people.
    await stand.run("UPDATE companies SET is_vip = false WHERE id = 'acme'");
    // The data end on Sunday the 15th at noon.
    expect(await lines(stand, `SELECT ${columns} FROM service_level_turns ORDER BY 1, 2`)).toEqual([
      'other | 3 | others | 2 | 78 | true | -',
      "urgent | 1 | urgent's | 2 | 2 | false | it's support",
      "urgent | 3 | urgent's | 4 | 5.5 | true | it's support",
      "urgent | 5 | urgent's | 4 | 0.5 | false | -",
      "vip | 1 | VIP | 1 | 2 | true | it's support",
    ]);
    expect(
      await lines(
        stand,
        'SELECT group_id, hours_late, answered_by_id FROM service_level_breaches ORDER BY 1',
      ),
    ).toEqual(['other | 76 | -', 'urgent | 1.5 | staff', 'vip | 1 | staff']);
    for (const file of Object.keys(names)) await stand.run(sqlFile(`views/${file}`));
    expect(await all('FROM service_level_turns')).toEqual([]);
  });
});

describe('topics', () => {
  test('topic_momentum compares with the weeks before', async () => {
    await stand.insert('topics', [
      topic('new'),
      topic('quiet'),
      topic('done', { lifecycle_state: 'completed' }),
      topic('deleted', { deleted_at: day(1) }),
    ]);
    const said = (ages: readonly number[], who = 'ann') => ages.map((ago) => by(who, ago));
    await talk(stand, 'a', 't', [
      ...said([1, 2, 8, 20, 40, 50, 60]),
      ...said([3], 'bob'),
      ...said([3], 'staff'),
      ...said([3], 'bot'),
    ]);
    await talk(stand, 'b', 'new', said([10]));
    await talk(stand, 'c', 'done', said([5, 40]));
    await talk(stand, 'd', 'deleted', said([5]));
    const columns = `topic_id, is_open, messages_last_7_days, messages_7_days_before, growth_7_days, messages_last_28_days,
      messages_28_days_before, growth_28_days, has_doubled, is_new, people_last_28_days, people_28_days_before,
      companies_last_28_days, companies_28_days_before`;
    expect(await lines(stand, `SELECT ${columns} FROM topic_momentum ORDER BY topic_id`)).toEqual([
      'done | false | 1 | 0 | - | 1 | 1 | 1 | false | false | 1 | 1 | 1 | 1',
      'new | true | 0 | 1 | 0 | 1 | 0 | - | false | true | 1 | 0 | 1 | 0',
      'quiet | true | 0 | 0 | - | 0 | 0 | - | false | false | 0 | 0 | 0 | 0',
      't | true | 3 | 1 | 3 | 5 | 2 | 2.5 | true | false | 2 | 1 | 2 | 1',
    ]);
  });

  test('company_topics: people, messages and the size of each company', async () => {
    await stand.insert('people', [{ id: 'second-ann', merged_into_id: 'ann', deleted_at: day(1) }]);
    await stand.insert('companies', [
      { id: 'gone', name: 'Gone', deleted_at: day(1) },
      { id: 'uncounted', name: 'Uncounted', is_org_company: false },
    ]);
    await stand.insert('company_employees', [
      { company_id: 'uncounted', person_id: 'x' },
      { company_id: 'uncounted', person_id: 'y' },
    ]);
    await stand.insert('people', [
      { id: 'x', company_id: 'uncounted' },
      { id: 'z', company_id: 'gone' },
    ]);
    await stand.insert('topics', [topic('done', { lifecycle_state: 'completed', priority: 'high' })]);
    await stand.insert('topic_people', [
      { topic_id: 't', person_id: 'second-ann' },
      { topic_id: 'done', person_id: 'x' },
      { topic_id: 'done', person_id: 'z' },
    ]);
    await talk(stand, 'g', 'done', [by('bob', 3), by('bob', 2), by('staff', 1)]);
    const columns = `topic_id, company_id, is_vip, employees, priority, is_open, people, share_of_employees, messages,
      last_message_at`;
    expect(await lines(stand, `SELECT ${columns} FROM company_topics ORDER BY 1, 2`)).toEqual([
      'done | beta | false | 1 | high | false | 0 | 0 | 2 | 2026-03-13T12:00',
      'done | uncounted | false | 2 | high | false | 1 | 0.5 | 0 | -',
      't | acme | true | 2 | default | true | 2 | 1 | 0 | -',
      't | beta | false | 1 | default | true | 1 | 1 | 0 | -',
    ]);
  });
});

describe('companies and people', () => {
  test('company_health and companies_at_risk: who writes less than before while something is open, and which VIP waits', async () => {
    const more = [
      { id: 'gil', company: 'gamma' },
      { id: 'dan', company: 'delta' },
    ];
    await stand.insert('companies', [
      { id: 'gamma', name: 'Gamma' },
      { id: 'delta', name: 'Delta', is_vip: true },
      { id: 'gone', name: 'Gone', deleted_at: day(1) },
    ]);
    for (const { id, company } of more) {
      await stand.insert('people', [{ id, company_id: company }]);
      await stand.insert('authors', [{ id: `a${id}`, source_name: 'slack', source_author_id: id }]);
      await stand.insert('person_identities', [{ person_id: id, platform: 'slack', platform_id: id }]);
    }
    await stand.run("UPDATE topics SET priority = 'high', priority_rank = 2");
    await talk(stand, 'old', 't', [by('vip', 50), by('ann', 40), by('staff', 39.5), by('ann', 39)]);
    await talk(stand, 'answered', 't', [
      by('ann', 10),
      by('staff', day(10, 1)),
      by('staff', 9, { is_internal: true }),
    ]);
    await talk(stand, 'beta', null, [by('bob', 5), by('bob', 4), by('bob', 3)]);
    await talk(stand, 'archived', null, [by('gil', 70)]);
    await stand.run("UPDATE groups SET archived_at = now() WHERE id = 'archived'");
    await talk(stand, 'delta', null, [by('dan', 2)]);
    const health = `company_id, is_vip, people_who_wrote AS wrote, messages, messages_last_28_days AS now, messages_28_days_before AS before,
      days_silent, last_staff_reply_at, open_topics, urgent_topics, unanswered_groups, trend`;
    expect(await lines(stand, `SELECT ${health} FROM company_health ORDER BY 1`)).toEqual([
      'acme | true | 2 | 4 | 1 | 3 | 10 | 2026-03-05T13:00 | 1 | 1 | 0 | fading',
      'beta | false | 1 | 3 | 3 | 0 | 3 | - | 1 | 1 | 1 | new',
      'delta | true | 1 | 1 | 1 | 0 | 2 | - | 0 | 0 | 1 | new',
      'gamma | false | 1 | 1 | 0 | 0 | 70 | - | 0 | 0 | 0 | silent',
    ]);
    const risk = 'company_id, reason, open_conversations, waiting_conversations, longest_wait_hours';
    expect(await lines(stand, `SELECT ${risk} FROM companies_at_risk ORDER BY 1`)).toEqual([
      'acme | fading | 2 | 1 | 936',
      'delta | vip_waits | 0 | 1 | 48',
    ]);
  });

  test('source_mix: what came from outside, by week and source', async () => {
    await talk(stand, 'g', 't', [
      by('ann', '2026-03-02T00:00:00Z'),
      by('bob', '2026-03-03T10:00:00Z', { source_name: 'email' }),
      by('staff', '2026-03-04T10:00:00Z'),
      by('bot', '2026-03-05T10:00:00Z'),
      by('vip', '2026-03-08T23:59:00Z'),
      by('vip', '2026-03-09T00:00:00Z'),
    ]);
    const columns =
      'week::VARCHAR AS week, source_name, messages, people, companies, conversations, round(share, 3)';
    expect(await lines(stand, `SELECT ${columns} FROM source_mix ORDER BY 1, 2`)).toEqual([
      '2026-03-02 | email | 1 | 1 | 1 | 1 | 0.333',
      '2026-03-02 | slack | 2 | 2 | 1 | 1 | 0.667',
      '2026-03-09 | slack | 1 | 1 | 1 | 1 | 1',
    ]);
  });
});

describe('message_search', () => {
  const found = async (words: string): Promise<Row[]> =>
    all(`SELECT message_id, words_found FROM message_search('${words.replaceAll("'", "''")}')`);

  test('finds any of the words in any case and with or without accents; the best come first', async () => {
    await talk(stand, 'g', 't', [
      by('ann', 3, { content: 'The CSV export stops. An export of everything.' }),
      by('bob', 2, { content: 'Export' }),
      by('bob', 2, { content: 'nothing', title: 'Über Exporté' }),
      by('staff', 1, { content: `an export ${'and many other words '.repeat(40)}` }),
      by('bob', 1, { content: 'export of csv', deleted_at: present }),
      by('bob', 1, { content: 'いつも検索できない' }),
      by('bob', 1, { content: '100% of a_b' }),
    ]);
    expect(await found('csv EXPORT')).toEqual([
      { message_id: 'g1', words_found: 2 },
      { message_id: 'g2', words_found: 1 },
      { message_id: 'g4', words_found: 1 },
    ]);
    expect(await found('uber')).toEqual([{ message_id: 'g3', words_found: 1 }]);
    expect(await found('検索')).toEqual([{ message_id: 'g6', words_found: 1 }]);
    expect(await found("100%'; DROP")).toEqual([{ message_id: 'g7', words_found: 1 }]);
    expect([await found(''), await found(' %_ '), await found('NOT export')]).toEqual([[], [], []]);
    expect(await all("SELECT * EXCLUDE (score) FROM message_search('uber')")).toEqual([
      {
        message_id: 'g3',
        words_found: 1,
        matched: 'word',
        found: 1,
        created_at: new Date(day(2)),
        source_name: 'slack',
        author_name: 'Name of bob',
        side: 'external',
        group_id: 'g',
        topic_id: 't',
        topic_title: 'Title of t',
        content: 'nothing',
        source_url: null,
      },
    ]);
  });

  test.each([
    ['csv AND export', 'a1 a3', 'a b'],
    ['csv AND stops', '', 'a'],
    ['csv AND NOT slow', 'a1 b1', 'b'],
    ['"csv export"', 'a1', 'a'],
    ['"export csv"', 'a3', 'a'],
    ['expo*', 'a1 a3 b2 c1', 'a b c'],
    ['-slow exporting OR stops', 'a2 c1', 'a c'],
    ['(csv stops) AND export', 'a1 a3', 'a b'],
    ['"csv-export" OR slow', 'a1 a3', 'a'],
    ['and AND or', '', ''],
    ['"AND"', '', ''],
    // Without a hit, words that begin so.
    ['stop', 'a2', 'a'],
    ['csv AND stop', '', 'a'],
    ['4.12', 'd1 e1', 'd e'],
    ['v4.12', 'd1 e1', 'd e'],
    ['--force', 'd1', 'd'],
  ])('%s', async (words, messages, conversations) => {
    const said = {
      a: ['The CSV export.', 'It stops.', 'slow export csv'],
      b: ['csv', 'Export'],
      c: ['Exporting'],
      d: ['Fails in v4.12 with --force'],
      e: ['Works in 4.12.1'],
    };
    for (const [id, texts] of Object.entries(said))
      await talk(
        stand,
        id,
        't',
        texts.map((content) => by('ann', 1, { content })),
      );
    const ids = async (column: string, search: string) =>
      (await all(`SELECT string_agg(${column}, ' ' ORDER BY ${column}) AS ids FROM ${search}('${words}')`))[0]
        ?.ids ?? '';
    expect([await ids('message_id', 'message_search'), await ids('group_id', 'conversation_search')]).toEqual(
      [messages, conversations],
    );
    const [how] = await all(`SELECT min(matched) AS matched FROM conversation_search('${words}')`);
    expect(how?.matched ?? '').toBe(conversations && (words.endsWith('stop') ? 'beginning' : 'word'));
  });
});

test('the comment of each duration names its unit, and no duration is cut to whole units', async () => {
  const columns = await all(`
    SELECT table_name || '.' || column_name AS name, data_type, comment,
      regexp_extract(column_name, '(days|hours|minutes|seconds)') AS unit
    FROM duckdb_columns()
    WHERE NOT internal AND data_type IN ('DOUBLE', 'BIGINT', 'INTEGER', 'HUGEINT') AND schema_name = 'main'
      AND table_name IN (SELECT view_name FROM duckdb_views() WHERE NOT internal)
      AND regexp_matches(column_name, '(^|_)(days|hours|minutes|seconds)(_|$)')
      AND NOT regexp_matches(column_name, '(last_\\d+|\\d+)_days')`);
  expect(columns).not.toEqual([]);
  const wrong = columns.filter(
    ({ comment, unit, data_type }) =>
      data_type !== 'DOUBLE' || !String(comment).toLowerCase().includes(String(unit)),
  );
  expect(wrong).toEqual([]);
});
