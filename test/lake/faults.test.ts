import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { extensionVersion } from '../../src/warehouse/store/extensions.js';
import { Pulling, startTown } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';
import { kinds, obstacle, TestLake } from './support/lake.js';
import { losingProxy } from './support/proxy.js';
import { type Organization, organization, removeOrganizations, Worker } from './support/worker.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/lake.js'));

afterAll(() => {
  removeOrganizations();
});

describe.each(kinds)('a lake in the format %s', (kind) => {
  const missing = obstacle(kind);
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
    for (const secret of [
      inject('lakeServices').secretKey,
      'wrongsecret12345',
      'lakepassword',
      'wrongpassword',
    ])
      expect(stderr).not.toContain(secret);
    return { code, stderr: stderr.replaceAll(/\s+/g, ' ') };
  }

  it.skipIf(missing)('that refuses the keys of the object store is named', async () => {
    const lake = await TestLake.make(kind);
    const { code, stderr } = await failure(lake, lake.settings(), {
      AWS_SECRET_ACCESS_KEY: 'wrongsecret12345',
    });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/refuses the keys.*AWS_SECRET_ACCESS_KEY/)]);
  });

  it.skipIf(missing)('without its bucket is named', async () => {
    const lake = await TestLake.make(kind);
    const warehouse = kind === 'iceberg' ? 'nobucket' : 's3://no-such-bucket/lake';
    const { code, stderr } = await failure(lake, lake.settings({ lake: { warehouse } }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/bucket/)]);
  });

  it.skipIf(missing)('whose catalog does not answer is named', async () => {
    const lake = await TestLake.make(kind);
    const { code, stderr } = await failure(lake, lake.settings({ through: 9 }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/catalog.*cannot be reached.*lake\.catalog/)]);
  });

  it.skipIf(missing || kind === 'iceberg')('whose PostgreSQL says nothing is given up', async () => {
    const lake = await TestLake.make(kind);
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    try {
      const through = (mute.address() as AddressInfo).port;
      const { code, stderr } = await failure(lake, lake.settings({ through }));
      expect([code, stderr]).toEqual([1, expect.stringMatching(/catalog.*cannot be reached.*lake\.catalog/)]);
    } finally {
      mute.close();
    }
  });

  it.skipIf(missing || kind === 'iceberg')('that refuses the password of PostgreSQL is named', async () => {
    const lake = await TestLake.make(kind);
    const catalog = lake.catalog.replace('lakepassword', 'wrongpassword');
    const { code, stderr } = await failure(lake, lake.settings({ lake: { catalog } }));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/refuses the user or the password/)]);
  });

  it.skipIf(missing)(
    'with extensions of another DuckDB is refused with the way to get the right ones',
    async () => {
      const lake = await TestLake.make(kind);
      const directory = testFolder();
      for (const name of ['httpfs', 'avro', 'iceberg', 'ducklake', 'postgres_scanner']) {
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

  it.skipIf(missing)('has no place for a second organization in a namespace', async () => {
    const lake = await TestLake.make(kind);
    const other = await organization(6);
    // The namespace of the first, in which the second one publishes.
    const taken = lake.settings({ lake: { namespace: lake.namespace(org.id), lockUrl: lake.lockUrl } });
    await new Worker(other, lake, taken).publish();
    const { code, stderr } = await failure(lake, lake.settings());
    expect([code, stderr]).toEqual([1, expect.stringMatching(/belongs to another organization/)]);
    expect(await lake.differences(other.yesterday, other.id, lake.namespace(org.id))).toEqual([]);
  });

  it.skipIf(missing)(
    'that a newer program wrote is left alone, and one of an older program is extended',
    async () => {
      const lake = await TestLake.make(kind);
      await new Worker(org, lake).publish();
      const namespace = `lake."${lake.namespace(org.id)}"`;
      await lake.writing([
        `ALTER TABLE ${namespace}.topics DROP COLUMN title`,
        `DROP TABLE ${namespace}.channels`,
      ]);
      const older = new Worker(org, lake);
      await older.publish();
      expect(await lake.differences(older.dataDir, org.id)).toEqual([]);
      await lake.writing([`UPDATE ${namespace}.publications SET schema_version = 9999`]);
      const { code, stderr } = await failure(lake, lake.settings());
      expect([code, stderr]).toEqual([1, expect.stringMatching(/newer signalhouse/)]);
      expect(await lake.differences(older.dataDir, org.id)).toEqual([]);
    },
  );

  it.skipIf(missing)('takes a publication once when the answer to its commit is lost', async () => {
    const lake = await TestLake.make(kind);
    const proxy = await losingProxy(lake.catalog);
    try {
      const worker = new Worker(org, lake, lake.settings({ through: proxy.port }));
      await worker.publish();
      worker.show('today');
      if (kind === 'iceberg') proxy.loseAnswerTo(/^POST \S*\/transactions\/commit/m);
      else proxy.loseAnswerTo(/INSERT INTO \S*ducklake_snapshot\b/i, /COMMIT/);
      const { publicationId } = await worker.publish();
      expect(proxy.lost()).toBe(1);
      expect(await lake.differences(worker.dataDir, org.id)).toEqual([]);
      const publications = await lake.reading(null, (rows) =>
        rows<{ id: string }>(
          `SELECT publication_id AS id FROM lake."${lake.namespace(org.id)}".publications ORDER BY id`,
        ),
      );
      expect(publications).toHaveLength(2);
      expect(publications.at(-1)).toEqual({ id: publicationId });
    } finally {
      await proxy.close();
    }
  });

  it.skipIf(missing)('that fails does no harm to the sync before it', async () => {
    const lake = await TestLake.make(kind);
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
