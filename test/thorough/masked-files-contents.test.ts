import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read, textsOf } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/rebuild.js'));
void (() => import('../../src/warehouse/privacy/masked-file.js'));

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;

const analysts = {
  profile: 'analysts',
  exclude: ['messages.metadata', 'topics.linked_ticket_url'],
  mask: { 'people.primary_email': 'hash', 'authors.name': 'initials', 'people.description': null },
};
const publish = { ...analysts, also: [{ file: 'signals-strict.duckdb', profile: 'strict' }] };

const fileOf = (name: string) => join(pulling.dataDir, name);

beforeAll(async () => {
  sandbox = await startTown({});
  pulling = await Pulling.filled(folders, sandbox);
  pulling.set({ publish });
  const { code, stderr } = await pulling.run(['rebuild']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

interface Facts {
  file: string;
  profile: string;
  excluded: string[];
  masked: string[];
  views_adapted: string[];
  views_left_out: string[];
}

const factsOf = () =>
  read(pulling.dataDir, ({ rows }) => rows<Facts>('FROM ops.published_files'), 'recovery.duckdb');

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
          ([name, method]) =>
            !/redact|fields|by row/.test(method ?? '') && !/^ops\.|description$/.test(name ?? ''),
        );
      const values = await read(
        pulling.dataDir,
        ({ rows }) =>
          rows<{ column: string; value: string }>(
            columns
              .map(([name = '']) => {
                const [table, column] = name.split('.');
                return `SELECT DISTINCT '${name}' AS "column", "${column}"::VARCHAR AS value FROM "${table}"`;
              })
              .join(' UNION ALL '),
          ),
        'recovery.duckdb',
      );
      const searched = values.filter(({ value }) => (value ?? '').length > 7);
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
    const strict = await read(
      pulling.dataDir,
      ({ rows }) =>
        rows<{ name: string }>('SELECT DISTINCT schema_name AS name FROM duckdb_tables() ORDER BY 1'),
      'signals-strict.duckdb',
    );
    expect(strict).toEqual([{ name: 'main' }, { name: 'ops' }]);
    const found = await read(pulling.dataDir, async ({ rows, columns }) => ({
      tables: await rows(
        "SELECT schema_name FROM duckdb_schemas() WHERE schema_name = 'raw' UNION ALL SELECT table_name FROM duckdb_tables() WHERE table_name IN ('documents', 'requests')",
      ),
      messages: (await columns('messages')).filter((name) => name === 'metadata'),
      comments: await rows(
        "SELECT comment IS NOT NULL AS has FROM duckdb_columns() WHERE table_name = 'backlog' AND column_name = 'linked_ticket_url'",
      ),
      tickets: await rows('SELECT count(linked_ticket_url)::INT AS n FROM backlog'),
    }));
    expect(found).toEqual({ tables: [], messages: [], comments: [{ has: true }], tickets: [{ n: 0 }] });
    const status = await pulling.run(['status'], { SIGNALHOUSE_CONFIG: '' });
    expect(status.stdout).toContain('signals.duckdb: profile analysts; NOT AS THE SETTINGS SAY');
    const [, facts] = await factsOf();
    expect(facts).toMatchObject({
      views_adapted: ['backlog'],
      views_left_out: ['story_buckets: needs raw.documents'],
    });
  });

  it('hashes join within a file and across files, and every number stays', async () => {
    const counted = `SELECT count(*)::INT AS messages, count(DISTINCT sender_id)::INT AS senders,
                            count(person_id)::INT AS known, count_if(side = 'staff')::INT AS staff FROM message_senders`;
    const open =
      'SELECT count(*)::INT AS topics, sum(people)::INT AS people, sum(momentum)::INT AS momentum FROM backlog';
    const numbers = (file: string) =>
      read(pulling.dataDir, async ({ rows }) => [await rows(counted), await rows(open)], file);
    const full = await numbers('recovery.duckdb');
    expect(await numbers('signals.duckdb')).toEqual(full);
    expect(await numbers('signals-strict.duckdb')).toEqual(full);
    const accounts = 'SELECT DISTINCT source_author_id AS id FROM authors ORDER BY 1';
    const [analyst, strict, plain] = await Promise.all(
      ['signals.duckdb', 'signals-strict.duckdb', 'recovery.duckdb'].map((file) =>
        read(pulling.dataDir, ({ rows }) => rows<{ id: string }>(accounts), file),
      ),
    );
    expect(analyst).toEqual(strict);
    expect(analyst).toHaveLength(plain?.length ?? 0);
    expect(analyst).not.toEqual(plain);
    const salt = statSync(fileOf('publish.salt'));
    expect(salt.mode & 0o777).toBe(0o600);
    expect(statSync(fileOf('recovery.duckdb')).mode & 0o777).toBe(0o600);
  });

  it('sql, export and report read what is published; status, explain and sheets what is not masked', async () => {
    const [name] = await read(
      pulling.dataDir,
      ({ rows }) =>
        rows<{ display_name: string }>(
          'SELECT display_name FROM people WHERE length(display_name) > 8 LIMIT 1',
        ),
      'recovery.duckdb',
    );
    const person = name?.display_name ?? '';
    const status = await pulling.run(['status']);
    expect(status.stdout).toContain('signals.duckdb: profile analysts; without');
    expect(status.stdout).not.toContain('NOT AS THE SETTINGS SAY');
    expect(status.stdout).toContain('VIEWS LEFT OUT: story_buckets: needs raw.documents');
    const asked = await pulling.run([
      'sql',
      `SELECT count(*) AS n FROM people WHERE display_name = '${person}'`,
      '--json',
    ]);
    expect(JSON.parse(asked.stdout)).toEqual([{ n: 0 }]);
    const missing = await pulling.run(['sql', 'SELECT * FROM raw.documents']);
    expect({ code: missing.code, stderr: missing.stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('leaves out messages.metadata'),
    });
    const exported = await pulling.run(['export', 'ops.requests', '--out', fileOf('requests.csv')]);
    expect({ code: exported.code, stderr: exported.stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('leaves out messages.metadata'),
    });
    const report = fileOf('report.html');
    expect((await pulling.run(['report', '--out', report])).code).toBe(0);
    expect(readFileSync(report, 'utf8')).not.toContain(person);
    const explained = await pulling.run(['explain', 'person', person]);
    expect({ code: explained.code, stdout: explained.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(person),
    });
    const sheet = await pulling.run(['changes', 'sheet', '--out', join(folders.make(), 'topics.csv')]);
    expect({ code: sheet.code, stderr: sheet.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the settings of published files', () => {
  it('that are wrong are named, all at once, with what there is', async () => {
    pulling.set({
      publish: {
        exclude: ['message.metadata', 'people.shoe_size'],
        mask: { 'people.id': null, 'people.primary_email': 'md5', 'messages.thread': 'hash' },
        also: [{ file: '../out.duckdb' }, { file: 'worker.duckdb' }],
      },
    });
    const first = await pulling.run(['status']);
    expect(first.code).toBe(2);
    expect(first.stderr).toContain('publish.also[0].file');
    expect(first.stderr).toContain('publish.also[1].file');
    pulling.set({
      publish: {
        exclude: ['message.metadata', 'people.shoe_size'],
        mask: { 'people.id': null, 'people.primary_email': 'md5', 'messages.thread': 'hash' },
        also: [{ file: 'more.duckdb', mask: { 'topics.priority': 'initials' } }],
      },
    });
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
});
