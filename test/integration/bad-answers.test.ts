import { expect, it } from 'vitest';
import { Pulling, town, townOfFile } from '../support/pulling.js';

const { sandbox, pulling } = await townOfFile({ sizes: town });

it('answers that are not those of the API in lists: each is named, the others are read, and nothing is deleted', async () => {
  sandbox.addFaults([
    { match: { route: 'topics' }, kind: 'replace', body: { items: 'moved', more: 3 } },
    { match: { route: 'companies' }, kind: 'html', status: 200 },
    { match: { route: 'people' }, kind: 'html', status: 502 },
    { match: { route: 'channels' }, kind: 'truncate', bytes: 100, clean: true },
    { match: { route: 'automation_templates' }, kind: 'reset' },
  ]);
  const { code, report } = await pulling.sync();
  expect(code).toBe(3);
  expect(report.outcome).toBe('incomplete');
  expect(report.failures.map(({ endpoint }) => endpoint)).toEqual([
    'topics',
    'companies',
    'people',
    'channels',
    'automation_templates',
  ]);
  const said = report.failures.map(({ message }) => message);
  expect(said[0]).toContain('items, more');
  expect(said[1]).toContain('HTML');
  expect(said[2]).toContain('502');
  expect(said[3]).toContain('truncated');
  expect(said[4]).toContain('lost the connection');
  expect(report.failures.filter(({ hint }) => hint === null).map(({ endpoint }) => endpoint)).not.toContain(
    'companies',
  );
  expect(report.scans.map(({ endpoint }) => endpoint)).toEqual(['stories']);
  expect(report.rows).toEqual({});
  const { stdout } = await pulling.run(['status', '--json']);
  const { lists } = JSON.parse(stdout).contents as { lists: Record<string, unknown>[] };
  const failing = lists.filter(({ note }) => note !== null);
  expect(failing.map(({ endpoint }) => endpoint)).toHaveLength(5);
  expect(lists.find(({ endpoint }) => endpoint === 'people')).toMatchObject({
    note: expect.stringContaining('502'),
    total_count: 40,
    ids: 40,
  });
});

it('a list that is not offered any more: its rows stay, and the run says that they age', async () => {
  sandbox.addFaults([{ match: { route: 'channels' }, kind: 'status', status: 404 }]);
  const { code, report } = await pulling.sync(['--only', 'channels']);
  expect([code, report.outcome, report.notes]).toEqual([3, 'incomplete', []]);
  expect(report.failures).toEqual([
    expect.objectContaining({
      endpoint: 'channels',
      message: expect.stringMatching(/not offer this list any more .*; its 4 stored items stay/),
    }),
  ]);
  expect(await pulling.differences()).toEqual([]);
  const status = JSON.parse((await pulling.run(['status', '--json'])).stdout);
  expect(status.contents.lists).toContainEqual(
    expect.objectContaining({ endpoint: 'channels', note: expect.stringContaining('not offer this list') }),
  );

  const other = Pulling.into(sandbox);
  const first = await other.sync(['--only', 'channels']);
  expect([first.code, first.report.outcome, first.report.failures]).toEqual([0, 'done', []]);
  expect(first.report.notes.join()).toContain('channels: the API does not offer this list');
  // What there is nothing of cannot be stale.
  const { freshness } = JSON.parse((await other.run(['status', '--json'])).stdout);
  expect(freshness).toContainEqual(expect.objectContaining({ resource: 'channels', state: 'fresh' }));
});

it('an empty list where there were people: held back, until it is let through', async () => {
  sandbox.addFaults([{ match: { route: 'people' }, kind: 'replace', body: { people: [] } }]);
  const held = await pulling.sync();
  expect(held.code).toBe(3);
  expect(held.report.scans.find(({ endpoint }) => endpoint === 'people')).toMatchObject({
    fused: true,
    missing: 40,
    tombstoned: 0,
  });
  expect(held.report.notes.join()).toContain('--accept-deletes');
  expect(await pulling.differences()).toEqual([]);

  // Let through, each is asked for by its id: they are all still there.
  const through = await pulling.sync(['--accept-deletes', '--only', 'people']);
  expect(through.code).toBe(0);
  expect(through.report.scans[0]).toMatchObject({ fused: false, tombstoned: 0 });
  expect(through.seen.person).toBe(40);
  sandbox.clearFaults();
  const back = await pulling.sync(['--only', 'people']);
  expect([back.code, back.report.scans[0]?.restored]).toEqual([0, 40]);
  expect(await pulling.differences()).toEqual([]);
});
