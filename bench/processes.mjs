// The sandbox and the worker as separate processes, as in production.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const usage = new URL('./usage.mjs', import.meta.url).href;

/** What is left when a bench is interrupted, unless it is ended here. @type {Set<() => void>} */
const open = new Set();
for (const [signal, code] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])) {
  process.once(signal, () => {
    for (const end of open) end();
    process.exit(code);
  });
}

/** Has a child end with the bench. @param {import('node:child_process').ChildProcess} child */
function endWithBench(child) {
  const end = () => child.kill('SIGKILL');
  open.add(end);
  child.once('exit', () => open.delete(end));
}

/** A rate limit that no run reaches. */
const unlimited = 1_000_000_000;

/**
 * The environment of a worker with that rate limit; lifted by default.
 * @param {Record<string, string>} env
 */
export function limited(env, requests = unlimited, windowMs = 1_000) {
  return {
    ...env,
    SIGNALHOUSE_RATE_LIMIT_REQUESTS: String(requests),
    SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: String(windowMs),
  };
}

/** The shape of a day on which nothing happens. */
export const nothingNew = {
  activeTopics: 0,
  newTopics: 0,
  edits: 0,
  deletions: 0,
  reactions: 0,
  merges: 0,
  archives: 0,
  priorityChanges: 0,
};

/**
 * Starts a sandbox on a free port, without a rate limit unless the settings (config/sandbox.yaml) have one.
 * @param {Record<string, number>} sizes @param {object} [settings]
 */
export async function startSandbox(sizes, settings = {}) {
  const folder = makeDataDir();
  const file = join(folder.dir, 'sandbox.json');
  writeFileSync(file, JSON.stringify({ rate: { requests: unlimited, windowMs: 1_000 }, sizes, ...settings }));
  // A million messages take 3.6 GB: at its usual limit, it would collect garbage instead of answering.
  const heap = '--max-old-space-size=8192';
  const args = [heap, main, 'sandbox', '--json', '--port', '0', '--settings', file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.once('exit', folder.remove);
  endWithBench(child);
  let text = '';
  for await (const line of createInterface({ input: child.stdout })) {
    text += line;
    if (text.trimEnd().endsWith('}')) break;
  }
  const { baseUrl, origin, apiKey } = JSON.parse(text);
  /** @param {string} path @param {unknown} [body] */
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body ?? {}),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return /** @type {any} */ (await answer.json());
  };
  /** @param {string} path */
  const get = async (path) => {
    const answer = await fetch(`${origin}${path}`);
    return /** @type {any} */ (await answer.json());
  };
  return {
    env: { SIGNALHOUSE_BASE_URL: baseUrl, SIGNALHOUSE_API_KEY: apiKey },
    post,
    get,
    stats: () => get('/__sandbox/stats'),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.kill();
      }),
  };
}

/** A new data directory, removed afterwards. */
export function makeDataDir() {
  const dir = mkdtempSync(join(tmpdir(), 'signalhouse-bench-'));
  const remove = () => {
    rmSync(dir, { recursive: true, force: true });
    open.delete(remove);
  };
  open.add(remove);
  return { dir, remove };
}

/**
 * Runs a command of the worker with --json; returns its output, its time, and the resources it used.
 * @param {string[]} args @param {Record<string, string>} env @param {string} dataDir
 * @param {string | undefined} [cgroup] the folder of a cgroup to run it in
 * @param {readonly number[]} [codes] with which it may end
 */
export async function worker(args, env, dataDir, cgroup, codes = [0]) {
  const usageFile = join(dataDir, 'usage.json');
  const started = performance.now();
  const command = [process.execPath, '--import', usage, main, ...args, '--json'];
  // A shell moves itself into the group and becomes the program.
  const enter = cgroup ? ['sh', '-c', 'echo $$ > "$0"/cgroup.procs && exec "$@"', cgroup] : [];
  const [program = '', ...rest] = [...enter, ...command];
  const child = spawn(program, rest, {
    env: {
      ...process.env,
      SIGNALHOUSE_DATA_DIR: join(dataDir, 'data'),
      SIGNALHOUSE_LOG_LEVEL: 'warn',
      ...env,
      BENCH_USAGE_FILE: usageFile,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithBench(child);
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  const code = await new Promise((resolve) =>
    child.exitCode === null ? child.once('exit', resolve) : resolve(child.exitCode),
  );
  const seconds = (performance.now() - started) / 1000;
  if (!codes.includes(code))
    throw new Error(`signalhouse ${args.join(' ')} ended with ${code}: ${text.slice(0, 2000)}`);
  return { report: JSON.parse(text), seconds, code, ...JSON.parse(readFileSync(usageFile, 'utf8')) };
}
