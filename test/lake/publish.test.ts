import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, obstacle, TestLake } from './support/lake.js';
import { type Organization, organization, removeOrganizations, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/lake.js'));

afterAll(removeOrganizations);

describe.each(kinds)('a lake in the format %s', (kind) => {
  const missing = obstacle(kind);
  let org: Organization;
  let lake: TestLake;
  let worker: Worker;

  beforeAll(async () => {
    if (missing !== null) return;
    org = await organization(5);
    lake = await TestLake.make(kind);
    worker = new Worker(org, lake);
  });

  const publications = () =>
    lake.reading(null, (rows) =>
      rows<{ publication_id: string; org_id: string }>(
        `SELECT publication_id, org_id FROM lake."${lake.namespace(org.id)}".publications ORDER BY publication_id`,
      ),
    );

  it.skipIf(missing)('has every table cell by cell, for DuckDB and for another program', async () => {
    const { changed, publicationId } = await worker.publish();
    expect(changed).toBe(true);
    expect(await publications()).toEqual([{ publication_id: publicationId, org_id: org.id }]);
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
    expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
  });

  it.skipIf(missing)('takes the changes of a day once, however often they are published', async () => {
    worker.show('today');
    const { tables } = await worker.publish();
    const { messages } = tables;
    expect(messages?.inserted).toBeGreaterThan(0);
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
    expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
    const before = await publications();
    expect(await worker.publish()).toMatchObject({ changed: false, tables: {} });
    expect(await publications()).toEqual(before);
    // The same from another machine, which knows nothing of what was published.
    const other = new Worker(org, lake);
    other.show('today');
    expect(await other.publish()).toMatchObject({ tables: {} });
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
  });

  it.skipIf(missing)('takes back what is gone', async () => {
    worker.show('yesterday');
    const { tables } = await worker.publish();
    expect(tables.messages?.deleted).toBeGreaterThan(0);
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
    expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
  });

  it.skipIf(missing)('is dropped with everything in it, and says what only maintenance removes', async () => {
    const { code, stdout } = await worker.run(['lake', 'drop', '--yes']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/(snapshots|files).*Maintenance/i)]);
    const left = await lake.reading(null, (rows) =>
      rows(`SELECT table_name FROM duckdb_tables() WHERE schema_name = '${lake.namespace(org.id)}'`),
    );
    expect(left).toEqual([]);
  });
});
