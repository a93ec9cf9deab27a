import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import type { DiffReport } from '../../src/app/diff.js';
import type { ForgetReport } from '../../src/app/forget.js';
import type { ExpectedTable, Row } from '../support/expected/row.js';
import { expectedTables } from '../support/oracle.js';
import { busiestPerson, placesOf, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, runOn, townOfFile } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/diff.js'));
void (() => import('../../src/warehouse/kept-snapshots.js'));

const { sandbox, pulling } = await townOfFile();
const old = join(testFolder(), 'old.duckdb');
copyFileSync(join(pulling.dataDir, 'signals.duckdb'), old);

async function run(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await pulling.run(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

const compared = (...args: string[]) => pulling.json<DiffReport>(['diff', ...args]);

/** The rows of every table as the sandbox answers now, apart from the organization, which changes. */
function answersNow(): ExpectedTable[] {
  const copied = (row: Row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'function' ? value : structuredClone(value),
      ]),
    );
  return expectedTables(sandbox).map((table) => ({ ...table, rows: table.rows.map(copied) }));
}

/** What differs between two states of a table, by arithmetic over the sandbox's answers. */
function arithmetic(before: ExpectedTable, after: ExpectedTable) {
  const keyed = (rows: readonly Row[]) =>
    new Map(rows.map((row) => [before.key.map((name) => String(row[name])).join(), row]));
  const [were, are] = [keyed(before.rows), keyed(after.rows)];
  const columns: Record<string, number> = {};
  let [removed, changed] = [0, 0];
  for (const [key, row] of were) {
    // What the API deleted keeps its row.
    const now = are.get(key) ?? after.otherRow?.(row) ?? null;
    if (now === null) removed += 1;
    const other = Object.keys(now ?? {}).filter((name) => !equal(row[name], now?.[name]));
    for (const name of other) columns[name] = (columns[name] ?? 0) + 1;
    if (other.length > 0) changed += 1;
  }
  const added = [...are.keys()].filter((key) => !were.has(key)).length;
  return { added, removed, changed, columns };
}

/** Where only a rule is known for a value, it differs from a value that does not obey it. */
function equal(one: unknown, other: unknown): boolean {
  if (typeof one === 'function') return true;
  return typeof other === 'function' ? other(one) : isDeepStrictEqual(one ?? null, other ?? null);
}

it('counts what changed between two syncs, by table and column, as the sandbox answers', async () => {
  const before = answersNow();
  sandbox.advance(3);
  const id =
    [...sandbox.world.topics.values()].find((one) => one.archivedAt === null && !one.migrated)?.id ?? '';
  sandbox.change({
    kind: 'patchTopic',
    topicId: id,
    fields: { title: '=1+1 "renamed"', priority: 'very_high' },
  });
  const after = answersNow();
  // Everything is fetched again: nothing lags.
  await pulling.age();
  await run(['sync']);

  const report = await compared(old, '--limit', '1000');
  expect(report).toMatchObject({
    notes: [],
    onlyOld: [],
    onlyNew: [],
    new: { path: join(pulling.dataDir, 'signals.duckdb') },
  });
  for (const [at, { table }] of before.entries()) {
    const [one, other] = [before[at], after[at]] as [ExpectedTable, ExpectedTable];
    const { added, removed, changed, columns } = report.tables.find((each) => each.table === table) ?? {};
    const expected = arithmetic(one, other);
    // Of a conversation that is gone, nobody knows whose it was last.
    const isKnown = table !== 'group_people' || (removed ?? 0) < expected.removed;
    expect({ table, added, removed: isKnown ? removed : expected.removed, changed, columns }).toEqual({
      table,
      ...expected,
    });
  }
  const topics = report.tables.find(({ table }) => table === 'topics');
  expect((topics?.added ?? 0) + (topics?.changed ?? 0)).toBeGreaterThan(2);
  expect(topics?.examples.find(({ key }) => key.id === id)).toMatchObject({
    change: 'changed',
    label: '=1+1 "renamed"',
    columns: { title: { new: '=1+1 "renamed"' }, priority: { new: 'very_high' } },
  });

  // The other way round, additions are removals.
  const back = await compared(join(pulling.dataDir, 'signals.duckdb'), old, '--table', 'topics,messages');
  expect(back.tables.map(({ table, added, removed, changed }) => [table, removed, added, changed])).toEqual(
    ['topics', 'messages'].map((name) => {
      const one = report.tables.find(({ table }) => table === name);
      return [name, one?.added, one?.removed, one?.changed];
    }),
  );
  const text = await run(['diff', old]);
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(text).toMatch(/^ {2}topics +\d+ +\d+/m);

  const out = join(testFolder(), 'changes.xlsx');
  await run(['diff', old, '--out', out]);
  const parts = unzipSync(readFileSync(out));
  const part = (name: string) => new TextDecoder().decode(parts[name]);
  expect([...part('xl/workbook.xml').matchAll(/<sheet name="(\w+)"/g)].map(([, name]) => name)).toEqual([
    ...['tables', 'columns', 'rows', 'files'],
  ]);
  // A title is text, never a formula; each changed column has a row.
  const rows = part('xl/worksheets/sheet3.xml');
  expect([rows.includes('=1+1'), rows.includes('<f>')]).toEqual([true, false]);
  const lines = report.tables.flatMap(({ examples }) =>
    examples.flatMap((one) => (one.change === 'changed' ? Object.keys(one.columns) : ['all'])),
  );
  expect([...rows.matchAll(/<row /g)]).toHaveLength(lines.length + 1);
  await run(['rebuild']);
  const audit = "SELECT 1 FROM ops.audit WHERE details::VARCHAR LIKE '%changes.xlsx%'";
  expect(await pulling.rows(audit)).toHaveLength(1);
});

