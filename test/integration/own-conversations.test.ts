import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlainApi, plainCompany, plainGroup, plainMessage, plainPerson } from '../support/plain-api.js';
import { read } from '../support/published.js';
import type { Pulling } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let api: PlainApi;
let pulling: Pulling<PlainApi>;
/** Whose conversations were requested since the last pull. */
let asked: string[];
afterEach(() => api.stop());
afterAll(() => folders.remove());

/** Person 1 wrote conversation 1; person 2, of company 2, conversation 2. Companies are those that are listed. */
beforeEach(async () => {
  api = await PlainApi.start({
    people: [member(1, null), member(2, 2)],
    companies: [plainCompany(2, { personCount: 1, messageCount: 1 })],
    personGroups: { 1: [group(1)], 2: [group(2)] },
    companyGroups: { 2: [group(2)] },
  });
  pulling = api.pulling(folders);
  api.at('/groups', ({ url }) => {
    asked.push(url.search.slice(1).replace(/&.*/, ''));
    return undefined;
  });
});

function member(number: number, company: number | null, fields = {}) {
  const of =
    company === null
      ? null
      : { id: String(company), name: `Company ${company}`, domain: null, logoUrl: null };
  return plainPerson(number, { company: of, messageCount: 1, conversationCount: 1, ...fields });
}

const group = (number: number) => plainGroup(number, [plainMessage(number)]);

async function sync(...args: string[]) {
  asked = [];
  const { code, stdout, stderr } = await pulling.sync(args);
  expect([0, 3], stdout + stderr).toContain(code);
  return asked;
}

const stored = () =>
  read(pulling.dataDir, async ({ rows }) =>
    (await rows<{ id: string }>('SELECT content AS id FROM messages ORDER BY 1')).map(({ id }) => id),
  );
const both = ['Message 1', 'Message 2'];

function move(number: number, company: number | null) {
  api.people = api.people.map((one) => (one.id === String(number) ? member(number, company) : one));
}

describe('conversations of people', () => {
  it('come with a company that is listed, and are requested by themselves where there is none', async () => {
    expect((await sync()).sort()).toEqual(['companyId=2', 'personId=1']);
    expect(await stored()).toEqual(both);
    expect(await sync()).toEqual([]);
  });

  it.each([
    [
      'is not listed',
      () => {
        api.companies = [];
      },
    ],
    [
      'is refused with 404',
      () =>
        void answerGroups({
          status: 404,
          body: { code: 'NOT_FOUND', message: 'no', status: 404, defined: true },
        }),
    ],
    [
      'is refused with 403',
      () =>
        void answerGroups({
          status: 403,
          body: { code: 'FORBIDDEN', message: 'no', status: 403, defined: true },
        }),
    ],
    ['is not answered', () => void answerGroups({ status: 500, body: {} })],
    [
      'is too large',
      () => {
        pulling.set({ api: { maxAnswerBytes: 20_000 } });
        answerGroups({
          body: { data: [{ ...group(2), filler: 'x'.repeat(50_000) }], limit: 100, page: 1, totalCount: 1 },
        });
      },
    ],
  ])('are requested by themselves where the company %s', async (_, happens) => {
    happens();
    expect(await sync()).toEqual(expect.arrayContaining(['personId=1', 'personId=2']));
    expect(await stored()).toEqual(both);
    expect((await sync()).filter((one) => one.startsWith('person'))).toEqual([]);
    expect(await stored()).toEqual(both);
  });

  function answerGroups(answer: Parameters<PlainApi['at']>[1]) {
    const fixed = typeof answer === 'function' ? answer : () => answer;
    api.at('/groups', (seen, count) => {
      if (!seen.url.searchParams.has('companyId')) return undefined;
      asked.push(seen.url.search);
      return fixed(seen, count);
    });
  }

  it('stay, and are requested by themselves, when the company is gone and people still name it', async () => {
    await sync();
    api.companies = [plainCompany(3)];
    api.companyGroups = {};
    expect(await sync()).toContain('personId=2');
    expect(await stored()).toEqual(both);
  });

  it('stay when somebody joins between the readings of two lists', async () => {
    await sync();
    Object.assign(api.companies[0] ?? {}, { messageCount: 2 });
    // The conversations of the company were fetched after those of the person.
    expect(await sync()).toEqual(['companyId=2']);
    api.companyGroups = { 2: [group(2), group(1)] };
    api.at('/people', () => {
      move(1, 2);
      return undefined;
    });
    await sync();
    expect(await stored()).toEqual(both);
    Object.assign(api.companies[0] ?? {}, { personCount: 2, messageCount: 3 });
    expect((await sync()).filter((one) => one.startsWith('person'))).toEqual([]);
    expect(await stored()).toEqual(both);
  });

  it('stay when only people are pulled, until the conversations of the company are', async () => {
    await sync();
    Object.assign(api.companies[0] ?? {}, { messageCount: 2 });
    await sync();
    move(1, 2);
    api.companyGroups = { 2: [group(2), group(1)] };
    await sync('--only', 'people');
    expect(await stored()).toEqual(both);
    // Nothing in the list of companies shows it.
    expect(await sync()).toEqual(['companyId=2']);
    expect(await stored()).toEqual(both);
    const own = await read(pulling.dataDir, ({ rows }) =>
      rows("SELECT group_id FROM group_people WHERE via = 'listed'"),
    );
    expect(own).toEqual([]);
  });

  it('are requested by themselves for somebody who only people are pulled of, with a company that was never read', async () => {
    expect((await sync('--only', 'people')).sort()).toEqual(['personId=1', 'personId=2']);
    expect(await stored()).toEqual(both);
  });

  it('follow somebody who leaves, writes, and joins again while no counter of the company moves', async () => {
    await sync();
    move(2, null);
    api.companyGroups = { 2: [] };
    api.personGroups[2] = [group(2), group(3)];
    expect(await sync()).toEqual(expect.arrayContaining(['personId=2']));
    move(2, 2);
    api.companyGroups = { 2: [group(2), group(3), group(4)] };
    await sync();
    expect(await stored()).toEqual([...both, 'Message 3', 'Message 4']);
  });

  it('follow people when their company is merged and they name the survivor', async () => {
    api.companies.push(plainCompany(3));
    await sync();
    api.companies = [plainCompany(3)];
    api.companyGroups = { 3: [group(2)] };
    move(2, 3);
    await sync();
    expect(await stored()).toEqual(both);
  });

  it('are left alone with personGroups: never', async () => {
    await sync();
    pulling.set({ sync: { personGroups: 'never' } });
    api.companies = [plainCompany(3)];
    api.companyGroups = {};
    move(1, 3);
    expect(await sync()).toEqual(['companyId=3']);
  });
});
