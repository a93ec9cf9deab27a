import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  PlainApi,
  plainCompany,
  plainGroup,
  plainMessage,
  plainPerson,
  plainTopic,
  uuid,
} from '../support/plain-api.js';
import { read } from '../support/published.js';
import type { Pulling } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let api: PlainApi;
let pulling: Pulling<PlainApi>;
afterEach(() => api.stop());
afterAll(() => folders.remove());

async function start(content: Partial<PlainApi>, settings: object = {}): Promise<void> {
  api = await PlainApi.start(content);
  pulling = api.pulling(folders, settings);
}

/** One column of the published file, as a list. */
async function column(sql: string): Promise<unknown[]> {
  const rows = await read(pulling.dataDir, (file) => file.rows(sql));
  return rows.map((row) => Object.values(row)[0]);
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A page of a list, by the query of its request. */
const paged = (all: readonly unknown[], url: URL, size: number, totalCount = all.length) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  return { body: { data: all.slice((page - 1) * size, page * size), limit: size, page, totalCount } };
};

describe('a list whose total is capped', () => {
  it('is read to its end, and what it loses is found', async () => {
    await start({ topics: numbers(25).map((one) => plainTopic(one)), pageSize: 10 });
    api.at('/topics', ({ url }) => paged(api.topics, url, 10, Math.min(20, api.topics.length)));
    const first = await pulling.sync();
    expect([first.code, first.report.failures]).toEqual([0, []]);
    expect(await column('SELECT count(*) FROM topics')).toEqual([25]);
    expect(first.report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, attempts: 2, pages: 6 }),
    );
    api.topics.splice(22, 1);
    expect((await pulling.sync()).report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, tombstoned: 1 }),
    );
    expect(await column('SELECT id FROM topics WHERE deleted_at IS NOT NULL')).toEqual([uuid('t', 23)]);
  });

  it('of conversations is read to its end', async () => {
    const groups = numbers(25).map((one) => plainGroup(one));
    await start({
      companies: [plainCompany(1, { messageCount: 25 })],
      companyGroups: { 1: groups },
      pageSize: 10,
    });
    api.at('/groups', ({ url }) => paged(api.companyGroups[1] ?? [], url, 10, 20));
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await column('SELECT count(*) FROM group_companies')).toEqual([25]);
    api.companyGroups[1]?.splice(3, 1);
    api.companies[0]!.messageCount = 24;
    await pulling.sync();
    expect(await column('SELECT count(*) FROM group_companies')).toEqual([24]);
  });

  it('costs one request more where the last page is full, and is then as long as it says', async () => {
    await start({ topics: numbers(20).map((one) => plainTopic(one)), pageSize: 10 });
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, pages: 2 }),
    );
    expect(api.requests.filter((one) => one === 'GET /topics')).toHaveLength(3);
  });
});