it('refuses what cannot be compared, and says why', async () => {
  const folder = testFolder();
  const [text, empty, other] = ['a', 'empty', 'other'].map((name) => join(folder, `${name}.duckdb`)) as [
    string,
    string,
    string,
  ];
  writeFileSync(text, 'no database');
  await runOn(empty, 'CREATE TABLE mine (id INT)');
  copyFileSync(old, other);
  await runOn(other, "UPDATE organizations SET id = 'another'", 'CHECKPOINT');
  const damaged = join(folder, 'damaged.duckdb');
  writeFileSync(damaged, readFileSync(old).subarray(0, 300_000));
  const refused: [string[], number, string][] = [
    [[text], 2, 'is not a DuckDB file'],
    [[join(folder, 'none')], 2, 'is not a file'],
    [[empty], 2, 'is not a file that signalhouse published'],
    [[join(pulling.dataDir, 'worker.duckdb')], 2, 'is the live warehouse'],
    [[other], 2, 'belongs to the organization'],
    [['2026-01-01'], 2, 'No snapshot was kept up to 2026-01-01'],
    [['2026-02-30'], 2, 'is not a day'],
    [[old, '--table', 'nothing'], 2, 'nothing is a table of neither file'],
    [[old, '--out', join(folder, 'a.csv')], 2, 'must end in .xlsx'],
    [[damaged], 1, 'damaged.duckdb'],
  ];
  for (const [args, code, message] of refused) {
    const ran = await pulling.run(['diff', ...args]);
    expect([args, ran.code, ran.stderr.replace(/\s+/g, ' ')]).toEqual([
      args,
      code,
      expect.stringContaining(message),
    ]);
  }
});

