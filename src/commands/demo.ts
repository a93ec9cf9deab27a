import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makeFolder } from '../base/atomic-file.js';
import { cut } from '../base/display-width.js';
import { ExitCode, SignalhouseError, UsageError } from '../base/errors.js';
import { etaMs } from '../base/eta.js';
import { commandLine, osPerson } from '../base/os-user.js';
import { bytes, count, counted, duration } from '../base/units.js';
import { print } from '../cli/output.js';
import { listen } from '../cli/signals.js';
import { printAnswer } from '../cli/text/answer.js';
import { loadConfig } from '../config/load.js';
import { fromSheet } from '../push/import/source.js';
import type { PushReport } from '../push/run.js';
import { withSnapshot } from '../read/snapshot.js';
import { type Sandbox, startSandbox } from '../sandbox/start.js';
import { readSheet } from '../sheet/read.js';
import { writeGrid } from '../sheet/write.js';
import type { SyncReport } from '../sync/report.js';
import { indent } from '../view/text.js';
import { importFrom } from './changes-import.js';
import { makeSheet } from './changes-sheet.js';
import { type Context, command } from './command.js';
import { pushChanges } from './push.js';
import { writeReport } from './report.js';
import { observed, type Setup, setUp, setUpAccess } from './setup.js';
import { pullAll } from './sync.js';

export const demo = command({
  examples: [
    ['signalhouse demo', 'Its files stay in ./data/demo'],
    ['signalhouse demo --data-dir /tmp/demo', 'Use another directory'],
  ],
  input: {},
  async run(_input, { json, sources }) {
    const { flags = [], cwd = process.cwd() } = sources;
    const given = flags.length > 0 ? flags : [{ path: 'dataDir', flag: '--data-dir', value: 'data/demo' }];
    const { dataDir } = loadConfig({ env: {}, flags: given, cwd });
    emptyDemoFolder(dataDir);
    listen(() => {
      process.stderr.write('signalhouse: The demo was stopped.\n');
      process.exit(ExitCode.failed);
    });
    const started = performance.now();
    const sandbox = await startSandbox({ sizes, rate: squeezed, latencyMs: [5, 20] });
    const env = {
      SIGNALHOUSE_BASE_URL: sandbox.baseUrl,
      SIGNALHOUSE_API_KEY: sandbox.apiKey,
      SIGNALHOUSE_DATA_DIR: dataDir,
      SIGNALHOUSE_RATE_LIMIT_REQUESTS: String(squeezed.requests),
      SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: String(squeezed.windowMs),
      SIGNALHOUSE_LOG_LEVEL: 'warn',
    };
    try {
      // None of the user's settings. For so little data a second thread of DuckDB costs more than it does.
      const context = { json, sources: { env, cwd, tuning: { threads: 1 } } };
      const played = await play(sandbox, context, dataDir);
      const ms = performance.now() - started;
      return { ...played, dataDir, seconds: Math.round(ms / 100) / 10 };
    } finally {
      await sandbox.stop();
    }
  },
  show: ({ dataDir, seconds }) => farewell(relative(process.cwd(), dataDir) || '.', seconds * 1_000),
});

function farewell(dataDir: string, ms: number): string {
  return `
The demo took ${duration(ms)}. Its files stay; to look at them:
  ${dataDir}/report.html      (open it in a browser)
  npx signalhouse sql --data-dir ${dataDir} "SELECT * FROM topics LIMIT 5"
  npx signalhouse status --data-dir ${dataDir}
  duckdb -readonly ${dataDir}/signals.duckdb      (if you have DuckDB's program)
For a real organization, see "Real use" in README.md.`;
}

const marker = '.signalhouse-demo';

/**
 * Makes an empty folder for the demo. Files of an earlier demo are removed. A folder without the demo's marker file is
 * refused: it might hold a real warehouse.
 */
export function emptyDemoFolder(path: string): void {
  const names = existsSync(path) ? readdirSync(path) : [];
  if (names.length > 0 && !names.includes(marker)) {
    const problem = `${path} contains files that the demo did not create`;
    throw new UsageError('The demo needs a directory of its own.', [{ setting: '--data-dir', problem }]);
  }
  for (const name of names) rmSync(join(path, name), { recursive: true, force: true });
  makeFolder(path);
  writeFileSync(
    join(path, marker),
    'Created by `signalhouse demo`. The next demo removes everything in this directory.\n',
  );
}

