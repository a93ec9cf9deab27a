// What encryption at rest costs: a first pull, one with nothing new, and a query over every message, with and without it.
// Needs the extension httpfs: LAKE_EXTENSIONS names its folder (scripts/lake-services.sh extensions), unless DuckDB has it.
import { randomBytes } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

const sizes = { topics: 200, people: 800, companies: 60, messages: 50_000 };

export async function benchEncryption() {
  const sandbox = await startSandbox(sizes);
  try {
    const plain = await measured(limited(sandbox.env), false);
    const encrypted = await measured(limited(sandbox.env), true);
    return Object.keys(plain).map((name) => ({
      '': name,
      plain: plain[name] ?? '',
      encrypted: encrypted[name] ?? '',
      ratio: (encrypted[name] ?? 0) / (plain[name] ?? 1),
    }));
  } finally {
    await sandbox.stop();
  }
}

/** @param {Record<string, string>} env @param {boolean} isEncrypted @returns {Promise<Record<string, number>>} */
async function measured(env, isEncrypted) {
  const data = makeDataDir();
  const settings = join(data.dir, 'settings.yaml');
  const directory = process.env.LAKE_EXTENSIONS;
  writeFileSync(settings, directory ? `duckdb: { extensionDirectory: ${JSON.stringify(directory)} }` : '{}');
  const key = join(data.dir, 'key');
  writeFileSync(key, randomBytes(32).toString('base64'), { mode: 0o600 });
  const own = {
    ...env,
    SIGNALHOUSE_CONFIG: settings,
    ...(isEncrypted && { SIGNALHOUSE_ENCRYPTION_KEY_FILE: key }),
  };
  /** @type {Record<string, number>} */
  const figures = {};
  /** @param {string} name @param {string[]} args */
  const step = async (name, args) => {
    const { cpuSeconds, seconds, peakRssMB } = await worker(args, own, data.dir);
    Object.assign(figures, { [`${name}: CPU s`]: cpuSeconds, [`${name}: s`]: seconds });
    figures[`${name}: peak MB`] = peakRssMB;
  };
  try {
    await step('first pull', ['sync']);
    await step('nothing new', ['sync']);
    await step('rebuild', ['rebuild']);
    await step('query', [
      'sql',
      'SELECT (SELECT count(DISTINCT content) FROM messages) + (SELECT max(strlen(body)) FROM raw.documents) AS n',
    ]);
    figures['published MB'] = statSync(join(data.dir, 'data', 'signals.duckdb')).size / 1e6;
    return figures;
  } finally {
    data.remove();
  }
}