it('keeps one snapshot a day, the newest ones, until somebody is forgotten or the profile changes', async () => {
  const kept = await Pulling.filled(sandbox);
  const { dataDir } = kept;
  const published = join(dataDir, 'signals.duckdb');
  const names = () =>
    existsSync(join(dataDir, 'snapshots')) ? readdirSync(join(dataDir, 'snapshots')).sort() : [];
  const rebuild = async (day: string, settings: object = {}) => {
    utimesSync(published, new Date(`${day}T12:00:00Z`), new Date(`${day}T12:00:00Z`));
    kept.set({ publish: { keep: 2, mode: '0440', ...settings } });
    await kept.json(['rebuild']);
  };
  const first = statSync(published).ino;
  await rebuild('2026-03-01');
  // A link: the content that was replaced, at no cost.
  expect(statSync(join(dataDir, 'snapshots', 'signals-2026-03-01.duckdb')).ino).toBe(first);
  const second = statSync(published).ino;
  await rebuild('2026-03-01');
  expect(statSync(join(dataDir, 'snapshots', 'signals-2026-03-01.duckdb')).ino).toBe(second);
  await rebuild('2026-03-02');
  await rebuild('2026-03-05');
  expect(names()).toEqual(['signals-2026-03-02.duckdb', 'signals-2026-03-05.duckdb']);
  expect([statSync(join(dataDir, 'snapshots')).mode & 0o777, statSync(published).mode & 0o777]).toEqual([
    0o750, 0o440,
  ]);
  expect(await kept.json(['diff', '2026-03-04'])).toMatchObject({
    old: { path: join(dataDir, 'snapshots', 'signals-2026-03-02.duckdb') },
  });
  const status = await kept.run(['status']);
  expect(status.stdout).toContain('2 snapshots, 2026-03-02 to 2026-03-05');

  const id = busiestPerson(sandbox.world);
  const strings = stringsOfPerson(sandbox.world, id);
  const forgotten = await kept.json<ForgetReport>(['forget', 'person', id, '--yes']);
  expect(forgotten.files).toEqual(
    expect.arrayContaining(['snapshots/signals-2026-03-02.duckdb', 'snapshots/signals-2026-03-05.duckdb']),
  );
  expect(names()).toEqual([]);
  expect(await placesOf(dataDir, strings)).toEqual([]);

  // What a file shows that masks nothing is not kept beside masked ones, and an older one goes.
  await rebuild('2026-03-06');
  const full = join(testFolder(), 'full.duckdb');
  copyFileSync(published, full);
  expect(names()).toEqual(['signals-2026-03-06.duckdb']);
  await rebuild('2026-03-07', { profile: 'analysts' });
  expect(names()).toEqual([]);
  await rebuild('2026-03-08', { profile: 'analysts' });
  expect(names()).toEqual(['signals-2026-03-08.duckdb']);
  const masked = await kept.json<DiffReport>(['diff', full]);
  expect(masked.notes.join()).toContain('the old one has the profile none, the new one analysts');
  const people = masked.tables.find(({ table }) => table === 'people');
  expect(people).toMatchObject({ added: 0, removed: 0, changed: 0 });
  expect(people?.notCompared).toContain('primary_email');
  kept.set({ publish: { keep: 0, profile: 'analysts' } });
  await kept.run(['rebuild']);
  expect(names()).toEqual([]);

  const analysts = join(testFolder(), 'analysts.duckdb');
  copyFileSync(published, analysts);
  kept.set({ publish: { keep: 0, profile: 'strict' } });
  await kept.run(['rebuild']);
  const { tables } = await kept.json<DiffReport>(['diff', analysts]);
  expect(tables.flatMap(({ table, removed }) => (removed ? table : []))).toEqual([]);
});

it('a file that cannot be kept is a note of the run, which is published all the same', async () => {
  const full = await Pulling.filled(sandbox);
  full.set({ publish: { keep: 3 } });
  // A file where the folder should be.
  writeFileSync(join(full.dataDir, 'snapshots'), '');
  const before = statSync(join(full.dataDir, 'signals.duckdb')).ino;
  const { code, report } = await full.sync();
  expect([code, report.notes]).toEqual([0, [expect.stringContaining('is not kept (publish.keep)')]]);
  expect(statSync(join(full.dataDir, 'signals.duckdb')).ino).not.toBe(before);
});

it('what the API deleted loses its content so many days earlier that no kept snapshot has it too long', async () => {
  const pulled = await Pulling.filled(sandbox);
  const [message] = [...sandbox.world.messages.values()].filter(({ deletedAt }) => deletedAt === null);
  sandbox.change({ kind: 'deleteMessage', messageId: message?.id });
  const content = async (keep: number) => {
    pulled.set({ publish: { keep }, retention: { deletedContentDays: 3_000 } });
    await pulled.age();
    expect((await pulled.sync()).code).toBe(0);
    const query = `SELECT deleted_at IS NOT NULL AS gone, content IS NOT NULL AS has FROM messages WHERE id = '${message?.id}'`;
    return (await pulled.rows(query))[0];
  };
  expect(await content(0)).toEqual({ gone: true, has: true });
  pulled.set({ publish: { keep: 3_000 }, retention: { deletedContentDays: 3_000 } });
  expect(JSON.parse((await pulled.run(['retention', '--json'])).stdout).messages).toBeGreaterThan(0);
  expect(await content(3_000)).toEqual({ gone: true, has: false });
});

it('after a limit was lowered, no kept snapshot has what is too old', async () => {
  const pulled = await Pulling.filled(sandbox, { publish: { keep: 5 } });
  expect((await pulled.sync()).code).toBe(0);
  const names = () => readdirSync(join(pulled.dataDir, 'snapshots'));
  expect(names()).toHaveLength(1);
  pulled.set({ publish: { keep: 5 }, retention: { messagesMonths: 1 } });
  const { code, report } = await pulled.sync();
  expect([code, report.notes]).toEqual([
    0,
    [expect.stringContaining('they had content that retention drops')],
  ]);
  expect(names()).toEqual([]);
});
