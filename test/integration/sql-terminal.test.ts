import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { townOfFile } from '../support/pulling.js';
import { program } from '../support/signalhouse.js';
import { closeTerminals, Terminal } from '../support/terminal.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/sql.js'));

const { pulling } = await townOfFile();
afterEach(closeTerminals);

const ready = /signals=> $/;
/** Never ends by itself. */
const endless = 'SELECT count(*) FROM range(100000000000) a, range(100000000) b WHERE a.range + b.range = 7';

async function prompt(env: Record<string, string> = {}, isElsewhere = false): Promise<Terminal> {
  const home = testFolder();
  const terminal = new Terminal(['sql'], {
    env: { ...pulling.env, HOME: home, PAGER: '', ...env },
    isElsewhere,
  });
  await terminal.until(ready);
  return terminal;
}

/** The folders that readers have in the data directory. */
const spills = () => readdirSync(pulling.dataDir).filter((name) => name.startsWith('.spill-'));

/** Publishes a file with a view of this name. */
async function publish(view: string): Promise<void> {
  mkdirSync(join(pulling.dataDir, 'views'), { recursive: true });
  writeFileSync(join(pulling.dataDir, 'views', `${view}.sql`), `SELECT '${view} is there' AS answer`);
  const { code, stderr } = await pulling.run(['sync', '--only', 'channels']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

describe('the prompt', () => {
  test('reads what was published meanwhile', async () => {
    const terminal = await prompt();
    expect(await terminal.enter('FROM first_view;', ready)).toContain('first_view does not exist');
    await publish('first_view');
    const found = await terminal.enter('FROM first_view;', ready);
    expect(found).toContain('Reading the file that was published');
    expect(found).toContain('first_view is there');

    expect(await terminal.enter('CREATE TEMP TABLE mine AS SELECT 42 AS answer;', ready)).toContain(
      'What may run',
    );
    await publish('second_view');
    expect(await terminal.enter('FROM second_view;', ready)).toContain('second_view is there');
    await terminal.enter(String.raw`\q`, /^.*$/);
    expect(await terminal.ended).toBe(0);
  });

  test('Ctrl-C stops a statement, and what was typed meanwhile is run', async () => {
    const terminal = await prompt();
    await terminal.enter(`${endless};`, /= 7;\s+$/);
    terminal.type('\u0003');
    expect(await terminal.until(ready)).toContain('Stopped.');
    // What is typed while a statement runs is read afterwards.
    await terminal.enter(
      'SELECT count(*) > 1 AS many FROM range(200000000) t(n) WHERE sqrt(n) > 7;',
      /7;\s+$/,
    );
    terminal.type('SELECT 40 + 2 AS answer;\r');
    expect(await terminal.until(/42\n.*signals=> $/s)).toContain('true');
    // Statements and lines that were typed or pasted at once.
    expect(
      await terminal.enter(
        "SELECT 1 AS a; SELECT 'x\r;' AS b\r; SELEC; SELECT 3 AS c;",
        /\n3\n.*signals=> $/s,
      ),
    ).toMatch(/\na\n-\n1\n.*\nb\n-+\nx\\n;\n.*syntax error.*\nc\n/s);
    await terminal.enter('SELECT 5 AS five', /signals-> $/);
    expect(await terminal.enter(String.raw`\gx`, ready)).toContain('\nfive | 5\n');
    expect(await terminal.enter(String.raw`SELECT 6 AS six \g`, ready)).toContain('\nsix\n---\n  6\n');
    expect(await terminal.enter(String.raw`\g`, ready)).not.toContain('row');
    terminal.type('FROM backlog_as_o');
    await terminal.until(/as_o$/);
    terminal.type('\t');
    await terminal.until(/f\($/);
    terminal.type('\u0003');
    await terminal.until(/\^C\n.*signals=> $/s);
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);
  });

  test('Ctrl-R finds what was entered before: Enter runs it, and Ctrl-G gives the line back', async () => {
    const terminal = await prompt();
    for (const n of [1, 2]) await terminal.enter(`SELECT ${n} + 10 AS answer;`, ready);
    // The newest match, and with Ctrl-R again the one before it.
    terminal.type('\u0012answer');
    await terminal.until(/\(reverse-i-search\)`answer': SELECT 2 \+ 10 AS answer;/);
    terminal.type('\u0012');
    await terminal.until(/`answer': SELECT 1 \+ 10 AS answer;/);
    // The search ends with a prompt, before the answer comes.
    await terminal.enter('', /\n +11\n.*signals=> $/s);
    terminal.type('SELECT 5');
    await terminal.until(/SELECT 5$/);
    terminal.type('\u0012nowhere');
    await terminal.until(/\(failed reverse-i-search\)`nowhere'/);
    terminal.type('\u0007');
    await terminal.until(/signals=> SELECT 5$/);
    expect(await terminal.enter(' AS five;', ready)).toContain('five');
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);
  });

  test('shows long output in the pager, which has the keys until it is left', async () => {
    const terminal = await prompt({ PAGER: 'head -n 4; read key </dev/tty; echo "key $key"' });
    await terminal.enter('FROM range(50);', /\n +1\n/);
    terminal.type('x\r');
    expect(await terminal.until(ready)).toContain('key x');
    expect(await terminal.enter('SELECT 1 AS a;', ready)).toContain('(1 row)');
    terminal.type('exit\r');
    expect(await terminal.ended).toBe(0);
  });

  test('leaves no file behind when the window of its terminal is closed, or it is killed', async () => {
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      const terminal = await prompt();
      expect(spills()).toHaveLength(1);
      terminal.signal(signal);
      await terminal.ended;
      await expect.poll(spills).toEqual([]);
    }
  });
});

// Without the signal, or before it comes, the end of the input tells.
test.each([false, true])(
  'ends with its terminal, also while a statement runs; without a signal: %s',
  async (isElsewhere) => {
    const terminal = await prompt({}, isElsewhere);
    await terminal.enter(`${endless};`, /= 7;\s+$/);
    // A statement that has begun is stopped in another way than one that is about to.
    await delay(300);
    const isRunning = terminal.hangUp();
    await expect.poll(isRunning).toBe(false);
    expect(spills()).toEqual([]);
  },
);

describe('one query on a terminal', () => {
  const shown = async (args: string[], env: Record<string, string>, size = {}) => {
    const terminal = new Terminal(['sql', ...args], { env: { ...pulling.env, ...env }, ...size });
    expect(await terminal.ended).toBe(0);
    return terminal.text;
  };

  test('is printed whole when the pager cannot be started', async () => {
    const text = await shown(['FROM range(200000) t(n)', '--format', 'csv'], { PAGER: 'no-such-pager -x' });
    expect(text).toMatch(/^.*not found\nn\n0\n1\n/);
    expect(text.trimEnd().split('\n').slice(-2)).toEqual(['199998', '199999']);
  });

  test('stops when the pager is left', async () => {
    // It would take an hour.
    const text = await shown(['FROM range(100000000000) t(n)', '--format', 'csv'], { PAGER: 'head -n 2' });
    expect(text).toBe('n\n0\n');
  });
});

test('without a terminal and without a query, nothing opens, and the exit code is 2', async () => {
  const ran = (stdin: 'ignore' | 'pipe') =>
    new Promise<{ code: number | null; err: string }>((resolve) => {
      const child = spawn(process.execPath, [program, 'sql'], {
        env: { ...process.env, ...pulling.env },
        stdio: [stdin, 'ignore', 'pipe'],
      });
      let err = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        err += text;
      });
      child.stdin?.end();
      child.on('close', (code) => resolve({ code, err }));
    });
  for (const stdin of ['ignore', 'pipe'] as const)
    expect(await ran(stdin)).toEqual({ code: 2, err: expect.stringContaining('There is no query to run.') });
});
