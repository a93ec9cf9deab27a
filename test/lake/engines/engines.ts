import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

export type EngineName = 'Spark' | 'Trino';

/** An engine that reads a catalog of the tests as `lake`. */
export interface Engine {
  /** The rows of a statement. */
  ask(sql: string): Promise<unknown[][]>;
  stop(): Promise<void>;
}

/** Whether an engine and the Java that it needs are installed. */
export function isInstalled(name: EngineName): boolean {
  const { sparkJava, trinoJava } = inject('lakeServices').engines;
  return (name === 'Spark' ? sparkJava : trinoJava) !== '';
}

/** Starts an engine on the catalog at this address. */
export function startEngine(name: EngineName, catalog: string): Promise<Engine> {
  return name === 'Spark' ? startSpark(catalog) : startTrino(catalog);
}

async function startSpark(catalog: string): Promise<Engine> {
  const { s3, warehouse, keyId, secretKey, engines } = inject('lakeServices');
  const jars = ['iceberg-spark-runtime-4.0_2.13', 'iceberg-aws-bundle'].map((jar) =>
    join(engines.cache, 'jars', `${jar}-1.10.1.jar`),
  );
  const settings = {
    'spark.jars': jars.join(','),
    'spark.ui.enabled': 'false',
    'spark.driver.host': '127.0.0.1',
    'spark.driver.bindAddress': '127.0.0.1',
    'spark.sql.shuffle.partitions': '1',
    'spark.sql.session.timeZone': 'UTC',
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
  const process_ = child('python3', [fileURLToPath(new URL('spark.py', import.meta.url))], {
    PYTHONPATH: join(engines.cache, 'spark'),
    JAVA_HOME: dirname(dirname(engines.sparkJava)),
  });
  const lines = createInterface({ input: process_.running.stdout })[Symbol.asyncIterator]();
  const send = (value: unknown) => process_.running.stdin.write(`${JSON.stringify(value)}\n`);
  send(settings);
  const ask = async (sql: string): Promise<unknown[][]> => {
    send(sql);
    const { value, done } = await lines.next();
    if (done) throw new Error(`Spark ended: ${process_.log()}`);
    const answer = JSON.parse(value) as unknown[][] | { error: string };
    if (!Array.isArray(answer)) throw new Error(answer.error.slice(0, 2_000));
    return answer;
  };
  return {
    ask,
    stop: async () => {
      process_.running.stdin.end();
      await process_.ended;
    },
  };
}

async function startTrino(catalog: string): Promise<Engine> {
  const { s3, warehouse, keyId, secretKey, engines } = inject('lakeServices');
  const folder = mkdtempSync(join(inject('runFolder'), 'trino-'));
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
  write('jvm.config', ['-Xmx1500M', '-XX:+UseG1GC', '-Djdk.attach.allowAttachSelf=true']);
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
  const server = child(
    join(engines.cache, 'trino-server-476/bin/launcher'),
    ['run', '--etc-dir', join(folder, 'etc')],
    { JAVA_HOME: home, PATH: `${home}/bin:${process.env.PATH}` },
  );
  server.running.stdout.resume();
  const stop = async () => {
    server.running.kill('SIGTERM');
    await server.ended;
  };
  const address = `http://127.0.0.1:${port}`;
  const headers = { 'x-trino-user': 'test' };
  while (await isStarting(address)) {
    if (server.running.exitCode !== null) throw new Error(`Trino ended: ${server.log()}`);
    await delay(500);
  }
  return { ask: (sql) => askTrino(address, headers, sql), stop };
}

async function isStarting(address: string): Promise<boolean> {
  const info = await fetch(`${address}/v1/info`).then(
    (answer) => answer.json() as Promise<{ starting: boolean }>,
    () => ({ starting: true }),
  );
  return info.starting;
}

/** The rows of a query, by Trino's protocol: each answer says where the next one is. */
async function askTrino(
  address: string,
  headers: Readonly<Record<string, string>>,
  statement: string,
): Promise<unknown[][]> {
  const rows: unknown[][] = [];
  let answer = await fetch(`${address}/v1/statement`, { method: 'POST', headers, body: statement });
  for (;;) {
    const part = (await answer.json()) as {
      nextUri?: string;
      data?: unknown[][];
      error?: { message: string };
    };
    if (part.error) throw new Error(part.error.message);
    rows.push(...(part.data ?? []));
    if (part.nextUri === undefined) return rows;
    answer = await fetch(part.nextUri, { headers });
  }
}

/** A program that runs until it is told to end, and the last of what it wrote to stderr. */
function child(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): { running: ChildProcessWithoutNullStreams; ended: Promise<void>; log: () => string } {
  const running = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  let log = '';
  running.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
  });
  const ended = new Promise<void>((resolve) => running.on('close', () => resolve()));
  return { running, ended, log: () => log };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
