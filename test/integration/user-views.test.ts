import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { tryUserViews, type UserView } from '../../src/load/user-views.js';
import { read } from '../support/published.js';
import { townOfFile } from '../support/pulling.js';
import { schemaStatements } from '../support/schema.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/load/user-views-process.js'));

const { pulling } = await townOfFile();
const views = join(pulling.dataDir, 'views');
beforeEach(() => {
  rmSync(views, { recursive: true, force: true });
  mkdirSync(views);
});

const put = (files: Record<string, string | Uint8Array>) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(views, name), text);
};

const good = {
  '10_urgent.sql':
    "-- What is urgent?\nCREATE VIEW urgent AS SELECT topic_id, title FROM backlog WHERE priority IN ('high', 'very_high');\nCOMMENT ON VIEW urgent IS 'What is urgent; now';\nCOMMENT ON COLUMN urgent.title IS 'Its title';",
  '20_urgent_count.sql': 'SELECT count(*) AS topics FROM signals.main.urgent',
  '30_half.sql':
    'create or replace macro half(x) as x / 2;\n\n/* and */ CREATE MACRO first_topics(n) AS TABLE SELECT id FROM topics ORDER BY id LIMIT n',
};

test('files of views/ are in every snapshot; one that fails is left out, and named in the summary and in status', async () => {
  put({ ...good, 'broken.sql': 'CREATE VIEW broken AS SELECT * FROM nowhere' });
  const summary = await pulling.run(['sync', '--only', 'channels']);
  // What was so before does not fail every night.
  expect([summary.code, (await pulling.run(['sync', '--only', 'channels'])).code]).toEqual([3, 0]);
  expect(summary.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'views/broken.sql is left out of signals.duckdb: Catalog Error',
  );
  const ask = (sql: string) => pulling.rows(sql);
  expect(await ask('SELECT topics = (SELECT count(*) FROM urgent) AS same FROM "20_urgent_count"')).toEqual([
    { same: true },
  ]);
  expect(await ask('SELECT half(3) AS half, count(*) AS topics FROM first_topics(2)')).toEqual([
    { half: 1.5, topics: 2 },
  ]);
  const comment = 'What is urgent; now';
  expect(await ask("SELECT comment FROM duckdb_views() WHERE view_name = 'urgent'")).toEqual([{ comment }]);

  const { contents } = JSON.parse((await pulling.run(['status', '--json'])).stdout);
  expect(contents.userViews).toEqual([
    { file: '10_urgent.sql', creates: ['urgent'], error: null },
    { file: '20_urgent_count.sql', creates: ['20_urgent_count'], error: null },
    { file: '30_half.sql', creates: ['first_topics', 'half'], error: null },
    { file: 'broken.sql', creates: [], error: expect.stringContaining('nowhere does not exist') },
  ]);
  expect((await pulling.run(['status'])).stdout).toContain('broken.sql: LEFT OUT: Catalog Error');

  // Exporting everything is a job of the night, which a view that fails or never ends must not stop.
  const out = join(testFolder(), 'all');
  expect((await pulling.run(['export', '--all', '--out', out])).code).toBe(0);
  expect(readdirSync(out)).toContain('backlog');
  expect(readdirSync(out)).not.toContain('urgent');

  // A file that is gone is gone from the next snapshot, and what a lost warehouse is restored from has none.
  rmSync(views, { recursive: true });
  rmSync(join(pulling.dataDir, 'worker.duckdb'));
  pulling.isBroken = true;
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  const left = "SELECT view_name AS name FROM duckdb_views() WHERE view_name IN ('urgent', 'user_views')";
  const macros = "SELECT function_name AS name FROM duckdb_functions() WHERE function_name = 'half'";
  expect(await ask(`${left} UNION ALL ${macros}`)).toEqual([]);
});