/** Small enough for a quarter of a minute, large enough for the queries to return rows. */
const sizes = { topics: 45, people: 60, companies: 10, messages: 1_200, channels: 10, stories: 20 };

/** The real limit of 120 requests per window, but the window is a second instead of a minute. */
const squeezed = { requests: 120, windowMs: 1_000 } as const;

/** How many rows of the sheet are edited. */
const edited = 3;

/** Runs the demo, and prints each part of its text as it happens; nothing with --json. */
async function play(sandbox: Sandbox, context: Context, dataDir: string) {
  const say = context.json ? () => undefined : print;
  const setup = await setUp(context);
  say(`Starting a Product-Signals service with generated data on this machine. It
allows ${squeezed.requests} requests per window, as the real one does, but its window is a second
instead of a minute, so that the demo is short.
It listens on ${sandbox.baseUrl}.`);

  say('\n1. The first pull: everything is new.\n\n');
  const first = await pull();

  say('\n2. Two queries of the published file.');
  const answers: Awaited<ReturnType<typeof answered>>[] = [];
  for (const question of questions) answers.push(await answered(question));

  say('\n3. A product manager re-prioritizes topics in a spreadsheet.\n\n');
  const pushed = await reprioritize();

  say('\n4. The second pull: only what changed.\n\n');
  const second = await pull();

  say('\n5. A day passes: messages, edits, merges, archives. The third pull:\n\n');
  sandbox.advance(1);
  const third = await pull();
  answers.push(await answered(afterADay));
  say(comparison([first, second, third]));

  say('\n6. A report to read, with charts, and one more query.\n\n');
  const written = await charted();
  answers.push(await answered(atTheEnd));
  return { pulls: [first, second, third], push: pushed, answers, report: written };

  async function pull(): Promise<SyncReport> {
    say('  $ signalhouse sync');
    const pulled = succeeded(
      'sync',
      await observed(setUpAccess(context), (access, run) => pullAll(access, run)),
    );
    const { requests, rows, minutes } = pulled;
    const sum = (what: 'new' | 'changed') =>
      count(Object.values(rows).reduce((total, one) => total + one[what], 0));
    const spent = `${counted(requests.total, 'request')} in ${duration(minutes * 60_000)}`;
    const limited = requests.rateLimited === 0 ? 'never' : `${count(requests.rateLimited)} times`;
    say(`  ${spent}: ${sum('new')} rows new, ${sum('changed')} changed.
  It was ${limited} rate-limited (429).
  ${atRealPace(requests.total)}`);
    return pulled;
  }

  async function answered(question: Question): Promise<Question & { readonly rows: unknown }> {
    const { title, sql: query } = question;
    if (context.json) return { ...question, rows: JSON.parse(await answerTo(setup, query, 'json')) };
    const table = await answerTo(setup, query, 'table');
    say(`\n  ${title}\n\n${indent(indent(query))}\n\n${indent(table)}`);
    return { ...question, rows: null };
  }

  async function reprioritize(): Promise<PushReport> {
    const path = join(dataDir, 'topics.xlsx');
    say('  $ signalhouse changes sheet --out topics.xlsx');
    await makeSheet(setup, { out: path, entityType: 'topic', overwrite: true });
    const edits = await raisePriorities(path, edited, 'very_high');
    const lines = edits.map(({ title, from, to }) => `  - "${cut(title, 42)}" goes from ${from} to ${to}`);
    say(`  In it:\n${lines.join('\n')}\n`);
    say('  $ signalhouse changes import topics.xlsx');
    const who = { requestedBy: osPerson() ?? commandLine };
    const { queued } = await importFrom(setup, await fromSheet({ path }), { ...who, dryRun: false });
    say(`  ${counted(queued.length, 'change')} queued; the other rows are unchanged.\n`);
    say('  $ signalhouse push');
    const pushed = succeeded(
      'push',
      await observed(setUpAccess(context), (access, run) => pushChanges(access, run)),
    );
    const cost = counted(pushed.requests.total, 'request');
    say(`  ${count(pushed.applied)} applied, each exactly once, in ${cost}.`);
    return pushed;
  }

  async function charted(): Promise<{ readonly path: string; readonly bytes: number }> {
    say('  $ signalhouse report --out report.html');
    const out = join(dataDir, 'report.html');
    const { path, bytes: size } = await writeReport(setup, { out, digest: false, force: false });
    say(`  One file of ${bytes(size)}: open it in a browser.`);
    return { path, bytes: size };
  }
}

