import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStand, type Row, type Stand } from './stand.js';

// Small enough that each score can be worked out by hand. What two have in common weighs ln 3, what three have ln 5/3;
// a pair's strength s is shown as s / (1 + s).

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());

const began = '2026-03-01T00:00:00Z';
const topic = (id: string, title: string, but: Row = {}): Row => ({
  id,
  title,
  graph_status: 'active',
  created_at: began,
  ...but,
});

/** The pairs as rows of the table, as `id_1 id_2 score outcome`. */
async function pairs(): Promise<string[]> {
  const rows = await stand.project('duplicate_pairs');
  await stand.insert('duplicate_pairs', rows);
  return rows.map(({ id_1, id_2, score, outcome }) => `${id_1} ${id_2} ${score} ${outcome}`);
}

const shown = (strength: number) => Math.round((strength / (1 + strength)) * 1000) / 1000;
const ln = Math.log;

describe('topics', () => {
  test('that share a word which no other has; forms of it, accents and short words do not matter', async () => {
    await stand.insert('topics', [
      topic('a', 'Exporté to a mill'),
      topic('b', 'a mile of exports'),
      topic('c', 'something else'),
    ]);
    expect(await pairs()).toEqual([`a b ${shown(ln(3))} open`]);
  });

  test('count less the more topics have a word, the longer ago the other began, and the more alike a third one is', async () => {
    await stand.insert('topics', [
      topic('a', 'zebra quartz'),
      topic('b', 'zebra quartz', { created_at: '2026-05-30T00:00:00Z' }),
      topic('c', 'quartz'),
      topic('d', 'violet'),
      topic('e', 'violet', { keywords: ['one', 'two', 'none'] }),
      topic('f', 'four', { keywords: ['one', 'two', 'three'] }),
    ]);
    const [two, three] = [ln(3), ln(5 / 3)];
    const ab = (two + three) ** 2 / (two + three + three);
    // Keywords are words too; two in common make it half as much again.
    const ef = ((2 * two) ** 2 / (2 * two + two / 2)) * 1.5;
    const de = two ** 2 / (two + (2 * two) / 2);
    expect(await pairs()).toEqual([
      `a b ${shown(ab * Math.exp(-1))} open`,
      `d e ${shown(de)} open`,
      `e f ${shown(ef)} open`,
    ]);
  });

  test('are probably the same when the same people and companies meet them, and say so', async () => {
    await stand.insert('topics', [topic('a', 'zebra'), topic('b', 'zebra')]);
    await stand.insert('companies', [{ id: 'acme' }, { id: 'us', is_org_company: true }]);
    await stand.insert('people', [
      { id: 'ann', company_id: 'acme' },
      { id: 'staff', company_id: 'us' },
    ]);
    await stand.insert('groups', [
      { id: 'g1', start_timestamp: began },
      { id: 'g2', start_timestamp: '2026-03-02T00:00:00Z' },
    ]);
    await stand.insert('topic_group_versions', [
      { topic_id: 'a', group_id: 'g1', reason: 'new' },
      { topic_id: 'b', group_id: 'g2', reason: 'new' },
    ]);
    await stand.insert(
      'group_people',
      ['g1', 'g2'].flatMap((group_id) => ['ann', 'staff'].map((person_id) => ({ group_id, person_id }))),
    );
    expect(await pairs()).toEqual([`a b ${shown(ln(3) * 2 * Math.exp(-1 / 90))} open`]);
    const [first] = await stand.all('SELECT place, reasons, name_1, name_2 FROM probable_duplicates');
    expect(first).toMatchObject({ place: 1, name_1: 'zebra', name_2: 'zebra' });
    const [said] = await stand.all(`SELECT array_to_string(reasons, '; ') AS said FROM duplicate_pairs`);
    expect(said).toEqual({
      said: 'rare words: zebra; 1 person in both; 1 company in both; began 1 day apart',
    });
  });

  test('that are deleted, archived, superseded or migrated are no candidates', async () => {
    await stand.insert('topics', [
      topic('a', 'zebra'),
      topic('deleted', 'zebra', { deleted_at: began }),
      topic('archived', 'zebra', { archived_at: began }),
      topic('superseded', 'zebra', { superseded_at: began, graph_status: 'superseded' }),
      topic('migrated', 'zebra', { detail_unavailable_reason: 'archived_in_v1_to_v2_migration' }),
    ]);
    expect(await pairs()).toEqual([]);
  });
});

