// Writes the answer of each SQL block of docs/cookbook.md below it.
//   node scripts/docs-cookbook.mjs [--check] [signals.duckdb]
// Without a file it makes one: a sandbox with the sizes below, and one full pull from it (dist must be built). With
// --check it writes nothing, and exits 1 when answers differ.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { table } from './generate.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = join(root, 'docs/cookbook.md');
const program = join(root, 'dist/main.js');

/** The sandbox that the cookbook names; a test checks that the two agree. */
export const sandboxFlags = ['--topics', '60', '--people', '140', '--companies', '20', '--messages', '3000'];

/**
 * The cookbook with new answers: a table (or "No rows.") that follows a SQL block is replaced.
 * @param {string} markdown
 * @param {(sql: string) => Promise<{ columns: string[], rows: string[][] }>} ask
 */
async function withAnswers(markdown, ask) {
  const blocks = /^```sql\n([\s\S]*?)\n```\n(?:\n(?:\|[^\n]*\n)+|\n\*No rows\.\*\n)?/gm;
  let out = '';
  let end = 0;
  for (const block of markdown.matchAll(blocks)) {
    const [whole, sql = ''] = block;
    const { columns, rows } = await ask(sql);
    out += markdown.slice(end, block.index);
    out += `\`\`\`sql\n${sql}\n\`\`\`\n\n${rows.length > 0 ? table(columns, rows) : '*No rows.*'}\n`;
    end = block.index + whole.length;
  }
  return out + markdown.slice(end);
}

/**
 * Opens a published file to query it.
 * @param {string} file
 */
export async function openPublished(file) {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return {
    /** @param {string} sql */
    async ask(sql) {
      const answer = await connection.runAndReadAll(sql);
      const rows = answer.getRowsJson().map((row) => row.map(shown));
      return { columns: answer.columnNames(), rows };
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** @param {unknown} value */
function shown(value) {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Fills a warehouse from a sandbox of the named sizes and gives its published file to `work`, and the environment of more
 * commands.
 * @param {(file: string, client: Record<string, string | undefined>) => Promise<void>} work
 */
export async function withSandboxData(work) {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalhouse-cookbook-'));
  const own = Object.entries(env).filter(([name]) => !name.startsWith('SIGNALHOUSE_'));
  const quick = join(dataDir, 'sandbox.json');
  writeFileSync(quick, JSON.stringify({ rate: { requests: 100_000, windowMs: 1_000 } }));
  const sandbox = spawn(
    execPath,
    [program, 'sandbox', '--port', '0', '--json', '--settings', quick, ...sandboxFlags],
    {
      env: Object.fromEntries(own),
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const { baseUrl, apiKey } = await firstDocument(sandbox);
    const client = {
      ...Object.fromEntries(own),
      SIGNALHOUSE_BASE_URL: baseUrl,
      SIGNALHOUSE_API_KEY: apiKey,
      SIGNALHOUSE_DATA_DIR: dataDir,
      SIGNALHOUSE_RATE_LIMIT_REQUESTS: '100000',
      SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: '1000',
      SIGNALHOUSE_LOG_LEVEL: 'warn',
    };
    const sync = spawn(execPath, [program, 'sync', '--json'], {
      env: client,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const code = await new Promise((resolve) => sync.on('close', resolve));
    if (code !== 0) throw new Error(`the sync ended with ${code}`);
    await work(join(dataDir, 'signals.duckdb'), client);
  } finally {
    const ended = new Promise((resolve) => sandbox.on('close', resolve));
    if (sandbox.exitCode === null && sandbox.kill()) await ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * The JSON document with which a command says that it is ready.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ baseUrl: string, apiKey: string }>}
 */
function firstDocument(child) {
  return new Promise((resolve, reject) => {
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      printed += text;
      try {
        resolve(JSON.parse(printed));
      } catch {
        // Not all of it has come yet.
      }
    });
    child.on('error', reject);
    child.on('close', (code) => reject(new Error(`the sandbox ended with ${code}`)));
  });
}

/** @param {string} file */
async function answerFrom(file) {
  const published = await openPublished(file);
  try {
    const before = readFileSync(target, 'utf8');
    const after = await withAnswers(before, published.ask);
    if (!argv.includes('--check')) writeFileSync(target, after);
    else if (before !== after) {
      console.error('docs/cookbook.md is stale: run node scripts/docs-cookbook.mjs');
      console.error(firstDifference(before, after));
      process.exitCode = 1;
    }
  } finally {
    published.close();
  }
}

/**
 * @param {string} before
 * @param {string} after
 */
function firstDifference(before, after) {
  const [had, has] = [before.split('\n'), after.split('\n')];
  const line = has.findIndex((text, index) => text !== had[index]);
  return `line ${line + 1}\n  says    ${had[line]}\n  answer  ${has[line]}`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const file = argv.slice(2).find((argument) => !argument.startsWith('--'));
  await (file ? answerFrom(file) : withSandboxData(answerFrom));
}
