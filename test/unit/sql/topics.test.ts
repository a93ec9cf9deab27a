import { readdirSync } from 'node:fs';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { sqlFile } from '../../../src/store/sql.js';
import { openStand, type Stand } from './stand.js';
import { by, day, settle, talk, topic } from './town.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => settle(stand));

const names = readdirSync(new URL('../../../sql/topics', import.meta.url)).map((name) => name.slice(0, -4));

/** The rows of a query of the pages, about one topic or company. */
const rowsOf = (name: string, id = '') =>
  stand.all(sqlFile(`topics/${name}`).replaceAll('$id', `'${id}'`).replaceAll('$words', `'${id}'`));

it.each(names)('the query %s fits the tables and views', async (name) => {
  expect(await rowsOf(name, 'unheard-of')).toHaveLength(name === 'list' ? 1 : 0);
});

it('the list has who asks for a topic, who of them is a VIP, and since when one waits', async () => {
  await talk(stand, 'one', 't', [by('ann', 9), by('staff', 8), by('bob', 3), by('bot', 2), by('vip', 1)]);
  await stand.insert('topics', [
    topic('closed', { lifecycle_state: 'completed' }),
    topic('merged', { merged_into_id: 't' }),
  ]);
  const rows = await rowsOf('list');
  expect(rows.map(({ id, isOpen }) => [id, isOpen]).sort()).toEqual([
    ['closed', false],
    ['t', true],
  ]);
  const [found] = rows.filter(({ id }) => id === 't');
  expect(found).toMatchObject({ vipPeople: 1, isArchived: false, isDecided: false });
  expect(JSON.stringify(found?.companies)).toMatch(/acme.*beta/);
  expect(JSON.stringify(found?.companies)).not.toContain('"us"');
  expect(found?.waitingSince).not.toBeNull();
});

it('those who asked are people from outside, with the last thing that each said', async () => {
  await talk(stand, 'one', 't', [by('ann', 9), by('ann', 4), by('staff', 3), by('bot', 2)]);
  const people = await rowsOf('people', 't');
  expect(people.map(({ id }) => id).sort()).toEqual(['ann', 'bob', 'eve', 'vip']);
  const [ann] = people.filter(({ id }) => id === 'ann');
  expect(ann).toMatchObject({ messages: 2, companyName: 'Acme', isCompanyVip: true });
  const kinds = (await rowsOf('messages', 't')).map(({ kind, side }) => `${kind} ${side}`);
  expect(kinds).toEqual(['latest staff', 'latest external', 'latest external', 'telling external']);
});

it('what a company was told was said after it wrote, or before anybody else from outside did', async () => {
  await talk(stand, 'others-first', 't', [by('bob', 9), by('staff', 8), by('ann', 7)]);
  await talk(stand, 'staff-first', null, [by('staff', 6), by('ann', 5)]);
  await talk(stand, 'after', 't', [by('ann', 5), by('staff', 4), by('staff', 3, { is_internal: true })]);
  const inLists = (...groups: string[]) =>
    stand.insert(
      'group_companies',
      groups.map((group_id) => ({ group_id, company_id: 'acme' })),
    );
  const told = async () => (await rowsOf('answers', 'acme')).map(({ topicId, at }) => [topicId, at]);
  await inLists('others-first', 'staff-first');
  expect(await told()).toEqual([[null, new Date(day(6))]]);
  await inLists('after');
  expect(await told()).toEqual([
    ['t', new Date(day(4))],
    [null, new Date(day(6))],
  ]);
});
