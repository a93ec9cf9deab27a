import { beforeAll, describe, expect, it } from 'vitest';
import type { LakeStatus } from '../../src/lake/publications.js';
import type { LakeReport } from '../../src/lake/publish.js';
import type { LakeDropped } from '../../src/lake/remove.js';
import { namespaceOf } from '../../src/lake/settings.js';
import { obstacle, TestLake } from './support/lake.js';
import { type Organization, organization, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/lake.js'));

describe('a lake', () => {
  const missing = obstacle();
  let org: Organization;
  let lake: TestLake;
  let worker: Worker;

  beforeAll(async () => {
    if (missing !== null) return;
    org = await organization(5);
    lake = await TestLake.make();
    worker = new Worker(org, lake);
  });

  const publications = () =>
    lake.attached(null, (rows) =>
      rows<{ publication_id: string; org_id: string }>(
        `SELECT publication_id, org_id FROM lake."${namespaceOf(org.id)}".publications ORDER BY publication_id`,
      ),
    );

  it.skipIf(missing)('is made, and says that it is behind', async () => {
    expect(await worker.json<LakeStatus>('status')).toMatchObject({ exists: false, behind: true });
    expect(await worker.json<LakeReport>('init')).toMatchObject({ publicationId: null });
    expect(await worker.json<LakeStatus>('status')).toMatchObject({
      exists: true,
      lastPublication: null,
      behind: true,
    });
  });

  it.skipIf(missing)(
    'has every table and view cell by cell, for DuckDB and for another program',
    async () => {
      const { changed, publicationId, leftOut } = await worker.publish();
      expect([changed, leftOut]).toEqual([true, []]);
      expect(await publications()).toEqual([{ publication_id: publicationId, org_id: org.id }]);
      expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
      expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
      const status = await worker.json<LakeStatus>('status');
      expect(status).toMatchObject({ lastPublication: { publicationId }, behind: false });
      expect(status.tables.filter(({ rows }) => rows === null)).toEqual([]);
    },
  );

  it.skipIf(missing)('takes the changes of a day once, however often they are published', async () => {
    worker.show('today');
    expect(await worker.json<LakeStatus>('status')).toMatchObject({ behind: true });
    const { tables, views } = await worker.publish();
    expect(tables.messages?.inserted).toBeGreaterThan(0);
    expect(views).toContain('data_as_of');
    expect(views).not.toContain('business_hours');
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
    expect(await lake.differencesElsewhere(worker.dataDir, org.id)).toEqual([]);
    const before = await publications();
    expect(await worker.publish()).toMatchObject({ changed: false, tables: {}, views: [] });
    // The same from another machine.
    const other = new Worker(org, lake);
    other.show('today');
    expect(await other.publish()).toMatchObject({ changed: false, tables: {}, views: [] });
    expect(await publications()).toEqual(before);
  });

  it.skipIf(missing)('takes back what is gone', async () => {
    worker.show('yesterday');
    const { tables } = await worker.publish();
    expect(tables.messages?.deleted).toBeGreaterThan(0);
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
  });

  it.skipIf(missing)('is dropped with everything in it, and nothing else of its namespace', async () => {
    const namespace = namespaceOf(org.id);
    await lake.attached(null, (rows) => rows(`CREATE TABLE lake."${namespace}".others (id VARCHAR)`));
    const asked = await worker.run(['lake', 'drop']);
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    const { tables } = await worker.json<LakeDropped>('drop', '--yes');
    expect(tables).toEqual(expect.arrayContaining(['messages', 'backlog', 'publications']));
    const left = await lake.attached(null, (rows) =>
      rows(`SELECT table_name FROM duckdb_tables() WHERE schema_name = '${namespace}'`),
    );
    expect(left).toEqual([{ table_name: 'others' }]);
    // The next publication brings everything back.
    await worker.publish();
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
  });
});
