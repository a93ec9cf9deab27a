// What a publication to a lake costs: the first one, one of a night in which 1 % of the messages changed and 0.1 % are gone, and
// one with nothing new. With real services on loopback (scripts/lake-services.sh), which are stopped afterwards. --sizes are numbers of messages; 200,000 by default.
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const services = fileURLToPath(new URL('../scripts/lake-services.sh', import.meta.url));

/** @param {{ sizes: number[] }} options */
export async function benchLake({ sizes }) {
  const data = makeDataDir();
  const folder = join(data.dir, 'services');
  const started = run('bash', [services, 'up', folder]);
  try {
    const env = Object.fromEntries(
      [...started.matchAll(/^(\w+)='(.*)'$/gm)].map(([, name, value]) => [name, value]),
    );
    const rows = [];
    for (const messages of sizes.length > 0 ? sizes : [200_000]) {
      const topics = Math.ceil(messages / 500);
      const companies = Math.ceil(topics / 4);
      const sandbox = await startSandbox({ topics, people: topics * 4, companies, messages });
      try {
        await worker(['sync'], limited(sandbox.env), data.dir);
      } finally {
        await sandbox.stop();
      }
      rows.push(await measured(messages, data.dir, folder, env));
      rmSync(join(data.dir, 'data'), { recursive: true });
    }
    return rows;
  } finally {
    run('bash', [services, 'down', folder]);
    data.remove();
  }
}

/** @param {number} messages @param {string} dir @param {string} folder @param {Record<string, string | undefined>} env */
async function measured(messages, dir, folder, env) {
  const settings = {
    duckdb: { extensionDirectory: env.LAKE_EXTENSIONS },
    lake: {
      catalog: env.LAKE_CATALOG,
      warehouse: env.LAKE_WAREHOUSE,
      s3: { endpoint: env.LAKE_S3, pathStyle: true },
    },
  };
  const config = join(dir, 'lake.yaml');
  writeFileSync(config, JSON.stringify(settings));
  const variables = {
    AWS_ACCESS_KEY_ID: env.AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY: env.AWS_SECRET_ACCESS_KEY,
    SIGNALHOUSE_DATA_DIR: join(dir, 'data'),
    SIGNALHOUSE_CONFIG: config,
  };
  const seconds = () =>
    JSON.parse(run(process.execPath, [main, 'lake', 'publish', '--json'], variables)).seconds;
  const size = () => Number(run('du', ['-sm', join(folder, 's3')]).split('\t', 1)[0]);
  const before = size();
  const first = seconds();
  const firstMB = size() - before;
  await aNight(join(dir, 'data', 'signals.duckdb'));
  const night = seconds();
  const nightMB = size() - before - firstMB;
  const nothing = seconds();
  run(process.execPath, [main, 'lake', 'drop', '--yes'], variables);
  return {
    messages,
    'first s': first,
    'first MB': firstMB,
    'night s': night,
    'night MB': nightMB,
    'nothing new s': nothing,
  };
}

/** Changes a copy of the published file, which then takes its place. @param {string} published */
async function aNight(published) {
  copyFileSync(published, `${published}.fresh`);
  const instance = await DuckDBInstance.create(`${published}.fresh`);
  const connection = await instance.connect();
  await connection.run(
    `UPDATE messages SET content = content || '.', synced_at = now() WHERE hash(id) % 100 = 0`,
  );
  await connection.run('DELETE FROM messages WHERE hash(id) % 1000 = 1');
  await connection.run('CHECKPOINT');
  connection.closeSync();
  instance.closeSync();
  renameSync(`${published}.fresh`, published);
}

/** What a program printed. @param {string} command @param {string[]} args @param {Record<string, string | undefined>} [env] */
function run(command, args, env = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}
