import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Decision } from '../../src/push/decide.js';
import type { TitledChange } from '../../src/push/facts.js';
import type { ImportReport } from '../../src/push/import/preview.js';
import type { Cell, Grid } from '../../src/sheet/grid.js';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid } from '../../src/sheet/write.js';
import { read } from '../support/published.js';
import { townOfFile } from '../support/pulling.js';
import { queueOf } from '../support/pushing.js';
import { type Ran, signalhouse } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/changes.js'));

const { pulling } = await townOfFile({
  holds: 'nothing',
  sizes: { topics: 24, people: 12, messages: 80, stories: 1 },
});
let cwd: string;

beforeAll(async () => {
  cwd = testFolder();
  const { code } = await pulling.sync(['--only', 'topics,companies']);
  if (code !== 0) throw new Error('the warehouse of this test could not be filled');
});

const changes = (args: readonly string[], stdin?: string): Promise<Ran> =>
  signalhouse(['changes', ...args], { cwd, env: pulling.env, ...(stdin === undefined ? {} : { stdin }) });

async function json<T>(args: readonly string[], code = 0): Promise<T> {
  const ran = await changes([...args, '--json']);
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code, stderr: '' });
  return JSON.parse(ran.stdout) as T;
}

/** Edits a sheet as a person would: one cell of each row that is named, by its place in the file. */
async function edit(
  name: string,
  edits: readonly (readonly [row: number, column: string, value: Cell])[],
): Promise<Grid> {
  const grid = await readSheet({ path: join(cwd, name) });
  const rows = grid.rows.map((row, at) => {
    const cells = grid.columns.map((_, column) => row.cells[column] ?? null);
    for (const [of, column, value] of edits) if (of === at) cells[grid.columns.indexOf(column)] = value;
    return { ...row, cells };
  });
  await writeGrid(join(cwd, name), { ...grid, rows }, { overwrite: true });
  return { ...grid, rows };
}

const listed = async (...args: string[]) =>
  json<{ total: number; changes: TitledChange[] }>(['list', ...args]);

/** Another priority than this one. */
const other = (priority: unknown) => (priority === 'low' ? 'Very High' : 'low');

describe('a sheet', () => {
  it('goes round: written, edited, imported, listed, cancelled, and tried again', async () => {
    const made = await json<{ rows: number }>(['sheet', '--out', 'topics.xlsx']);
    expect(made.rows).toBeGreaterThan(5);
    const before = await readSheet({ path: join(cwd, 'topics.xlsx') });
    const priority = before.columns.indexOf('priority');
    const [first, second] = [0, 1].map((at) => other(before.rows[at]?.cells[priority]));
    const { rows } = await edit('topics.xlsx', [
      [0, 'priority', first ?? null],
      [1, 'priority', second ?? null],
      [2, 'archived', true],
      [2, 'archived_reason', '=a duplicate'],
    ]);
    // Nobody can be asked here.
    const unasked = await changes(['import', 'topics.xlsx', '--by', 'kim']);
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    expect(unasked.stdout).toContain('low');
    expect(await queueOf(pulling.dataDir)).toEqual([]);
    const report = await json<ImportReport>(['import', 'topics.xlsx', '--by', 'kim', '--yes']);
    expect(report).toMatchObject({ outcome: 'queued', exitCode: 0, requestedBy: 'kim', problems: [] });
    const queue = await queueOf(pulling.dataDir);
    expect(
      queue.map(({ entityId, wanted, baseFrom, sourceRow }) => ({ entityId, wanted, baseFrom, sourceRow })),
    ).toEqual([
      {
        entityId: rows[0]?.cells[0],
        wanted: { priority: first?.toLowerCase().replace(' ', '_') },
        baseFrom: 'file',
        sourceRow: 2,
      },
      {
        entityId: rows[1]?.cells[0],
        wanted: { priority: second?.toLowerCase().replace(' ', '_') },
        baseFrom: 'file',
        sourceRow: 3,
      },
      {
        entityId: rows[2]?.cells[0],
        wanted: { archived: true, archived_reason: '=a duplicate' },
        baseFrom: 'file',
        sourceRow: 4,
      },
    ]);

    // The queue is in the published file for SQL, and the same file once more is no news.
    const open = await read(pulling.dataDir, (reader) =>
      reader.rows('SELECT status, requested_by FROM open_changes'),
    );
    expect(open).toEqual(Array(3).fill({ status: 'queued', requested_by: 'kim' }));
    const again = await json<ImportReport>(['import', 'topics.xlsx']);
    expect(again).toMatchObject({ outcome: 'nothing_new', preview: { rows: { imported_before: 3 } } });

    const list = await listed('--by', 'kim', '--status', 'queued', '--since', '1h', '--limit', '2');
    expect(list).toMatchObject({
      total: 3,
      changes: [{ entityId: rows[2]?.cells[0] }, { title: rows[1]?.cells[1] }],
    });
    const [id] = report.queued;
    const cancelled = await json<{ decisions: Decision[] }>(['cancel', id!]);
    expect(cancelled.decisions).toMatchObject([{ id, status: 'cancelled', done: true }]);
    const rest = await changes(['cancel', '--source', 'elsewhere/topics.xlsx']);
    expect(rest).toMatchObject({ code: 0, stdout: '2 changes cancelled\n' });
    expect((await queueOf(pulling.dataDir)).every(({ status }) => status === 'cancelled')).toBe(true);
  });
});

describe('rows that are wrong', () => {
  it('are named all at once with exit 3; --skip-invalid queues the good ones', async () => {
    const [good] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ id: string }>("SELECT topic_id AS id FROM backlog WHERE priority <> 'low' LIMIT 1"),
    );
    writeFileSync(
      join(cwd, 'bad.tsv'),
      `\uFEFFTopic ID\tPRIORITY\tlifecycle-state\n${good?.id}\tlow\t\nnope\tlow\t\n${good?.id}\t\tunknown\n`,
    );
    const refused = await changes(['import', 'bad.tsv']);
    expect(refused).toMatchObject({ code: 3, stderr: '' });
    for (const text of [
      'row 3, Topic ID "nope"',
      'row 4, lifecycle-state "unknown"',
      'allowed: open',
      '--skip-invalid',
    ])
      expect(refused.stdout.replaceAll(/\s+/g, ' ')).toContain(text);
    const before = (await queueOf(pulling.dataDir)).length;
    const report = await json<ImportReport>(['import', 'bad.tsv', '--skip-invalid', '--yes'], 3);
    expect(report).toMatchObject({ outcome: 'queued', preview: { rows: { queued: 1, invalid: 2 } } });
    expect(await queueOf(pulling.dataDir)).toHaveLength(before + 1);
  });
});

describe('what is no list of changes', () => {
  it('is refused with exit 2: a picture that is named like a workbook, SQL that writes', async () => {
    writeFileSync(
      join(cwd, 'photo.xlsx'),
      Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0]),
    );
    const photo = await changes(['import', 'photo.xlsx']);
    expect(photo).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('is not a spreadsheet'),
    });
    const sql = await changes(['import', '--sql', 'DROP TABLE topics']);
    expect(sql).toMatchObject({ code: 2, stdout: '' });
  });

  it('a sheet is not written over a file', async () => {
    writeFileSync(join(cwd, 'mine.csv'), 'kept');
    expect(await changes(['sheet', '--out', 'mine.csv'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--force'),
    });
    expect(readFileSync(join(cwd, 'mine.csv'), 'utf8')).toBe('kept');
  });
});
