import { afterAll, describe, expect, it } from 'vitest';
import { kinds, obstacle, TestLake } from './support/lake.js';
import { organization, removeOrganizations, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/lake.js'));

afterAll(removeOrganizations);

const seeds = [5, 6, 7, 8];

describe.each(kinds)('four workers of four organizations at once, in the format %s', (kind) => {
  const missing = obstacle(kind);

  it.skipIf(missing).each([
    ['with a namespace each', false],
    ['in one namespace, behind a lock', true],
  ])('%s: every table is exact', async (_, shared) => {
    const lake = await TestLake.make(kind);
    const settings = lake.settings({ shared });
    const workers = (await Promise.all(seeds.map(organization))).map(
      (org) => new Worker(org, lake, settings),
    );
    const namespace = (id: string) => (shared ? lake.sharedNamespace : lake.namespace(id));
    // First commits at the same time are where catalogs lose rows; in shared tables later ones meet as well.
    const days = shared ? (['yesterday', 'today'] as const) : (['yesterday'] as const);
    for (const day of days) {
      for (const worker of workers) worker.show(day);
      await Promise.all(workers.map((worker) => worker.publish()));
    }
    for (const { organization: org, dataDir } of workers)
      expect(await lake.differences(dataDir, org.id, namespace(org.id)), org.id).toEqual([]);
    for (const { organization: org, dataDir } of workers.slice(0, 1))
      expect(await lake.differencesElsewhere(dataDir, org.id, namespace(org.id)), org.id).toEqual([]);
  });

  it.skipIf(missing)('share no namespace without a lock', async () => {
    const lake = await TestLake.make(kind);
    const worker = new Worker(
      await organization(5),
      lake,
      lake.settings({ shared: true, lake: { lockUrl: undefined } }),
    );
    const { code, stderr } = await worker.run(['lake', 'publish']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('lake.lockUrl')]);
  });
});
