import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isPassword } from '../../src/base/password.js';
import { settings } from '../../src/config/schema.js';
import { readSheet } from '../../src/sheet/read.js';
import { townOfFile } from '../support/pulling.js';
import { program, signalhouse } from '../support/signalhouse.js';
import { closeTerminals, Terminal } from '../support/terminal.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sql.js'));
void (() => import('../../src/commands/export.js'));

const { pulling } = await townOfFile();
/** What only reads needs no key. */
const env = { SIGNALHOUSE_DATA_DIR: pulling.dataDir };
const cwd = testFolder();
afterEach(closeTerminals);

const sql = (args: string[], more: { stdin?: string; env?: Record<string, string> } = {}) =>
  signalhouse(['sql', ...args], {
    cwd,
    env: { ...env, ...more.env },
    ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
  });

const values = `SELECT * FROM (VALUES
  (1, 'a|b', NULL, TIMESTAMPTZ '2026-11-20 10:15:00Z', [1, 2], 1.50::DECIMAL(4,2)),
  (9007199254740993, 'say "hi", <b>', '', NULL, [], NULL)) t(n, text, empty, moment, list, money)`;

describe('sql', () => {
  it('prints a table, CSV that tells NULL from an empty text, JSON that loses no digit, Markdown without markup', async () => {
    const table = await sql([values]);
    expect({ code: table.code, stderr: table.stderr }).toEqual({ code: 0, stderr: '' });
    expect(table.stdout.split('\n')).toEqual([
      '               n  text           empty  moment                    list   money',
      '----------------  -------------  -----  ------------------------  -----  -----',
      '               1  a|b            NULL   2026-11-20T10:15:00.000Z  [1,2]   1.50',
      '9007199254740993  say "hi", <b>         NULL                      []      NULL',
      '',
    ]);
    expect((await sql([values, '--format', 'csv'])).stdout.split('\n')).toEqual([
      'n,text,empty,moment,list,money',
      '1,a|b,,2026-11-20T10:15:00.000Z,"[1,2]",1.50',
      '9007199254740993,"say ""hi"", <b>","",,[],',
      '',
    ]);
    expect(JSON.parse((await sql([values, '--json'])).stdout)).toEqual([
      { n: 1, text: 'a|b', empty: null, moment: '2026-11-20T10:15:00.000Z', list: [1, 2], money: '1.50' },
      { n: '9007199254740993', text: 'say "hi", <b>', empty: '', moment: null, list: [], money: null },
    ]);
    expect((await sql([values, '--format', 'markdown'])).stdout.split('\n').slice(0, 4)).toEqual([
      '| n | text | empty | moment | list | money |',
      '|---:|---|---|---|---|---:|',
      '| 1 | a\\|b |  | 2026-11-20T10:15:00.000Z | [1,2] | 1.50 |',
      '| 9007199254740993 | say "hi", &lt;b&gt; |  |  | [] |  |',
    ]);
  });

  it('takes the query from a file and from stdin', async () => {
    writeFileSync(join(cwd, 'query.sql'), '-- a comment first\nSELECT 42 AS answer;\n');
    for (const ran of [
      await sql(['-f', 'query.sql', '--json']),
      await sql(['-', '--json'], { stdin: 'SELECT 42 AS answer' }),
      await sql(['--json'], { stdin: 'SELECT 42 AS answer' }),
    ]) {
      expect(JSON.parse(ran.stdout)).toEqual([{ answer: 42 }]);
    }
    for (const [args, says] of [
      [['-f', 'nowhere.sql'], '--file'],
      [[''], 'is empty'],
    ] as const)
      expect(await sql([...args], { stdin: '' })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(says),
      });
  });

  it('answers several statements as several tables, and as data only one', async () => {
    expect((await sql(['SELECT 1 AS a; SELECT 2 AS b'])).stdout).toBe('a\n-\n1\n\nb\n-\n2\n');
    const { code, stdout, stderr } = await sql(['SELECT 1 AS a; SELECT 2 AS b', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual([{ a: 1 }]);
    expect(stderr).toContain('one statement');
  });

  it('says what is wrong with a query, and exits 2; before the first sync there is nothing to ask', async () => {
    const { code, stdout } = await sql(['SELECT nothing FROM topics', '--json']);
    expect([code, JSON.parse(stdout).error]).toMatchObject([
      2,
      { name: 'UsageError', message: expect.stringContaining('"nothing"') },
    ]);
    const early = await signalhouse(['sql', 'SELECT 1'], { cwd: testFolder() });
    expect(early).toMatchObject({ code: 3, stderr: expect.stringContaining('signalhouse sync') });
  });

  it('describes tables and views, in 80 columns or as JSON', async () => {
    const { stdout } = await sql([String.raw`\d topics`]);
    expect(stdout).toMatch(/^topics \(table\): .*\npriority +VARCHAR +very_low/s);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    const { label, columns } = JSON.parse((await sql([String.raw`\d topics`, '--json'])).stdout);
    expect([label, columns[0]]).toMatchObject(['topics', { name: 'id', type: 'VARCHAR' }]);
    expect((await sql([String.raw`\d`])).stdout).toMatch(/^Views\n.*Tables\n.*raw\.documents/s);
    expect(JSON.parse((await sql([String.raw`\d`, '--json'])).stdout)).toContainEqual({
      label: 'topics',
      kind: 'table',
      summary: expect.any(String),
    });
    expect(await sql([String.raw`\d nothing`])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no table, view or macro nothing'),
    });
  });

  it('ends quietly when its reader has read enough', async () => {
    const head = spawn(
      '/bin/sh',
      ['-c', `"$0" "$1" sql "FROM range(2000000) t(n)" --format csv | head -n 2`, process.execPath, program],
      {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let out = '';
    let err = '';
    head.stdout.on('data', (text) => {
      out += text;
    });
    head.stderr.on('data', (text) => {
      err += text;
    });
    const code = await new Promise((resolve) => head.on('close', resolve));
    expect({ code, out, err }).toEqual({ code: 0, out: 'n\n0\n', err: '' });
  });
});

describe('the prompt of sql', () => {
  const ready = /signals=> $/;

  it('runs statements and commands, completes names, remembers, and outlives errors', async () => {
    const home = testFolder();
    const terminal = new Terminal(['sql'], { cwd, env: { ...env, HOME: home } });
    expect(await terminal.until(ready)).toContain('read-only');
    await terminal.enter('SELECT count(*) > 0 AS filled', /[.|]+ $/);
    expect(await terminal.enter('FROM topics; -- all', ready)).toMatch(
      /\n *filled\n------\ntrue\n\(1 row\)\n/,
    );
    // A text is cut to fit; many columns are shown vertically.
    expect(await terminal.enter("SELECT 1 AS n, repeat('many words ', 8) AS text;", ready)).toMatch(
      /\n1 {2}many words .*…\n/,
    );
    expect(await terminal.enter('FROM topics LIMIT 1;', ready)).toMatch(/RECORD 1.*\npriority +\| /s);
    expect(await terminal.enter('SELECT 1 = = 2;', ready)).toContain(
      'syntax error at or near "="\nLINE 1: SELECT 1 = = 2\n                   ^\n',
    );
    expect(await terminal.enter('DROP TABLE topics;', ready)).toContain('nothing is written');
    expect(await terminal.enter(String.raw`\d backlog`, ready)).toMatch(/\npriority +VARCHAR +very_low/);
    expect(await terminal.enter(String.raw`\d nothing`, ready)).toContain('no table, view or macro nothing');
    expect(await terminal.enter('.save x', ready)).not.toContain('saved');

    terminal.type('SELECT lifecycle_state_c');
    await terminal.until(/_c$/);
    terminal.type('\t');
    await terminal.until(/onfidence$/);
    terminal.type(' FROM back');
    await terminal.until(/back$/);
    terminal.type('\t');
    await terminal.until(/log$/);
    // Ctrl-C clears the line.
    terminal.type('\u0003');
    await terminal.until(/\^C\n.*signals=> $/s);
    terminal.type('\u001b[A'.repeat(6));
    await terminal.until(/LIMIT 1;$/);
    expect(await terminal.enter('', ready)).toContain('RECORD 1');
    terminal.type('\u0004');
    expect(await terminal.ended).toBe(0);

    const file = join(home, '.local/state/signalhouse/sql_history');
    expect(readFileSync(file, 'utf8')).toContain('SELECT count(*) > 0 AS filled');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(pulling.dataDir).filter((name) => name.includes('history'))).toEqual([]);
  });
});

describe('export', () => {
  const run = (args: string[]) => signalhouse(['export', ...args], { cwd, env });

  it('writes CSV, JSON and Parquet, told by the extension, and nothing over what is there without --force', async () => {
    const text = (name: string) => readFileSync(join(cwd, name), 'utf8');
    for (const [name, rowsIn] of [
      ['topics.csv', (name) => text(name).trim().split('\n').length - 1],
      ['topics.json', (name) => JSON.parse(text(name)).length],
      [
        'topics.ndjson',
        (name) =>
          text(name)
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line)).length,
      ],
    ] satisfies [string, (name: string) => number][]) {
      const { code, stdout } = await run(['topics', '--out', name, '--json']);
      const [done] = JSON.parse(stdout);
      expect([code, done]).toMatchObject([0, { name: 'topics', path: join(cwd, name) }]);
      expect(rowsIn(name)).toBe(done.rows);
      expect(done.rows).toBeGreaterThan(5);
    }
    const args = ['--query', 'SELECT 1 AS one', '--out', 'one.parquet'];
    expect((await run(args)).stdout).toContain('one.parquet: 1 rows');
    expect(text('one.parquet').slice(0, 4)).toBe('PAR1');
    expect(await run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') });
    expect((await run([...args, '--force'])).code).toBe(0);
  });

  it('and a report never replace a file of the worker, however it is named and whatever is forced', async () => {
    const link = join(testFolder(), 'link');
    symlinkSync(pulling.dataDir, link);
    const written = (args: string[]) => signalhouse([...args, '--force'], { cwd, env });
    const names = ['worker.duckdb', 'signals.duckdb', 'changes.journal', 'schedule.json'];
    const before = readdirSync(pulling.dataDir).map((name) => [
      name,
      statSync(join(pulling.dataDir, name)).ino,
    ]);
    for (const folder of [pulling.dataDir, link]) {
      for (const name of names) {
        const path = join(folder, name);
        for (const args of [
          ['export', 'topics', '--format', 'csv', '--out', path],
          ['report', '--out', path],
        ])
          expect(await written(args)).toMatchObject({
            code: 2,
            stderr: expect.stringMatching(/is\s+a\s+file\s+of\s+the\s+worker[\s\S]*--out/),
          });
      }
    }
    const after = readdirSync(pulling.dataDir).map((name) => [
      name,
      statSync(join(pulling.dataDir, name)).ino,
    ]);
    expect(after).toEqual(before);
    const own = join(pulling.dataDir, 'topics.json');
    expect((await written(['export', 'topics', '--out', own])).code).toBe(0);
    rmSync(own);
  });

  it('writes everything to one workbook, a sheet for each table', async () => {
    const { code, stdout } = await run(['--all', '--out', 'all.xlsx', '--json']);
    expect(code).toBe(0);
    const done = JSON.parse(stdout) as { name: string; rows: number }[];
    expect(done.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['topics', 'backlog', 'raw.documents']),
    );
    const workbook = unzipSync(readFileSync(join(cwd, 'all.xlsx')))['xl/workbook.xml'];
    const sheets = [...strFromU8(workbook ?? new Uint8Array()).matchAll(/<sheet name="(.*?)"/g)];
    // Excel reserves the name "history".
    expect(sheets.map(([, name]) => name)).toEqual(
      done.map(({ name }) => (name === 'history' ? 'history_2' : name)),
    );
    // The reader takes the sheet "topics".
    const { rows } = await readSheet({ path: join(cwd, 'all.xlsx') });
    expect(rows.length).toBe(done.find(({ name }) => name === 'topics')?.rows);
  });

  it.each([
    ['nothing at all', [], ['arguments', '--out']],
    ['two things', ['topics', '--all', '--out', 'x'], ['arguments']],
    ['a form that the name does not tell', ['topics', '--out', 'topics.xls'], ['--format']],
    ['a table that there is not', ['topicz', '--out', 'topicz.csv'], ['topicz']],
    [
      'a query that fails while its rows are written',
      ['--query', "SELECT if(i = 200000, error('late'), i) FROM range(300000) t(i)", '--out', 'x.xlsx'],
      ['failed after'],
    ],
    [
      'flags of CSV for JSON',
      ['topics', '--out', 'x.json', '--bom', '--safe-cells'],
      ['--bom', '--safe-cells'],
    ],
    ['a folder of CSV files', ['--all', '--out', 'x', '--format', 'csv'], ['must be parquet or xlsx']],
  ])('refuses %s', async (_, args, said) => {
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    for (const text of said) expect(stderr).toContain(text);
    for (const name of ['topics.xls', 'topicz.csv', 'x.xlsx', 'x.json', 'x'])
      expect(existsSync(join(cwd, name))).toBe(false);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('user add', () => {
  it('asks for the password twice, shows none, and prints an entry that serve takes', async () => {
    const terminal = new Terminal(['user', 'add', 'Zoë', '--role', 'write'], { env, columns: 300 });
    await terminal.until(/Password: $/);
    await terminal.enter('correct horse battery', /The same again: $/);
    terminal.type('correct horse battery\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).not.toContain('horse');
    // It reads a changed file again.
    expect(terminal.text).toContain('serve reads it when it starts');
    const { users } = parse(terminal.text.slice(terminal.text.indexOf('\nserve:'))).serve;
    expect(settings.parse({ serve: { users } }).serve.users).toMatchObject([{ name: 'Zoë', role: 'write' }]);
    expect(await isPassword('correct horse battery', users[0].passwordHash)).toBe(true);

    const other = new Terminal(['user', 'add', 'kim'], { env });
    await other.until(/Password: $/);
    await other.enter('correct horse battery', /The same again: $/);
    other.type('correct horse batterz\r');
    expect(await other.ended).toBe(2);
    expect(other.text).toContain('not the same');
  });

  it('takes the password from standard input, and says what is wrong with it', async () => {
    const add = (stdin: string) => signalhouse(['user', 'add', 'kim', '--json'], { stdin });
    const { code, stdout } = await add('correct horse battery\n');
    expect(code).toBe(0);
    const { passwordHash, ...entry } = JSON.parse(stdout);
    expect(entry).toEqual({ name: 'kim', role: 'read' });
    expect(await isPassword('correct horse battery', passwordHash)).toBe(true);
    expect(await isPassword('correct horse batterx', passwordHash)).toBe(false);
    for (const [wrong, says] of [
      ['', 'at least 10 characters'],
      ['short\n', 'at least 10 characters'],
      ['correct horse battery\nuser: kim\n', 'one line'],
    ] as const)
      expect(await add(wrong)).toMatchObject({ code: 2, stdout: expect.stringContaining(says) });
  });
});
