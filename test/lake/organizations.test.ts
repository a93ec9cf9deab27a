import { expect, it } from 'vitest';
import { obstacle, TestLake } from './support/lake.js';
import { organization, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/lake.js'));

it.skipIf(obstacle())(
  'publications of four organizations, and two of one, at once: every table is exact',
  async () => {
    const lake = await TestLake.make();
    const organizations = await Promise.all([5, 6, 7, 8].map(organization));
    const workers = organizations.map((org) => new Worker(org, lake));
    for (const day of ['yesterday', 'today'] as const) {
      // On the first day alone: catalogs may lose one of two first commits to a table.
      const all = day === 'yesterday' ? workers : workers.concat(new Worker(organizations[0]!, lake));
      for (const worker of all) worker.show(day);
      await Promise.all(all.map((worker) => worker.publish()));
      for (const { organization: org, dataDir } of workers)
        expect(await lake.differences(dataDir, org.id), org.id).toEqual([]);
    }
  },
);