test('people with one e-mail address, name or account name; their companies speak for it or against it', async () => {
  await stand.insert('people', [
    { id: 'a', display_name: 'Ann Lee', primary_email: 'Ann.Lee@acme.example', company_id: '1' },
    { id: 'b', display_name: 'ann lée', primary_email: 'ann.lee@home.example', company_id: '1' },
    { id: 'c', display_name: 'Bob', primary_email: 'bob@acme.example' },
    { id: 'd', display_name: 'Robert Roe', primary_email: 'bob@acme.example' },
    { id: 'e', display_name: 'Eve Adams', company_id: '1' },
    { id: 'f', display_name: 'Eve Adams', company_id: '2' },
  ]);
  await stand.insert('person_identities', [
    { person_id: 'a', platform: 'slack', platform_id: '1', platform_username: 'annlee' },
    { person_id: 'b', platform: 'github', platform_id: '2', platform_username: 'AnnLee' },
  ]);
  expect(await pairs()).toEqual([
    `a b ${shown(3 * ln(3) * 1.5)} open`,
    `c d ${shown(ln(3))} open`,
    `e f ${shown(ln(3) / 2)} open`,
  ]);
  const [said] = await stand.all(`SELECT array_to_string(reasons, '; ') AS said FROM duplicate_pairs`);
  expect(said).toEqual({ said: 'same account name; same e-mail name; same name; same company' });
});

describe('what was merged in the past', () => {
  const precision = () =>
    stand.all('SELECT * EXCLUDE (sentence) FROM probable_duplicates_precision ORDER BY entity_type DESC');
  const sentences = async () =>
    (await stand.all('SELECT sentence FROM probable_duplicates_precision ORDER BY entity_type DESC')).map(
      ({ sentence }) => sentence,
    );

  test('is ranked as if it were still there, without what the survivor got from it', async () => {
    await stand.insert('topics', [
      topic('a', 'zebra'),
      topic('b', 'zebra', { merged_into_id: 'a', deleted_at: began }),
      topic('c', 'violet'),
      topic('d', 'yellow', { merged_into_id: 'c', deleted_at: began }),
      topic('e', 'violet', { merged_into_id: 'a', deleted_at: began }),
    ]);
    await stand.insert('merges', [{ entity_type: 'topic', source_id: 'before us', target_id: 'a' }]);
    await stand.insert('people', [{ id: 'ann' }]);
    await stand.insert('groups', [{ id: 'g', start_timestamp: began }]);
    await stand.insert('group_people', [{ group_id: 'g', person_id: 'ann' }]);
    // A person in both would make it half as much again.
    await stand.insert('topic_group_versions', [
      { topic_id: 'b', group_id: 'g', reason: 'new', last_seen_at: began },
      { topic_id: 'a', group_id: 'g', reason: 'merged', previous_topic_id: 'b' },
    ]);
    expect(await pairs()).toEqual([`a b ${shown(ln(3))} merged`, `c e ${shown(ln(3))} gone`]);
    expect(await stand.all('FROM probable_duplicates')).toEqual([]);
    expect(await precision()).toEqual([
      { entity_type: 'topic', merges: 4, compared: 3, found: 1, in_first_100: 1 },
      { entity_type: 'person', merges: 0, compared: 0, found: 0, in_first_100: 0 },
    ]);
    expect(await sentences()).toEqual([
      'Of 3 past merges of topics, 1 would have been in the first 100 pairs (1 more were made before the first sync and cannot be compared).',
      'No people have been merged yet, so nobody can say how good this list is.',
    ]);
  });

  test('counts only among the first hundred pairs, and says when nothing can be compared', async () => {
    const pair = (n: number, word: string, but: Row = {}) => [
      topic(`${String(n).padStart(3, '0')} one`, word),
      topic(`${String(n).padStart(3, '0')} other`, word, but),
    ];
    // Each has a word of its own, of letters that no other word begins with.
    const word = (n: number) => `w${String(n).padStart(5, '0')}`;
    await stand.insert('topics', [
      ...Array.from({ length: 100 }, (_, n) => pair(n, word(n))).flat(),
      ...pair(100, word(100), { merged_into_id: '100 one', deleted_at: began }),
    ]);
    await pairs();
    expect(await precision()).toMatchObject([{ merges: 1, compared: 1, found: 1, in_first_100: 0 }]);
    await stand.run('DELETE FROM topics WHERE merged_into_id IS NOT NULL; DELETE FROM duplicate_pairs');
    await stand.insert('merges', [{ entity_type: 'topic', source_id: 'before us', target_id: '100 one' }]);
    expect(await sentences()).toEqual([
      'All past merges of topics (1) were made before the first sync and cannot be compared, so nobody can say how good this list is.',
    ]);
  });
});
