import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { namespaceOf } from '../../src/lake/settings.js';
import { extensionsOf, extensionVersion } from '../../src/store/extensions.js';
import { Pulling, startTown } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';
import { obstacle, TestLake } from './support/lake.js';
import { type Organization, organization, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/lake.js'));

describe('a lake', () => {
  const missing = obstacle();
  let org: Organization;
  beforeAll(async () => {
    if (missing === null) org = await organization(5);
  });

  /** What the command says when it fails, with the setting or the environment changed. */
  async function failure(
    lake: TestLake,
    settings: object,
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ code: number | null; stderr: string }> {
    const worker = new Worker(org, lake, settings);
    const published = readFileSync(join(worker.dataDir, 'signals.duckdb'));
    const { code, stderr } = await worker.run(['lake', 'publish'], env);
    expect(readFileSync(join(worker.dataDir, 'signals.duckdb')).equals(published)).toBe(true);
    for (const secret of [inject('lakeServices').secretKey, 'wrongsecret12345'])
      expect(stderr).not.toContain(secret);
    return { code, stderr: stderr.replaceAll(/\s+/g, ' ') };
  }

  it.skipIf(missing)('that refuses the keys of the object store is named', async () => {
    const lake = await TestLake.make();
    const { code, stderr } = await failure(lake, lake.settings(), {
      AWS_SECRET_ACCESS_KEY: 'wrongsecret12345',
    });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/refuses the keys.*AWS_SECRET_ACCESS_KEY/)]);
  });

  it.skipIf(missing)('without its bucket is named', async () => {
    const lake = await TestLake.make();
    const { code, stderr } = await failure(lake, lake.settings({ warehouse: 'nobucket' }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/bucket/)]);
  });

  it.skipIf(missing)('whose catalog does not answer is named', async () => {
    const lake = await TestLake.make();
    const { code, stderr } = await failure(lake, lake.settings({ catalog: 'http://127.0.0.1:9/iceberg' }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/catalog.*cannot be reached.*lake\.catalog/)]);
  });

  it.skipIf(missing)(
    'with extensions of another DuckDB is refused with the way to get the right ones',
    async () => {
      const lake = await TestLake.make();
      const directory = testFolder();
      for (const name of extensionsOf.lake) {
        const bytes = readFileSync(
          join(inject('lakeServices').extensions, `${name}.duckdb_extension`),
        ).subarray(-512);
        const at = bytes.indexOf(`v${extensionVersion}`);
        bytes.write('v1.4.4', at, 'latin1');
        writeFileSync(join(directory, `${name}.duckdb_extension`), bytes);
      }
      const settings = { ...lake.settings(), duckdb: { extensionDirectory: directory } };
      const { code, stderr } = await failure(lake, settings);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/is for DuckDB v1\.4\.4.*duckdb-extension-/)]);
    },
  );

  it.skipIf(missing)(
    'has no place for a second organization in a namespace, nor for tables of others',
    async () => {
      const lake = await TestLake.make();
      await new Worker(org, lake).publish();
      const namespace = `lake."${namespaceOf(org.id)}"`;
      const sql = (text: string) => lake.attached(null, (rows) => rows(text));
      await sql(`DROP TABLE ${namespace}.channels`);
      await sql(`CREATE TABLE ${namespace}.channels (id VARCHAR)`);
      const taken = await failure(lake, lake.settings());
      expect([taken.code, taken.stderr]).toEqual([
        1,
        expect.stringMatching(/channels.*not made by signalhouse/),
      ]);
      await sql(`UPDATE ${namespace}.publications SET org_id = 'another'`);
      const { code, stderr } = await failure(lake, lake.settings());
      expect([code, stderr]).toEqual([1, expect.stringMatching(/belongs to another organization/)]);
    },
  );

  it.skipIf(missing)(
    'that a newer program wrote is left alone, and one of an older program is extended',
    async () => {
      const lake = await TestLake.make();
      await new Worker(org, lake).publish();
      const namespace = `lake."${namespaceOf(org.id)}"`;
      const sql = (text: string) => lake.attached(null, (rows) => rows(text));
      await sql(`ALTER TABLE ${namespace}.topics DROP COLUMN title`);
      await sql(`ALTER TABLE ${namespace}.backlog DROP COLUMN title`);
      await sql(`DROP TABLE ${namespace}.channels`);
      const older = new Worker(org, lake);
      await older.publish();
      expect(await lake.differences(older.dataDir, org.id)).toEqual([]);
      await sql(`UPDATE ${namespace}.publications SET schema_version = 9999`);
      const { code, stderr } = await failure(lake, lake.settings());
      expect([code, stderr]).toEqual([1, expect.stringMatching(/newer signalhouse/)]);
      expect(await lake.differences(older.dataDir, org.id)).toEqual([]);
    },
  );

  it.skipIf(missing)('takes a publication once when the answer to its commit is lost', async () => {
    const lake = await TestLake.make();
    const worker = new Worker(org, lake);
    await worker.publish();
    worker.show('today');
    lake.catalog.loseAnswerTo(/^POST \S*\/transactions\/commit/);
    const { publicationId, tables, changed } = await worker.publish();
    expect(lake.catalog.lost()).toBe(1);
    expect(changed).toBe(true);
    expect(tables.messages?.inserted).toBeGreaterThan(0);
    expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
    const publications = await lake.attached(null, (rows) =>
      rows(`SELECT publication_id AS id FROM lake."${namespaceOf(org.id)}".publications ORDER BY id`),
    );
    expect(publications).toHaveLength(2);
    expect(publications.at(-1)).toEqual({ id: publicationId });
  });

  it.skipIf(missing)('that fails does no harm to the sync before it', async () => {
    const lake = await TestLake.make();
    const sandbox = await startTown({ sizes: { seed: 9 } });
    try {
      const pulling = Pulling.into(sandbox, lake.settings());
      const wrong = { ...lake.env, AWS_SECRET_ACCESS_KEY: 'wrongsecret12345' };
      const failed = await pulling.start(['sync', '--lake', '--json'], wrong).ended;
      // The sync itself is well; only the lake is not.
      const said = `${failed.stdout}${failed.stderr}`.replaceAll(/\s+/g, ' ');
      expect([failed.code, said]).toEqual([3, expect.stringMatching(/refuses the keys/)]);
      expect(await pulling.differences()).toEqual([]);
      const right = await pulling.start(['sync', '--lake', '--json'], lake.env).ended;
      expect([right.code, right.stderr]).toEqual([0, expect.anything()]);
      expect(await lake.differences(pulling.dataDir, sandbox.world.organization.id)).toEqual([]);
    } finally {
      await sandbox.stop();
    }
  });
});
