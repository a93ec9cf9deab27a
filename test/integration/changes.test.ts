import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/push/decide.js';
import type { TitledChange } from '../../src/push/facts.js';
import type { PlanReport } from '../../src/push/plan.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { Cell, Grid } from '../../src/sheet/grid.js';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid } from '../../src/sheet/write.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, other, queueOf } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/changes.js'));

const { sandbox, pulling } = await townOfFile({ sizes: { topics: 60 } });
/** Topics that the generated organization happens to merge or supersede later have no place here. */
const topics = changeable(sandbox);
const cwd = testFolder();
pulling.cwd = cwd;

/** Writes a sheet of topic ids and priorities. */
const write = (name: string, lines: readonly string[]) =>
  writeFileSync(join(cwd, name), `topic_id,priority\n${lines.join('\n')}\n`);

const flat = (text: string) => text.replaceAll(/\s+/g, ' ');
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
const listed = (...args: string[]) =>
  pulling.json<{ total: number; changes: TitledChange[] }>(['changes', 'list', ...args]);
const list = async (...args: string[]) => (await listed(...args)).changes;
const imported = (...args: string[]) => pulling.json<PlanReport>(['changes', 'import', ...args]);

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

it('a sheet goes round: written, edited, imported, listed, cancelled, and tried again', async () => {
  const made = await pulling.json<{ rows: number }>(['changes', 'sheet', '--out', 'topics.xlsx']);
  expect(made.rows).toBeGreaterThan(5);
  const before = await readSheet({ path: join(cwd, 'topics.xlsx') });
  const priority = before.columns.indexOf('priority');
  const [first, second] = [0, 1].map((at) =>
    before.rows[at]?.cells[priority] === 'low' ? 'Very High' : 'low',
  );
  const { rows } = await edit('topics.xlsx', [
    [0, 'priority', first ?? null],
    [1, 'priority', second ?? null],
    [2, 'archived', true],
    [2, 'archived_reason', '=a duplicate'],
  ]);
  // Nobody can be asked here.
  const unasked = await pulling.run(['changes', 'import', 'topics.xlsx', '--by', 'kim']);
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(unasked.stdout).toContain('low');
  expect(await queueOf(pulling.dataDir)).toEqual([]);
  const report = await imported('topics.xlsx', '--by', 'kim', '--yes');
  expect(report).toMatchObject({ outcome: 'queued', exitCode: 0, requestedBy: 'kim', problems: [] });
  const queue = await queueOf(pulling.dataDir);
  const stored = (text: string | undefined) => text?.toLowerCase().replace(' ', '_');
  expect(
    queue.map(({ entityId, wanted, baseFrom, sourceRow }) => [entityId, wanted, baseFrom, sourceRow]),
  ).toEqual([
    [rows[0]?.cells[0], { priority: stored(first) }, 'file', 2],
    [rows[1]?.cells[0], { priority: stored(second) }, 'file', 3],
    [rows[2]?.cells[0], { archived: true, archived_reason: '=a duplicate' }, 'file', 4],
  ]);

  // The queue is in the published file for SQL, and the same file once more is no news.
  const open = await pulling.rows('SELECT status, requested_by FROM open_changes');
  expect(open).toEqual(Array(3).fill({ status: 'queued', requested_by: 'kim' }));
  const again = await imported('topics.xlsx');
  expect(again).toMatchObject({ outcome: 'nothing', preview: { rows: { imported_before: 3 } } });

  const list = await listed('--source', 'topics.xlsx', '--status', 'queued', '--limit', '2');
  expect(list).toMatchObject({
    total: 3,
    changes: [{ entityId: rows[2]?.cells[0] }, { title: rows[1]?.cells[1] }],
  });
  const [id] = report.queued;
  const cancelled = await pulling.json<{ decisions: Decision[] }>(['changes', 'cancel', id ?? '']);
  expect(cancelled.decisions).toMatchObject([{ id, status: 'cancelled', done: true }]);
  const rest = await pulling.run(['changes', 'cancel', '--source', 'elsewhere/topics.xlsx']);
  expect(rest).toMatchObject({ code: 0, stdout: expect.stringContaining('2 changes cancelled') });
  expect((await queueOf(pulling.dataDir)).every(({ status }) => status === 'cancelled')).toBe(true);
});

