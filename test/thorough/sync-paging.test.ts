import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { PagingFault } from '../../src/sandbox/faults.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
const running: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of running.splice(0)) await sandbox.stop();
});
afterAll(() => folders.remove());

async function pullingFrom(options: SandboxOptions, pageSize: number): Promise<Pulling> {
  const sandbox = await startTown({ maxPageSize: pageSize, ...options });
  running.push(sandbox);
  return Pulling.into(folders, sandbox, { api: { paging: { pageSize } } });
}

/** Small, so that pages of few items are still few pages. */
const tiny = { sizes: { topics: 12, people: 14, companies: 4, messages: 120 } };

describe('whatever the size of pages, where they start, and the form of the lists that is not shown', () => {
  const property = { people: 'property', channels: 'paged', templates: 'array' } as const;
  const array = { people: 'array', channels: 'array', templates: 'paged' } as const;
  it.each([
    ['1 item, from 0, people as a property', 1, { ...tiny, pageBase: 0, forms: property }],
    ['5 items, from 1, people as a bare array', 5, { ...tiny, pageBase: 1, forms: array }],
    ['50 items granted of 100 asked for, from 0', 100, { pageBase: 0, maxPageSize: 50 }],
  ] as const)('%s', async (_, pageSize, options) => {
    const pulling = await pullingFrom(options, pageSize);
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.scans.filter(({ verified }) => !verified)).toEqual([]);
    expect(await pulling.differences()).toEqual([]);
  });
});

describe('lists that do not page as they should', () => {
  const faulty = (pagingFault: PagingFault) => pullingFrom({ ...tiny, pagingFault }, 4);

  it.each(['other-limit', 'refuse-limit'] as const)('%s: everything is read all the same', async (how) => {
    const pulling = await faulty(how);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
  });

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
