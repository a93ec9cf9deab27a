import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { columnsByName } from '../../src/privacy/policy.js';
import type { Row } from '../support/expected/row.js';
import { killedAt } from '../support/killed-at.js';
import { textsOf } from '../support/published.js';
import { townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/rebuild.js'));
void (() => import('../../src/privacy/masked-file.js'));

const { pulling } = await townOfFile();

const analysts = {
  profile: 'analysts',
  exclude: ['messages.metadata', 'topics.linked_ticket_url'],
  mask: { 'people.primary_email': 'hash', 'authors.name': 'initials', 'people.description': null },
};
const publish = { ...analysts, also: [{ file: 'signals-strict.duckdb', profile: 'strict' }] };

const fileOf = (name: string) => join(pulling.dataDir, name);

beforeAll(async () => {
  pulling.set({ publish });
  const { code, stderr } = await pulling.run(['rebuild']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

/** The rows of a query in a file of the data directory. */
const ask = <T = Row>(sql: string, file = 'signals.duckdb') => pulling.rows<T>(sql, file);
const factsOf = () =>
  ask<{ file: string; profile: string; masked: string[] }>('FROM ops.published_files', 'recovery.duckdb');

describe('masked files', () => {
  it('have no original value of a masked column, in no byte and in no column', async () => {
    const facts = await factsOf();
    expect(facts.map(({ file, profile }) => [file, profile])).toEqual([
      ['signals-strict.duckdb', 'strict'],
      ['signals.duckdb', 'analysts'],
    ]);
    const [inFull, fullTexts] = [
      readFileSync(fileOf('recovery.duckdb')),
      await textsOf(pulling.dataDir, 'recovery.duckdb'),
    ];
    for (const { file, masked } of facts) {
      const [bytes, texts] = [readFileSync(fileOf(file)), await textsOf(pulling.dataDir, file)];
      // What keeps a part of each value by design (and JSON, of which fields stay) is not searched for as a whole.
      const columns = masked
        .map((one) => one.split(': '))
        .filter(
          ([name = '', method]) =>
            columnsByName().get(name)?.class !== 'none' &&
            !/redact|fields|by row/.test(method ?? '') &&
            !/^ops\.|description$/.test(name ?? ''),
        );
      const distinct = columns.map(([name = '']) => {
        const [table, column] = name.split('.');
        return `SELECT DISTINCT '${name}' AS "column", "${column}"::VARCHAR AS value FROM "${table}"`;
      });
      const values = await ask<{ column: string; value: string }>(
        distinct.join(' UNION ALL '),
        'recovery.duckdb',
      );
      // thumbsup stands in a comment of its column, and the organization's own name in those of its channels.
      const isElsewhere = (value: string) => ['thumbsup', 'lumenfold'].includes(value);
      const searched = values.filter(({ value }) => (value ?? '').length > 7 && !isElsewhere(value));
      expect(searched.length).toBeGreaterThan(200);
      expect(searched.filter(({ value }) => texts.includes(value))).toEqual([]);
      // The same search finds them where they are.
      expect(searched.filter(({ value }) => !fullTexts.includes(value))).toEqual([]);
      // Of each column a few, because a search of all bytes takes milliseconds.
      const some = searched.filter(
        ({ column }, index) => searched.findIndex((one) => one.column === column) > index - 4,
      );
      expect(some.filter(({ value }) => bytes.includes(value))).toEqual([]);
      expect(some.filter(({ value }) => inFull.includes(value)).length).toBeGreaterThan(20);
    }
  });

  it('have neither raw nor what is excluded, and views show an excluded text as NULL', async () => {
    const schemas = 'SELECT DISTINCT schema_name AS name FROM duckdb_tables() ORDER BY 1';
    for (const file of ['signals.duckdb', 'signals-strict.duckdb'])
      expect(await ask(schemas, file)).toEqual([{ name: 'main' }, { name: 'ops' }]);
    const names =
      "table_name IN ('documents', 'requests') OR column_name = 'metadata' AND table_name = 'messages'";
    expect(await ask(`SELECT table_name FROM duckdb_columns() WHERE ${names}`)).toEqual([]);
    const ticket = "table_name = 'backlog' AND column_name = 'linked_ticket_url'";
    expect(await ask(`SELECT comment IS NOT NULL AS has FROM duckdb_columns() WHERE ${ticket}`)).toEqual([
      { has: true },
    ]);
    expect(await ask('SELECT count(linked_ticket_url)::INT AS n FROM backlog')).toEqual([{ n: 0 }]);
    const status = await pulling.run(['status'], { SIGNALHOUSE_CONFIG: '' });
    expect(status.stdout).toContain('signals.duckdb: profile analysts; NOT AS THE SETTINGS SAY');
    const [, facts] = await factsOf();
    expect(facts).toMatchObject({
      views_adapted: ['backlog'],
      views_left_out: ['story_buckets: needs raw.documents'],
    });
  });

  it('hashes join within a file and in no file of another profile, and every number stays', async () => {
    const counted = `SELECT count(*)::INT AS messages, count(DISTINCT sender_id)::INT AS senders,
                            count(person_id)::INT AS known, count_if(side = 'staff')::INT AS staff FROM message_senders`;
    const open = 'SELECT count(*)::INT AS topics, sum(people)::INT AS people FROM backlog';
    const numbers = async (file: string) => [await ask(counted, file), await ask(open, file)];
    const full = await numbers('recovery.duckdb');
    expect(await numbers('signals.duckdb')).toEqual(full);
    expect(await numbers('signals-strict.duckdb')).toEqual(full);
    const accounts = 'SELECT DISTINCT source_author_id AS id FROM authors ORDER BY 1';
    const all: string[] = [];
    for (const file of ['recovery.duckdb', 'signals.duckdb', 'signals-strict.duckdb'])
      all.push(...(await ask<{ id: string }>(accounts, file)).map(({ id }) => id));
    const [{ n } = { n: 0 }] = await ask<{ n: number }>(`SELECT count(*)::INT AS n FROM (${accounts})`);
    expect([all.length, new Set(all).size]).toEqual([3 * n, 3 * n]);
    for (const name of ['publish.salt', 'recovery.duckdb'])
      expect(statSync(fileOf(name)).mode & 0o777).toBe(0o600);
  });

  it('strict: no column joins a row to the analysts file, and neither do its days or its place', async () => {
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const rows = async <T>(sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJS() as T[];
    await connection.run(`ATTACH '${fileOf('signals.duckdb')}' AS a (READ_ONLY)`);
    await connection.run(`ATTACH '${fileOf('signals-strict.duckdb')}' AS s (READ_ONLY)`);
    const columns = await rows<{ name: string; table: string; type: string }>(
      `SELECT column_name AS name, table_name AS "table", data_type AS type FROM duckdb_columns()
       JOIN duckdb_tables() USING (database_name, schema_name, table_name)
       WHERE database_name IN ('a', 's') AND schema_name = 'main' GROUP BY ALL HAVING count(*) = 2 ORDER BY ALL`,
    );
    /** How many rows have a value that no other row has, in both files. */
    const linked = async (table: string, key: string): Promise<number> => {
      const alone = (file: string) =>
        `SELECT k FROM (SELECT ${key} AS k FROM ${file}.main."${table}") WHERE k IS NOT NULL AND k <> '' GROUP BY k HAVING count(*) = 1`;
      const [found] = await rows<{ n: bigint }>(
        `SELECT count(*) AS n FROM ((${alone('a')}) INTERSECT (${alone('s')}))`,
      );
      return Number(found?.n ?? 0);
    };
    const found: Record<string, number> = {};
    for (const { name, table, type } of columns) {
      const hasPeople = columns.some(
        (one) => one.table === table && /person_id|author_id|entity_id/.test(one.name),
      );
      if (!hasPeople && !['people', 'authors', 'companies', 'topics', 'groups', 'merges'].includes(table))
        continue;
      const [counted] = await rows<{ n: bigint }>(
        `SELECT count(DISTINCT "${name}") AS n FROM a.main."${table}"`,
      );
      // A state that only one row has, such as a priority, tells little.
      if (Number(counted?.n ?? 0) <= 12 || !/VARCHAR|TIMESTAMP/.test(type)) continue;
      const n = await linked(table, `"${name}"::VARCHAR`);
      if (n > 0) found[`${table}.${name}`] = n;
    }
    const times = ['first_seen_at', 'last_seen_at', 'created_at'];
    const people = await linked('people', `concat_ws('|', ${times.join(', ')})`);
    const days = await linked('people', `concat_ws('|', ${times.map((one) => `${one}::DATE`).join(', ')})`);
    // The place of a row in its file.
    const [placed] = await rows<{ n: bigint }>(
      `SELECT count(*) FILTER (x.message_count = y.message_count) AS n FROM a.people AS x POSITIONAL JOIN s.people AS y`,
    );
    const [all] = await rows<{ n: bigint }>('SELECT count(*) AS n FROM a.people');
    const [exact] = await rows<{ n: bigint }>(
      `SELECT count(*) FILTER (created_at - date_trunc('day', created_at) > INTERVAL 1 SECOND) AS n FROM s.messages`,
    );
    // Of JSON, states stay, of which a rare one tells little, and days.
    const [inJson] = await rows<{ n: bigint }>(
      `SELECT count(*) AS n FROM s.history
       WHERE regexp_matches(replace(concat(changes, previous_values), 'T00:00:00Z', ''), '\\d\\d:\\d\\d|0\\.\\d\\d')`,
    );
    connection.closeSync();
    instance.closeSync();
    expect(Number(inJson?.n)).toBe(0);
    expect({ found, people, days, exact: Number(exact?.n) }).toEqual({
      found: {},
      people: 0,
      days: 0,
      exact: 0,
    });
    expect(Number(placed?.n)).toBeLessThan(Number(all?.n) / 2);
  });

  it('strict: the recipe of the docs finds the accounts of somebody who has another file with the same messages', async () => {
    const docs = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8');
    const [, recipe = ''] = /```sql\n(ATTACH .*?)```/s.exec(docs) ?? [];
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const asked = recipe.replace(/ATTACH '(.*?)'/g, (_, file) => `ATTACH '${fileOf(file)}'`);
    const [found] = (await connection.runAndReadAll(asked)).getRowObjectsJS();
    connection.closeSync();
    instance.closeSync();
    expect(Number(found?.found_again)).toBeGreaterThan(Number(found?.authors) / 2);
  });

  it('strict: messages keep their order within a conversation', async () => {
    const doubled = 'SELECT group_id FROM messages GROUP BY group_id, created_at HAVING count(*) > 1';
    expect(await ask(doubled, 'signals-strict.duckdb')).toEqual([]);
    const waiting = (file: string) => ask('SELECT count(*)::INT AS n FROM awaiting_reply', file);
    expect(await waiting('signals-strict.duckdb')).toEqual(await waiting('recovery.duckdb'));
  });

  it('sql, export and report read what is published; status, explain and sheets what is not masked', async () => {
    const named = 'SELECT display_name AS name FROM people WHERE length(display_name) > 8 LIMIT 1';
    const [{ name: person } = { name: '' }] = await ask<{ name: string }>(named, 'recovery.duckdb');
    const status = await pulling.run(['status']);
    expect(status.stdout).toContain('signals.duckdb: profile analysts; without');
    expect(status.stdout).not.toContain('NOT AS THE SETTINGS SAY');
    expect(status.stdout).toContain('VIEWS LEFT OUT: story_buckets: needs raw.documents');
    const query = `SELECT count(*) AS n FROM people WHERE display_name = '${person}'`;
    expect(JSON.parse((await pulling.run(['sql', query, '--json'])).stdout)).toEqual([{ n: 0 }]);
    for (const args of [
      ['sql', 'SELECT * FROM raw.documents'],
      ['export', 'ops.requests', '--out', fileOf('requests.csv')],
    ])
      expect(await pulling.run(args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('leaves out messages.metadata'),
      });
    const report = fileOf('report.html');
    expect((await pulling.run(['report', '--out', report])).code).toBe(0);
    expect(readFileSync(report, 'utf8')).not.toContain(person);
    const explained = await pulling.run(['explain', 'person', person]);
    expect(explained).toMatchObject({ code: 0, stdout: expect.stringContaining(person) });
    for (const args of [
      ['changes', 'sheet', '--out', join(testFolder(), 'topics.csv')],
      ['export', '--all', '--out', join(testFolder(), 'all')],
    ])
      expect(await pulling.run(args)).toMatchObject({ code: 0, stderr: '' });
  });
});

it('masked files answer every question of the cookbook that needs nothing else', async () => {
  const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8');
  const queries = [...cookbook.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) => sql ?? '');
  expect(queries.length).toBeGreaterThan(5);
  for (const file of ['signals.duckdb', 'signals-strict.duckdb'])
    for (const sql of queries) await ask(sql.replace(/;\s*$/, ''), file);
});

it('a kill between two renames leaves whole files, none of which shows more than it may', async () => {
  const at = killedAt({ call: 'renameSync', match: '-> .*signals\\.duckdb$', when: 'before' });
  expect(await pulling.start(['rebuild'], at).ended).toMatchObject({ signal: 'SIGKILL' });
  for (const name of ['signals.duckdb', 'signals-strict.duckdb', 'recovery.duckdb']) {
    const schemas = "SELECT count(*)::INT AS n FROM duckdb_schemas() WHERE schema_name = 'raw'";
    const [count] = await ask<{ n: number }>(schemas, name);
    expect([name, count?.n]).toEqual([name, name === 'recovery.duckdb' ? 1 : 0]);
  }
});

it('a live file that is lost comes back whole, and never from a masked one; without a profile, all is as before', async () => {
  const hashes = () => ask('SELECT source_author_id FROM authors ORDER BY id');
  const before = await hashes();
  rmSync(fileOf('worker.duckdb'));
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  // The salt is the same on every day.
  expect(await hashes()).toEqual(before);
  pulling.set({});
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  const own = ['recovery.duckdb', 'signals-strict.duckdb', 'published.json'];
  expect(own.filter((name) => existsSync(fileOf(name)))).toEqual([]);
  expect(await pulling.differences()).toEqual([]);
});

it('the settings of published files that are wrong are named, all at once, with what there is', async () => {
  const wrong = {
    exclude: ['message.metadata', 'people.shoe_size'],
    mask: { 'people.id': null, 'people.primary_email': 'md5', 'messages.thread': 'hash' },
  };
  pulling.set({ publish: { ...wrong, also: [{ file: '../out.duckdb' }, { file: 'worker.duckdb' }] } });
  const first = await pulling.run(['status']);
  expect(first.code).toBe(2);
  for (const at of [0, 1]) expect(first.stderr).toContain(`publish.also[${at}].file`);
  const also = [{ file: 'more.duckdb', mask: { 'topics.priority': 'initials' } }];
  pulling.set({ publish: { ...wrong, also } });
  const { code, stderr } = await pulling.run(['status']);
  expect(code).toBe(2);
  for (const text of [
    /publish\.exclude.*message\.metadata is not a schema, table or column.*messages/,
    /publish\.exclude.*people\.shoe_size is not a column: people has no shoe_size.*primary_email/,
    /publish\.mask\.people\.id.*key that rows are joined by/,
    /publish\.mask\.people\.primary_email.*must be null, hash, domain, initials, or truncate:N, not md5/,
    /publish\.mask\.messages\.thread.*JSON/,
    /publish\.also\[0\]\.mask\.topics\.priority.*says nothing about a person/,
  ])
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(text);
});