test('a hostile file is left out as a whole, and nothing else is affected', async () => {
  const before = await stateOf([]);
  put({
    ...good,
    'a_statements.sql': 'CREATE VIEW a1 AS SELECT 1 AS x; DROP TABLE topics',
    'b_copy.sql': "COPY topics TO '/tmp/topics.csv'",
    'c_attach.sql': "ATTACH 'worker.duckdb'",
    'd_install.sql': 'INSTALL httpfs; LOAD httpfs; CREATE VIEW d AS SELECT 1 AS x',
    'e_ours.sql': 'CREATE OR REPLACE VIEW backlog AS SELECT 1 AS x',
    'f_ours.sql': 'CREATE VIEW BackLog AS SELECT 1 AS x',
    'g_table.sql': 'CREATE TABLE g AS SELECT * FROM range(1e15)',
    'h_bytes.sql': Uint8Array.of(0x53, 0x45, 0xff, 0xfe),
    'i_empty.sql': '-- nothing\n;',
    'j_file.sql': "CREATE VIEW j AS SELECT * FROM read_text('/etc/passwd')",
    'k_builtin.sql': 'CREATE MACRO median(x) AS 42',
    'l_builtin.sql': 'CREATE VIEW duckdb_tables AS SELECT 42 AS x',
    'm_comment.sql': "CREATE VIEW m AS SELECT 1 AS x; COMMENT ON VIEW backlog IS 'mine'",
    'n_comment.sql': "COMMENT ON COLUMN topics.title IS 'mine'",
    'o_schema.sql': 'CREATE VIEW ops.o AS SELECT 1 AS x',
    'p_commit.sql': 'CREATE VIEW p AS SELECT 1 AS x; COMMIT; CREATE VIEW q AS SELECT 1 AS x',
    'q_quote.sql': "CREATE VIEW q AS SELECT 'unfinished",
    'r_long.sql': `SELECT '${'x'.repeat(100_001)}'`,
    's_temp.sql': 'CREATE TEMP VIEW s AS SELECT 1 AS x',
    't_nul.sql': 'SELECT 1 AS x\0; DROP TABLE topics',
    '.hidden.sql': 'no SQL at all',
    'readme.txt': 'no SQL at all',
  });
  mkdirSync(join(views, 'u_folder.sql'));
  symlinkSync('nowhere', join(views, 'v_link.sql'));
  const elsewhere = join(testFolder(), 'password');
  writeFileSync(elsewhere, 'hunter2\n');
  symlinkSync(elsewhere, join(views, 'x_link.sql'));
  execFileSync('mkfifo', [join(views, 'w_pipe.sql')]);
  const ran = await pulling.run(['rebuild', '--json']);
  expect(ran).toMatchObject({ code: 0 });
  const rebuilt = JSON.parse(ran.stdout);
  const done: UserView[] = rebuilt.published.userViews;
  const wrong = done.filter(({ error, file }) => (error === null) !== file in good);
  expect(wrong).toEqual([]);
  expect(done.length).toBe(Object.keys(good).length + 24);
  expect(ran.stdout + ran.stderr).not.toContain('hunter2');
  expect(await stateOf(done)).toEqual(before);
});

test('an endless file is ended, and those after it are created', async () => {
  const nested = Array.from({ length: 40 }, (_, n) => `CREATE MACRO m${n + 1}(x) AS m${n}(x) + m${n}(x)`);
  put({
    'a.sql': `CREATE MACRO m0(x) AS x; ${nested.join('; ')}; CREATE VIEW a AS SELECT m40(1) AS x`,
    'b.sql': 'SELECT 1 AS x',
  });
  const done = await tryUserViews(pulling.dataDir, schemaStatements, { fileMs: 3_000, totalMs: 600_000 });
  expect(done).toEqual([
    { file: 'a.sql', creates: [], statements: [], error: expect.any(String) },
    { file: 'b.sql', creates: ['b'], statements: [expect.any(String)], error: null },
  ]);
  const late = await tryUserViews(pulling.dataDir, schemaStatements, { fileMs: 1_500, totalMs: 0 });
  expect(late.map(({ error }) => error)).toEqual(Array(2).fill(expect.stringContaining('took more than')));
});

/** What is in the snapshot besides what `done` created, and how many rows. */
async function stateOf(done: readonly UserView[]) {
  const created = ["'user_views'", ...done.flatMap(({ creates }) => creates).map((name) => `'${name}'`)].join(
    ', ',
  );
  return read(pulling.dataDir, async ({ rows }) => ({
    views: await rows(`SELECT schema_name, view_name, sql, comment FROM duckdb_views()
        WHERE NOT internal AND view_name NOT IN (${created}) ORDER BY ALL`),
    macros: await rows(`SELECT schema_name, function_name, macro_definition FROM duckdb_functions()
        WHERE NOT internal AND function_name NOT IN (${created}) ORDER BY ALL`),
    columns: await rows(`SELECT schema_name, table_name, column_name, comment FROM duckdb_columns()
        WHERE NOT internal AND table_name NOT IN (${created}) ORDER BY ALL`),
    topics: await rows('SELECT count(*) AS n FROM topics'),
    backlog: await rows('SELECT count(*) AS n FROM backlog'),
  }));
}
