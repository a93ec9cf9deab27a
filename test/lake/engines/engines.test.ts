import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { obstacle, run, TestLake } from '../support/lake.js';
import { type Organization, organization, removeOrganizations, Worker } from '../support/worker.js';

// Spark and Trino read what four workers published: 1.3 GB to install, and minutes to start. Run by hand:
//   npm run test:lake-engines

const { s3, catalog, warehouse, keyId, secretKey, engines } = inject('lakeServices');
const missing = obstacle('iceberg');

/** Rows of each table, and the length of all texts of one of its columns. */
const measured: Readonly<Record<string, string>> = {
  topics: 'title',
  messages: 'content',
  people: 'display_name',
  companies: 'name',
  history: 'changes',
  topic_people: 'person_id',
};

function question(prefix: string, organizations: readonly { schema: string; org: string }[]): string {
  const parts = organizations.flatMap(({ schema, org }) =>
    Object.entries(measured).map(
      ([table, column]) =>
        `SELECT '${org}.${table}' AS name, count(*) AS counted, sum(length(CAST(${column} AS VARCHAR(100000)))) AS total FROM ${prefix}${schema}.${table}`,
    ),
  );
  return `${parts.join(' UNION ALL ')} ORDER BY 1`;
}

let lake: TestLake;
let organizations: Organization[];
const expected: [string, number, number][] = [];
let sql: string;

beforeAll(async () => {
  if (missing !== null) return;
  lake = await TestLake.make('iceberg');
  organizations = await Promise.all([5, 6, 7, 8].map(organization));
  for (const org of organizations) {
    const worker = new Worker(org, lake);
    await worker.publish();
    worker.show('today');
    await worker.publish();
    await lake.reading(worker.dataDir, async (rows) => {
      const found = await rows<{ name: string; counted: number; total: number }>(
        question('local.', [{ schema: 'main', org: org.id }]),
      );
      expected.push(
        ...found.map(({ name, counted, total }): [string, number, number] => [name, counted, total]),
      );
    });
  }
  expected.sort(([a], [b]) => (a < b ? -1 : 1));
  sql = question(
    'lake.',
    organizations.map(({ id }) => ({ schema: lake.namespace(id), org: id })),
  );
});
afterAll(removeOrganizations);

it.skipIf(missing ?? !engines.sparkJava)(
  'Spark returns the counts and sums of four local warehouses',
  async () => {
    const jars = ['iceberg-spark-runtime-4.0_2.13', 'iceberg-aws-bundle'].map((name) =>
      join(engines.cache, 'jars', `${name}-1.10.1.jar`),
    );
    const settings = {
      'spark.jars': jars.join(','),
      'spark.ui.enabled': 'false',
      'spark.sql.extensions': 'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions',
      'spark.sql.catalog.lake': 'org.apache.iceberg.spark.SparkCatalog',
      'spark.sql.catalog.lake.type': 'rest',
      'spark.sql.catalog.lake.uri': catalog,
      'spark.sql.catalog.lake.warehouse': warehouse,
      'spark.sql.catalog.lake.io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
      'spark.sql.catalog.lake.s3.endpoint': s3,
      'spark.sql.catalog.lake.s3.path-style-access': 'true',
      'spark.sql.catalog.lake.s3.access-key-id': keyId,
      'spark.sql.catalog.lake.s3.secret-access-key': secretKey,
      'spark.sql.catalog.lake.client.region': 'us-east-1',
    };
    const script = fileURLToPath(new URL('spark.py', import.meta.url));
    const printed = await run('python3', [script], JSON.stringify({ sql, settings }), {
      PYTHONPATH: join(engines.cache, 'spark'),
      JAVA_HOME: dirname(dirname(engines.sparkJava)),
    });
    expect(JSON.parse(printed.trim().split('\n').at(-1) ?? '')).toEqual(expected);
  },
);

it.skipIf(missing ?? !engines.trinoJava)(
  'Trino returns the counts and sums of four local warehouses',
  async () => {
    const folder = join(inject('runFolder'), 'trino');
    const port = await freePort();
    mkdirSync(join(folder, 'etc/catalog'), { recursive: true });
    const write = (name: string, lines: readonly string[]) =>
      writeFileSync(join(folder, 'etc', name), `${lines.join('\n')}\n`);
    write('node.properties', [
      'node.environment=test',
      'node.id=test',
      `node.data-dir=${folder}/data`,
      'node.bind-ip=127.0.0.1',
    ]);
    write('jvm.config', ['-Xmx1G', '-XX:+UseG1GC', '-Djdk.attach.allowAttachSelf=true']);
    write('config.properties', [
      'coordinator=true',
      'node-scheduler.include-coordinator=true',
      `http-server.http.port=${port}`,
      `discovery.uri=http://127.0.0.1:${port}`,
      'node.internal-address=127.0.0.1',
    ]);
    write('catalog/lake.properties', [
      'connector.name=iceberg',
      'iceberg.catalog.type=rest',
      `iceberg.rest-catalog.uri=${catalog}`,
      `iceberg.rest-catalog.warehouse=${warehouse}`,
      'fs.native-s3.enabled=true',
      `s3.endpoint=${s3}`,
      's3.region=us-east-1',
      's3.path-style-access=true',
      `s3.aws-access-key=${keyId}`,
      `s3.aws-secret-key=${secretKey}`,
    ]);
    const home = dirname(dirname(engines.trinoJava));
    const server = spawn(
      join(engines.cache, 'trino-server-476/bin/launcher'),
      ['run', '--etc-dir', join(folder, 'etc')],
      { env: { ...process.env, JAVA_HOME: home, PATH: `${home}/bin:${process.env.PATH}` }, stdio: 'pipe' },
    );
    const ended = new Promise((resolve) => server.on('close', resolve));
    let log = '';
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-4_000);
      });
    try {
      const address = `http://127.0.0.1:${port}`;
      await ready(
        address,
        () => server.exitCode === null,
        () => log,
      );
      expect(await ask(address, sql)).toEqual(expected);
    } finally {
      server.kill('SIGTERM');
      await ended;
    }
  },
);

async function ready(address: string, isRunning: () => boolean, log: () => string): Promise<void> {
  while (isRunning()) {
    const info = await fetch(`${address}/v1/info`).then(
      (answer) => answer.json() as Promise<{ starting: boolean }>,
      () => ({ starting: true }),
    );
    if (!info.starting) return;
    await delay(500);
  }
  throw new Error(`Trino ended: ${log()}`);
}

/** The rows of a query, by Trino's protocol: each answer says where the next one is. */
async function ask(address: string, statement: string): Promise<unknown[][]> {
  const rows: unknown[][] = [];
  let answer = await fetch(`${address}/v1/statement`, {
    method: 'POST',
    headers: { 'x-trino-user': 'test' },
    body: statement,
  });
  for (;;) {
    const part = (await answer.json()) as {
      nextUri?: string;
      data?: unknown[][];
      error?: { message: string };
    };
    if (part.error) throw new Error(part.error.message);
    rows.push(...(part.data ?? []));
    if (part.nextUri === undefined) return rows;
    answer = await fetch(part.nextUri, { headers: { 'x-trino-user': 'test' } });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