/**
 * Edits a sheet of `changes sheet` for the demo: sets the priority of the first `count` topics that have another one to
 * `to`, and saves the file. Returns the edits.
 */
async function raisePriorities(path: string, count: number, to: string) {
  const grid = await readSheet({ path });
  const column = (name: string) => grid.columns.indexOf(name);
  const edits: { readonly title: string; readonly from: string; readonly to: string }[] = [];
  const rows = grid.rows.map((row) => {
    const from = String(row.cells[column('priority')] ?? '');
    if (edits.length === count || from === to) return row;
    edits.push({ title: String(row.cells[column('title')] ?? ''), from, to });
    return { ...row, cells: row.cells.map((cell, at) => (at === column('priority') ? to : cell)) };
  });
  await writeGrid(path, { ...grid, rows }, { overwrite: true });
  return edits;
}

function atRealPace(requests: number): string {
  const budget = { ...squeezed, windowMs: 60_000, available: squeezed.requests, limit: squeezed.requests };
  const ms = etaMs(requests, { ...budget, nextFreeMs: 0 }, { answerMs: 0, concurrency: 1 });
  return ms === 0
    ? 'At the real pace, that fits into a minute.'
    : `At the real pace of 120 per minute: about ${duration(ms)}.`;
}

function comparison(pulls: readonly SyncReport[]): string {
  const [first, ...later] = pulls.map(({ requests }) => requests.total);
  return `\n  The first pull took ${counted(first ?? 0, 'request')}, the later ones ${later.map(count).join(' and ')}.`;
}

interface Question {
  readonly title: string;
  readonly sql: string;
}

/** Run after the first pull. */
const questions: readonly Question[] = [
  {
    title: 'Which open topics reach the most companies?',
    sql: `SELECT title, priority, companies, people, messages_last_7_days AS "7 days"
FROM backlog
ORDER BY companies DESC, people DESC, title
LIMIT 5`,
  },
  {
    title: 'Which VIPs wrote last and still wait for an answer?',
    sql: `SELECT coalesce(title, topic_title) AS title, topic_priority AS priority,
  round(waiting_hours, 1) AS hours, source_name AS source
FROM awaiting_reply
WHERE is_vip
ORDER BY last_message_at DESC, title
LIMIT 5`,
  },
];

/** Run after a day has passed and the third pull has fetched it. */
const afterADay: Question = {
  title: 'What did that day change?',
  sql: `SELECT entity_type AS what, name, change, details
FROM recent_changes
ORDER BY changed_at DESC, name
LIMIT 8`,
};

/** The last one: a small answer to a large question. */
const atTheEnd: Question = {
  title: 'How large is the backlog now?',
  sql: `SELECT priority, count(*) AS topics,
  sum(conversations)::BIGINT AS conversations,
  sum(messages_last_7_days)::BIGINT AS "messages in 7 days"
FROM backlog
GROUP BY priority
ORDER BY any_value(priority_rank)`,
};

/** A run of the demo that did not succeed. What went wrong is in the log. */
class DemoError extends SignalhouseError {}

function succeeded<R extends { readonly exitCode: ExitCode }>(name: string, report: R): R {
  if (report.exitCode === ExitCode.done) return report;
  throw new DemoError(`signalhouse ${name} ended with ${report.exitCode}: see above`);
}

/** What `signalhouse sql` prints. */
function answerTo(setup: Setup, query: string, format: 'json' | 'table'): Promise<string> {
  const columns = (process.stdout.columns || 80) - 2;
  return withSnapshot(setup, async (snapshot) => {
    let text = '';
    const write = (part: string) => {
      text += part;
    };
    await printAnswer(await snapshot.onlyAnswer(query), { format, limit: Infinity, columns, write });
    return text;
  });
}
