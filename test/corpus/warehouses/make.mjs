// Makes a warehouse with the last program of each earlier schema version that was on main: that commit is installed as its lock
// file says, and pulls twice from its own sandbox, a day apart, so that there are earlier states of rows and tombstones.
// Where there is a queue, one change is queued.
//
//   node test/corpus/warehouses/make.mjs              every version that has no file yet
//   node test/corpus/warehouses/make.mjs 9 10         these, again
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const here = fileURLToPath(new URL('./', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));
/** @param {string[]} args */
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The commits that added migrations, oldest first, each with the highest number that it added. */
const added = git(
  'log',
  '--reverse',
  '--format=>%H',
  '--diff-filter=A',
  '--name-only',
  '--',
  'sql/migrations',
)
  .split('>')
  .filter(Boolean)
  .map((entry) => {
    const [commit = '', ...names] = entry.split('\n').filter(Boolean);
    return { commit, version: Math.max(...names.map((name) => Number(/\/(\d{4})_/.exec(name)?.[1]))) };
  });

const wanted = process.argv.slice(2).map(Number);
for (const [index, { version }] of added.entries()) {
  const file = join(here, `${String(version).padStart(4, '0')}.duckdb.br`);
  if (wanted.length > 0 ? !wanted.includes(version) : existsSync(file)) continue;
  const next = added[index + 1];
  // The program of today is not the last one of its version yet.
  if (next === undefined) continue;
  const commit = git('rev-parse', `${next.commit}^`);
  const folder = mkdtempSync(join(tmpdir(), 'signalhouse-old-'));
  try {
    const database = await make(folder, commit);
    writeFileSync(file, compressed(database));
    process.stdout.write(`${file}: ${commit.slice(0, 7)}, ${database.length} bytes\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @param {string} commit
 */
async function make(folder, commit) {
  execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C "${folder}"`], { cwd: root });
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' });
  if (!existsSync(join(folder, 'dist/main.js'))) execFileSync('npm', ['run', 'build'], { cwd: folder });
  const size = ['--topics', '5', '--people', '8', '--companies', '3', '--messages', '40', '--channels', '2'];
  const fast = ['--rate', '100000', '--window', '1000'];
  const sandbox = spawn('node', ['dist/main.js', 'sandbox', '--port', '0', '--json', ...size, ...fast], {
    cwd: folder,
  });
  try {
    const { baseUrl, origin, apiKey } = await new Promise((resolve, reject) => {
      let printed = '';
      sandbox.stdout.setEncoding('utf8').on('data', (text) => {
        printed += text;
        if (printed.includes('}')) resolve(JSON.parse(printed));
      });
      sandbox.on('close', () => reject(new Error(`the sandbox of ${commit} ended`)));
    });
    const env = {
      ...process.env,
      SIGNALHOUSE_BASE_URL: baseUrl,
      SIGNALHOUSE_API_KEY: apiKey,
      SIGNALHOUSE_DATA_DIR: join(folder, 'data'),
      SIGNALHOUSE_RATE_LIMIT_REQUESTS: '100000',
      SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: '1000',
    };
    /** @param {string[]} args */
    const run = (...args) =>
      spawnSync('node', ['dist/main.js', ...args], { cwd: folder, env, encoding: 'utf8' });
    /** @param {string[]} args */
    const must = (...args) => {
      const { status, stdout, stderr } = run(...args);
      if (status !== 0) throw new Error(`${commit}: ${args.join(' ')} exited ${status}: ${stderr}`);
      return stdout;
    };
    must('sync');
    await fetch(`${origin}/__sandbox/advance`, { method: 'POST' });
    must('sync');
    const [topic] = JSON.parse(
      must('sql', '--json', 'SELECT id FROM topics WHERE deleted_at IS NULL LIMIT 1'),
    );
    writeFileSync(join(folder, 'sheet.csv'), `topic_id,priority\n${topic.id},high\n`);
    // The first programs have no queue, and the next ones do not ask.
    const queued = run('changes', 'import', 'sheet.csv', '--by', 'Kim', '--yes');
    if (queued.status !== 0) run('changes', 'import', 'sheet.csv', '--by', 'Kim');
    return readFileSync(join(folder, 'data/worker.duckdb'));
  } finally {
    sandbox.kill();
  }
}

/**
 * A second each; the highest quality takes a minute and saves a tenth.
 * @param {Buffer} database
 */
function compressed(database) {
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;
  return brotliCompressSync(database, { params: { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_QUALITY]: 9 } });
}
