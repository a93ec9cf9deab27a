import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ImportReport } from '../../src/push/import/report.js';
import type { TitledChange } from '../../src/push/queue/view.js';
import type { UndoReport } from '../../src/push/undo/prepare.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { Pulling, startTown } from '../support/pulling.js';
import { changeable, other, push } from '../support/pushing.js';
import { Folders, type Ran, signalhouse } from '../support/signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/changes/index.js'));

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
let cwd: string;
let topics: StoredTopic[];

beforeAll(async () => {
  sandbox = await startTown({ sizes: { topics: 60 } });
  pulling = await Pulling.filled(folders, sandbox);
  cwd = folders.make();
  // A value that only the service can set has its own test of the plan.
  topics = changeable(sandbox).filter(({ archivedAt }) => archivedAt === null);
});
beforeEach(() => sandbox.resetStats());
afterAll(async () => {
  await sandbox?.stop();
  folders.remove();
});

const changes = (...args: string[]): Promise<Ran> =>
  signalhouse(['changes', ...args], { cwd, env: pulling.env });

async function json<T>(args: readonly string[], code = 0): Promise<T> {
  const ran = await changes(...args, '--json');
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code, stderr: '' });
  return JSON.parse(ran.stdout) as T;
}

const undo = (what: readonly string[], code = 0) => json<UndoReport>(['undo', ...what, '--yes'], code);
const states = () =>
  topics.map(({ id }) => {
    const { priority, lifecycleState, archivedReason, archivedAt } = sandbox.world.topics.get(
      id,
    ) as StoredTopic;
    return { priority, lifecycleState, archivedReason, isArchived: archivedAt !== null };
  });

describe('changes undo', () => {
  it('of a file puts back what the API had, once; then a part, an undo of the undo, and a conflict', async () => {
    const [first, second, third] = topics as [StoredTopic, StoredTopic, StoredTopic];
    const start = structuredClone(states());
    const line = ({ id, priority }: StoredTopic, rest: string) => `${id},${other(priority)},${rest}`;
    writeFileSync(
      join(cwd, 'plan.csv'),
      `topic_id,priority,archived,archived_reason\n${line(first, ',')}\n${line(second, 'TRUE,a duplicate')}\n${line(third, ',')}\n`,
    );
    const imported = await json<ImportReport>(['import', 'plan.csv', '--yes']);
    const early = await undo(['plan.csv'], 3);
    expect(early).toMatchObject({ outcome: 'nothing', queued: [] });
    expect(early.notUndone.map(({ title, reason }) => [title, reason])).toEqual(
      [first, second, third].map(({ title }) => [
        title,
        'it is still queued: use signalhouse changes cancel',
      ]),
    );
    expect((await push(pulling)).report.applied).toBe(3);
    const applied = structuredClone(states());

    const preview = await changes('undo', 'plan.csv', '--dry-run');
    expect(preview.code).toBe(0);
    expect(Math.max(...preview.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(preview.stdout).toContain(`priority: ${applied[0]?.priority} -> ${start[0]?.priority}`);
    expect(preview.stdout).toContain('archived: TRUE -> FALSE');
    const asked = await changes('undo', 'plan.csv');
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });

    // One change of the import, then the rest of it by the name of the file.
    const [one = ''] = imported.queued;
    expect((await undo([one])).queued).toHaveLength(1);
    const rest = await undo(['plan.csv']);
    expect(rest).toMatchObject({ outcome: 'queued', notUndone: [{ id: one, kind: 'undone' }] });
    expect(rest.changes.map(({ title, undoes }) => [title, undoes])).toEqual([
      [second.title, [imported.queued[1]]],
      [third.title, [imported.queued[2]]],
    ]);
    sandbox.resetStats();
    expect((await push(pulling)).report).toMatchObject({ applied: 3, conflict: 0 });
    expect(states()).toEqual(start);
    expect(sandbox.writes()).toHaveLength(3);

    const again = await undo([imported.importId]);
    expect(again).toMatchObject({ outcome: 'nothing', queued: [], exitCode: 0 });
    expect(again.notUndone.map(({ kind }) => kind)).toEqual(['undone', 'undone', 'undone']);
    const { changes: listed } = await json<{ changes: TitledChange[] }>(['list', '--source', 'plan.csv']);
    expect(listed.map(({ undoneBy }) => undoneBy)).not.toContain(null);

    // The undo of the undo is a redo; one colleague is faster.
    expect((await undo(['undo of plan.csv'])).queued.length).toBeGreaterThan(0);
    expect((await undo(listed.flatMap(({ undoneBy }) => undoneBy ?? []))).outcome).toMatch(/queued|nothing/);
    const theirs = (['very_low', 'very_high'] as const).find((value) => value !== third.priority) ?? 'low';
    sandbox.change({ kind: 'patchTopic', topicId: third.id, fields: { priority: theirs } });
    const redone = await push(pulling);
    expect(redone.code).toBe(3);
    expect(redone.report).toMatchObject({ applied: 2, conflict: 1 });
    expect(redone.report.changes.find(({ status }) => status === 'conflict')).toMatchObject({
      title: third.title,
      base: { priority: start[2]?.priority },
      wanted: { priority: applied[2]?.priority },
      remoteBefore: { priority: theirs },
    });
    expect(states().slice(0, 2)).toEqual(applied.slice(0, 2));
  });

  it('of a name that fits nothing is refused', async () => {
    const refused = await changes('undo', 'nothing.xlsx', '--yes');
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('nothing.xlsx') });
  });
});
