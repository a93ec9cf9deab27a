import { afterEach, describe, expect, it } from 'vitest';
import type { PagingFault } from '../../src/sandbox/faults.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { json, rawServer } from '../support/raw-server.js';

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

async function townOf(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startTown(options);
  running.push(() => sandbox.stop());
  return sandbox;
}

async function pullingFrom(options: SandboxOptions, maxPageSize: number): Promise<Pulling> {
  return Pulling.into(await townOf({ ...options, maxPageSize }));
}

/** Small, so that pages of few items are still few pages. */
const tiny = { sizes: { topics: 12, people: 14, companies: 4, messages: 120 } };

describe('whatever the size of pages, where they start, and the form of the lists that is not shown', () => {
  const property = { people: 'property', channels: 'paged', templates: 'array' } as const;
  const array = { people: 'array', channels: 'array', templates: 'paged' } as const;
  it.each([
    ['1 item, from 0, people as a property', 1, { ...tiny, pageBase: 0, forms: property }],
    ['5 items, from 1, people as a bare array', 5, { ...tiny, pageBase: 1, forms: array }],
    ['50 items, from 0', 50, { pageBase: 0 }],
  ] as const)('%s', async (_, maxPageSize, options) => {
    const pulling = await pullingFrom(options, maxPageSize);
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.scans.filter(({ verified }) => !verified)).toEqual([]);
    expect(await pulling.differences()).toEqual([]);
  });
});

describe('lists that do not page as they should', () => {
  const faulty = (pagingFault: PagingFault) => pullingFrom({ ...tiny, pagingFault }, 4);

  it('a server that ignores the page: the error names endpoint, page and setting', async () => {
    const pulling = await faulty('ignore-page');
    const { code, report } = await pulling.sync(['--only', 'topics,people,companies']);
    expect(code).toBe(3);
    const failed = [...new Set(report.failures.map(({ endpoint }) => endpoint))];
    expect(failed.slice(0, 3)).toEqual(['topics', 'people', 'company_groups']);
    for (const { endpoint, message, hint } of report.failures) {
      const asked = endpoint.endsWith('_groups') ? 'groups' : endpoint;
      expect(message).toContain(`${asked}: GET /${asked}?`);
      expect(message).toContain('page=2');
      expect(hint).toContain('api.paging.pageParameter');
    }
    // The list that fits into one page is none the worse for it.
    const [count] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ n: number }>('SELECT count(*) AS n FROM companies'),
    );
    expect(count?.n).toBe(4);
  });

  it('a server that repeats its first page: an end is found, and nothing is concluded', async () => {
    const pulling = await faulty('repeat-page');
    const { code, report, seen } = await pulling.sync(['--only', 'topics']);
    expect(code).toBe(0);
    expect(seen.topics).toBe(9);
    expect(report.scans).toEqual([
      expect.objectContaining({ endpoint: 'topics', verified: false, attempts: 3, tombstoned: 0 }),
    ]);
    expect(report.notes.join()).toMatch(/its total is 1\d, and it returned 4/);
    const status = JSON.parse((await pulling.start(['status', '--json']).ended).stdout);
    expect(status.contents.lists).toEqual([
      expect.objectContaining({
        ...{
          endpoint: 'topics',
          verified_at: null,
          note: expect.stringMatching(/its total is 1\d, and it returned 4/),
        },
      }),
    ]);
  });
});

describe('a list without a total', () => {
  it('is read completely from a server that caps its pages at a size of its own', async () => {
    const cap = 37;
    const sandbox = await townOf({ sizes: { people: 80, messages: 60 }, forms: { people: 'property' } });
    const server = await rawServer(async (response, { url, headers }) => {
      const get = (path: string) =>
        fetch(`${sandbox.origin}${path}`, { headers: { authorization: headers.authorization ?? '' } });
      if (url.pathname !== '/v1/people') {
        const answer = await get(`${url.pathname}${url.search}`);
        return json(response, answer.status, await answer.json());
      }
      const { people } = (await (await get('/v1/people')).json()) as { people: unknown[] };
      const numberOf = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
      const start = (numberOf('page', 1) - 1) * cap;
      json(response, 200, { people: people.slice(start, start + Math.min(cap, numberOf('limit', cap))) });
    });
    running.push(() => server.close());
    const pulling = Pulling.into(sandbox);
    pulling.env.SIGNALHOUSE_BASE_URL = server.baseUrl;
    const { code, report } = await pulling.sync(['--only', 'people']);
    expect(code).toBe(0);
    expect(report.scans).toMatchObject([{ endpoint: 'people', verified: true, attempts: 2 }]);
    const [count] = await read(pulling.dataDir, ({ rows }) =>
      rows<{ n: number }>('SELECT count(*) AS n FROM people WHERE deleted_at IS NULL'),
    );
    expect(count?.n).toBe(sandbox.world.people.size);
  });
});

describe("a person's history with more records than one answer has", () => {
  it('is requested for each kind of actor', async () => {
    const sandbox = await townOf({});
    const pulling = Pulling.into(sandbox);
    const long = [...sandbox.world.people.values()].filter(({ id }) => {
      const records = sandbox.world.history.get(`person:${id}`) ?? [];
      return /^\d+$/.test(id) && records.some(({ changedBy }) => changedBy !== 'user');
    });
    const [complete, cut] = long.map(({ id }) => id) as [string, string];
    const isUser = ({ changedBy }: { changedBy: string }) => changedBy === 'user';
    for (const [personId, most] of [
      [complete, 50],
      [cut, 55],
    ] as const) {
      const records = () => sandbox.world.history.get(`person:${personId}`) ?? [];
      for (let count = 0; records().filter(isUser).length < most; count += 1)
        sandbox.change({ kind: 'patchPerson', personId, fields: { description: `version ${count}` } });
    }
    const { code, report, seen } = await pulling.sync(['--only', 'people']);
    expect(code).toBe(0);
    const stored = await read(pulling.dataDir, (reader) =>
      reader.rows<{ id: string; records: number }>(
        `SELECT entity_id AS id, count(*)::INT AS records FROM history WHERE entity_id IN ('${complete}', '${cut}') AND entity_type = 'person' GROUP BY 1`,
      ),
    );
    const recordsOf = (id: string) => sandbox.world.history.get(`person:${id}`)?.length ?? 0;
    expect(Object.fromEntries(stored.map(({ id, records }) => [id, records]))).toEqual({
      [complete]: recordsOf(complete),
      [cut]: recordsOf(cut) - 5,
    });
    // Three requests more for each of the two; what is still missing of one is noted.
    expect(seen.person_history).toBe(sandbox.world.people.size + 6);
    expect(report.notes.join()).toContain('1 histories have more records than the API returns');
  });
});

describe('addresses of pictures that are signed anew in each answer', () => {
  it('make nothing look changed', async () => {
    const sandbox = await townOf({ ...tiny, signedUrls: true });
    const pulling = Pulling.into(sandbox);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    const second = await pulling.sync();
    expect(second.code).toBe(0);
    // No child is requested.
    expect(Object.keys(second.seen).sort()).toEqual(
      ['whoami', 'topics', 'companies', 'people', 'channels', 'stories', 'automation_templates'].sort(),
    );
    const pictures = [
      'authors.source_avatar_url',
      'people.avatar_url',
      'people.company_logo_url',
      'companies.logo_url',
      'company_employees.avatar_url',
      'topic_people.avatar_url',
      'topic_people.company_logo_url',
      'messages.reply_to',
      'messages.thread',
    ];
    expect(await pulling.differences({ except: pictures })).toEqual([]);
  });
});
