// The same organization, pulled from the same sandbox by Signalhouse and by dlt (bench/peers/signals.py), in turns: a
// first pull, and a day later, with nothing new. dlt is installed from PyPI into a temporary environment.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limited, makeDataDir, nothingNew, startSandbox, worker } from './processes.mjs';

export const packages = ['dlt[duckdb,parquet]==1.31.0'];
const pipeline = fileURLToPath(new URL('./peers/signals.py', import.meta.url));
export const sizes = { topics: 40, people: 100, companies: 12 };

export const defaultMessages = 2_000;

/** @typedef {{seconds: number, cpuSeconds: number, peakRssMB: number}} Spent */

/** @param {{sizes: number[]}} options the first of the sizes is the number of messages */
export async function benchPeers({ sizes: [messages = defaultMessages] }) {
  const environment = makeDataDir();
  const python = installed(environment.dir);
  const sandbox = await startSandbox({ ...sizes, messages });
  const peers = [
    signalhouse(sandbox.env),
    dlt('careful', python, sandbox.env),
    dlt('cursors', python, sandbox.env),
  ];
  const table = peers.map(({ name }) => /** @type {Record<string, string | number>} */ ({ tool: name }));
  try {
    const count = async () => (await sandbox.stats()).requests;
    for (const run of ['first', 'idle']) {
      for (const [n, peer] of peers.entries()) {
        const before = await count();
        const { cpuSeconds, seconds, peakRssMB } = await peer.pull();
        Object.assign(table[n] ?? {}, {
          [`${run}: requests`]: (await count()) - before,
          [`${run}: CPU s`]: cpuSeconds,
          [`${run}: s`]: seconds,
          [`${run}: peak MB`]: peakRssMB,
        });
      }
      if (run === 'first') await sandbox.post('/__sandbox/advance', { days: 1, shape: nothingNew });
    }
    for (const [n, peer] of peers.entries()) Object.assign(table[n] ?? {}, await peer.rows());
    return table;
  } finally {
    await sandbox.stop();
    for (const { remove } of [...peers, environment]) remove();
  }
}

/** The Python of a new environment with dlt. @param {string} dir */
function installed(dir) {
  console.error(`Installing ${packages.join(' ')} with pip into ${dir}, which is removed afterwards.`);
  execFileSync('python3', ['-m', 'venv', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const python = join(dir, 'bin', 'python');
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return python;
}

/** @param {Record<string, string>} env */
function signalhouse(env) {
  const data = makeDataDir();
  /** @param {string[]} args */
  const run = (args) => worker(args, limited(env), data.dir);
  return {
    name: 'Signalhouse',
    /** @returns {Promise<Spent>} */
    pull: () => run(['sync']),
    rows: async () => {
      const { readModels } = await import(new URL('../dist/load/models.js', import.meta.url).href);
      const { documents, derived } = readModels();
      const counts = [...documents, ...derived].map(
        (/** @type {{table: string, key: string[]}} */ { table, key }) =>
          `SELECT count(*) AS n, count(DISTINCT (${key})) AS keys FROM "${table}"`,
      );
      const { report } = await run([
        'sql',
        `SELECT sum(n) AS n, sum(n) - sum(keys) AS repeated FROM (${counts.join(' UNION ALL ')})`,
      ]);
      return { rows: Number(report[0].n), 'duplicate rows': Number(report[0].repeated) };
    },
    remove: data.remove,
  };
}

/** @param {'careful' | 'cursors'} mode @param {string} python @param {Record<string, string>} env */
function dlt(mode, python, env) {
  const data = makeDataDir();
  /** @param {string} command */
  const run = (command) => {
    const started = performance.now();
    const text = execFileSync(python, [pipeline, command], {
      cwd: data.dir,
      env: { ...process.env, ...env, RUNTIME__DLTHUB_TELEMETRY: 'false', RUNTIME__LOG_LEVEL: 'ERROR' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { ...JSON.parse(text), seconds: (performance.now() - started) / 1000 };
  };
  return {
    name: mode === 'careful' ? 'dlt' : 'dlt, cursors only',
    /** @returns {Promise<Spent>} */
    pull: async () => run(mode),
    rows: async () => {
      const { rows, repeated } = run('rows');
      return { rows, 'duplicate rows': repeated };
    },
    remove: data.remove,
  };
}