it('rows that are wrong are named all at once with exit 3; --skip-invalid queues the good ones', async () => {
  const good = topics.find(({ priority }) => priority !== 'low');
  writeFileSync(
    join(cwd, 'bad.tsv'),
    `\uFEFFTopic ID\tPRIORITY\tlifecycle-state\n${good?.id}\tlow\t\nnope\tlow\t\n${good?.id}\t\tunknown\n`,
  );
  const refused = await pulling.run(['changes', 'import', 'bad.tsv']);
  expect(refused).toMatchObject({ code: 3, stderr: '' });
  for (const text of ['Row 3, Topic ID "nope"', 'Row 4, lifecycle-state "unknown"', 'allowed: open'])
    expect(flat(refused.stdout)).toContain(text);
  const args = ['changes', 'import', 'bad.tsv', '--skip-invalid', '--yes'];
  const report = await pulling.json<PlanReport>(args, 3);
  expect(report).toMatchObject({ outcome: 'queued', preview: { rows: { queued: 1, invalid: 2 } } });
  expect((await queueOf(pulling.dataDir)).at(-1)).toMatchObject({ id: report.queued[0], status: 'queued' });
  await pulling.run(['changes', 'cancel', ...report.queued]);
});

it('a picture that is named like a workbook, and a name that nothing has, are refused with exit 2; no file is replaced', async () => {
  writeFileSync(join(cwd, 'photo.xlsx'), Buffer.from('ffd8ffe000104a46494600', 'hex'));
  writeFileSync(join(cwd, 'mine.csv'), 'kept');
  for (const [args, says] of [
    [['import', 'photo.xlsx'], 'is not a spreadsheet'],
    [['undo', 'nothing.xlsx', '--yes'], 'nothing.xlsx'],
    [['sheet', '--out', 'mine.csv'], '--force'],
  ] as const)
    expect(await pulling.run(['changes', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(says),
    });
  expect(readFileSync(join(cwd, 'mine.csv'), 'utf8')).toBe('kept');
});

it('the preview of an import shows title, values and companies of 20 changes, all with --full and --json, and totals', async () => {
  const chosen = topics.slice(0, 22);
  write(
    'many.csv',
    chosen.map(({ id, priority }) => `${id},${other(priority)}`),
  );
  const short = await pulling.run(['changes', 'import', 'many.csv', '--dry-run']);
  expect(short.code).toBe(0);
  expect(widest(short.stdout)).toBeLessThanOrEqual(80);
  expect(flat(short.stdout)).toContain('2 more (--full shows all of them)');
  const arrow = ({ priority }: StoredTopic) => `priority: ${priority} -> ${other(priority)}`;
  expect(flat(short.stdout).split('priority: ')).toHaveLength(21);
  expect(flat(short.stdout)).toContain(arrow(chosen[0] as StoredTopic));
  const full = await pulling.run(['changes', 'import', 'many.csv', '--dry-run', '--full']);
  expect(flat(full.stdout).split('priority: ')).toHaveLength(23);

  const report = await imported('many.csv', '--dry-run');
  expect(report.changes).toHaveLength(22);
});

it('a conflict is named by its title, with the commands that decide it', async () => {
  const [, , first] = topics as [StoredTopic, StoredTopic, StoredTopic];
  const theirs = first.priority === 'low' ? 'very_low' : 'low';
  const [late] = mergedLater();
  write('one.csv', [`${first.id},very_high`, `${late.id},${other(late.priority)}`]);
  const { queued } = await imported('one.csv', '--yes');
  sandbox.change({ kind: 'patchTopic', topicId: first.id, fields: { priority: theirs } });
  happened();
  const pushed = await pulling.run(['push']);
  expect(pushed.code).toBe(3);
  expect(widest(pushed.stdout)).toBeLessThanOrEqual(80);
  expect(flat(pushed.stdout)).toContain(`- ${first.title} (topic ${first.id}, one.csv row 2): priority is`);
  expect(pushed.stdout).toContain(`\n  signalhouse changes retry ${queued[0]} --overwrite\n`);
  expect((await pulling.sync(['--only', 'topics,topic,topic_history'])).code).toBe(0);
  expect(await list('--status', 'conflict')).toMatchObject([{ title: first.title }]);
  for (const args of [
    ['changes', 'list', '--status', 'conflict'],
    ['changes', 'show', queued[0] ?? ''],
  ]) {
    const { stdout } = await pulling.run(args, { COLUMNS: '80' });
    expect(widest(stdout)).toBeLessThanOrEqual(80);
    expect(stdout).toContain(`\n  signalhouse changes cancel ${queued[0]}\n`);
  }
  expect((await pulling.run(['changes', 'cancel', queued[0] ?? ''])).code).toBe(0);
});

/** A topic that is merged between its import and its push, and its survivor. */
const mergedLater = () => topics.slice(9, 11) as [StoredTopic, StoredTopic];

/** What happens after the sheets of the next tests were written. */
function happened(): void {
  const [late, into] = mergedLater();
  sandbox.change({ kind: 'mergeTopics', sourceIds: [late.id], targetId: into.id });
  const [merged, survivor, archived] = topics.slice(5, 8) as [StoredTopic, StoredTopic, StoredTopic];
  sandbox.change({ kind: 'mergeTopics', sourceIds: [merged.id], targetId: survivor.id });
  sandbox.change({ kind: 'archiveTopic', topicId: archived.id, reason: 'done' });
}

describe('a sheet that is older than a merge', () => {
  it('names the survivor, and comes back with its results', async () => {
    const [merged, survivor, archived] = topics.slice(5, 8) as [StoredTopic, StoredTopic, StoredTopic];
    const lines = [`${archived.id},${other(archived.priority)}`];
    write('old sheet.csv', [`${merged.id},${other(merged.priority)}`, ...lines]);
    const refused = await pulling.run(['changes', 'import', 'old sheet.csv']);
    expect(refused.code).toBe(3);
    expect(flat(refused.stdout)).toContain(`was merged into ${survivor.title} (${survivor.id})`);
    const { code, stdout } = await pulling.run([
      'changes',
      'import',
      'old sheet.csv',
      '--skip-invalid',
      '--yes',
      '--json',
    ]);
    expect(code).toBe(3);
    const report = JSON.parse(stdout) as PlanReport;
    expect(report.changes).toMatchObject([{ entityId: archived.id }]);
    const pushed = await pulling.run(['push', '--result', 'done.csv']);
    expect(pushed.code).toBe(0);
    expect(readFileSync(join(cwd, 'done.csv'), 'utf8')).toContain(',applied,');
  });

  it('a sheet is as old as the last reading of the list, not as the last change of a topic', async () => {
    const { oldest } = await pulling.json<{ oldest: string }>(['changes', 'sheet', '--out', 'new.csv']);
    const [scan] = await pulling.rows<{ at: string }>(
      "SELECT strftime(max(started_at), '%Y-%m-%d %H:%M') AS at FROM ops.scans WHERE endpoint = 'topics'",
    );
    expect(oldest.slice(0, 16).replace('T', ' ')).toBe(scan?.at);
  });
});

it('a change whose topic was merged after the import fails, and a retry names the survivor', async () => {
  const [late, into] = mergedLater();
  const [failed] = await list('--status', 'failed');
  expect(failed).toMatchObject({ entityId: late.id });
  const refused = await pulling.run(['changes', 'retry', failed?.id ?? '']);
  expect(refused).toMatchObject({ code: 3, stdout: expect.stringContaining(`(${into.id})`) });
});
