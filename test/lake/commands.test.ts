import { afterAll, describe, expect, it } from 'vitest';
import type { LakeDropped, LakeReport, LakeStatus } from '../../src/app/lake.js';
import { kinds, obstacle, TestLake } from './support/lake.js';
import { organization, removeOrganizations, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/lake.js'));

afterAll(removeOrganizations);

/** What a command prints with --json; it has to succeed. */
async function json<T>(worker: Worker, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await worker.run(['lake', ...args, '--json']);
  if (code !== 0) throw new Error(`lake ${args.join(' ')} exits ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as T;
}

describe.each(kinds)('the commands of a lake in the format %s', (kind) => {
  const missing = obstacle(kind);

  it.skipIf(missing)('create its tables, and say what it has and whether it is behind', async () => {
    const lake = await TestLake.make(kind);
    const worker = new Worker(await organization(5), lake);
    const made = await json<LakeReport>(worker, 'init');
    expect(made.created).toContain('publications');
    expect((await json<LakeReport>(worker, 'init')).changed).toBe(false);
    expect(await json<LakeStatus>(worker, 'status')).toMatchObject({ lastPublication: null, behind: true });

    const { publicationId, views } = await json<LakeReport>(worker, 'publish');
    const status = await json<LakeStatus>(worker, 'status');
    expect(status).toMatchObject({ lastPublication: { publicationId }, behind: false });
    expect(status.tables.filter(({ rows, snapshotRows }) => rows !== snapshotRows)).toEqual([]);
    worker.show('today');
    expect(await json<LakeStatus>(worker, 'status')).toMatchObject({ behind: true });

    expect(views.created.length > 0).toBe(kind === 'ducklake');
    const namespace = lake.namespace(worker.organization.id);
    await lake.reading(null, async (rows) => {
      for (const view of views.created) await rows(`SELECT * FROM lake."${namespace}"."${view}" LIMIT 1`);
    });
  });

  it.skipIf(missing)('remove one organization, and no other one of the namespace', async () => {
    const lake = await TestLake.make(kind);
    const settings = lake.settings({ shared: true });
    const [kept, gone] = [
      new Worker(await organization(5), lake, settings),
      new Worker(await organization(6), lake, settings),
    ];
    await kept.publish();
    await gone.publish();
    const { code, stderr } = await gone.run(['lake', 'drop']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await json<LakeDropped>(gone, 'drop', '--yes')).toMatchObject({ shared: true });
    const { tables } = await json<LakeStatus>(gone, 'status');
    expect(tables.filter(({ rows }) => rows !== 0)).toEqual([]);
    expect(await lake.differences(kept.dataDir, kept.organization.id, lake.sharedNamespace)).toEqual([]);
    // The next publication brings everything back.
    await gone.publish();
    expect(await lake.differences(gone.dataDir, gone.organization.id, lake.sharedNamespace)).toEqual([]);
  });
});
