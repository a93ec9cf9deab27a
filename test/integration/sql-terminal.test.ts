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
void (() => import('../../src/commands/sql.js'));

const { pulling } = await townOfFile();
afterEach(closeTerminals);

const ready = /signals=> $/;
/** Never ends by itself. */
const endless = 'SELECT count(*) FROM range(100000000000) a, range(100000000) b WHERE a.range + b.range = 7';

async function prompt(env: Record<string, string> = {}, isElsewhere = false): Promise<Terminal> {
  const home = testFolder();
  const terminal = new Terminal(['sql'], {
    env: { ...pulling.env, HOME: home, ...env },
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
    // What is typed while a statement runs is run afterwards.
    await terminal.enter(
      'SELECT count(*) > 1 AS many FROM range(200000000) t(n) WHERE sqrt(n) > 7;',
      /7;\s+$/,
    );
    terminal.type('SELECT 40 + 2 AS answer;\r');
    expect(await terminal.until(/42\n.*signals=> $/s)).toContain('true');
    // Statements and lines that were typed or pasted at once.
    expect(
      await terminal.enter(
        "SELECT 1 AS a; SELECT 'x\r;' AS b\r; SELEC; SELECT\r3 AS c;",
        /\n3\n.*signals=> $/s,
      ),
    ).toMatch(/\n *a\n-\n1\n.*\nb\n-+\nx\\n;\n.*syntax error.*\nc\n/s);
    // At the prompt, it drops what was entered, and does not leave.
    await terminal.enter('SELECT 5 AS five', /\n[.|]+ $/);
    terminal.type('\u0003\u0003');
    await terminal.until(/\^C\n.*\^C\n.*signals=> $/s);
    expect(await terminal.enter('SELECT 6 AS six;', ready)).toMatch(/\n *six\n---\n {2}6\n/);
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);
  });

  test('Ctrl-R finds what an earlier prompt was given, and Enter runs it', async () => {
    const home = testFolder();
    const first = await prompt({ HOME: home });
    for (const n of [1, 2]) await first.enter(`SELECT ${n} + 10 AS answer;`, ready);
    first.type('\u0004');
    expect(await first.ended).toBe(0);
    const terminal = await prompt({ HOME: home });
    terminal.type('\u0012answer');
    await terminal.until(/SELECT 2 \+ 10 AS answer;.*answer/s);
    terminal.type('\u0012');
    await terminal.until(/SELECT 1 \+ 10 AS answer;/);
    await terminal.enter('', /\n +11\n.*signals=> $/s);
    await terminal.enter(String.raw`\q`, /^.*$/);
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
