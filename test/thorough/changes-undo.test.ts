import { describe, expect, it } from 'vitest';
import type { ImportReport } from '../../src/push/import/report.js';
import type { TitledChange } from '../../src/push/queue/view.js';
import type { UndoReport } from '../../src/push/undo/prepare.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { Pulling } from '../support/pulling.js';
import { ImportFolder, other, push, townForPushes } from '../support/pushing.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/changes/index.js'));

let sandbox: Sandbox;
let pulling: Pulling;
let topics: StoredTopic[];
let folder: ImportFolder;
townForPushes({ sizes: { topics: 60 }, holds: 'everything' }, (made) => {
  ({ sandbox, pulling } = made);
  // A value that only the service can set has its own test of the plan.
  topics = made.topics.filter(({ archivedAt }) => archivedAt === null);
  folder = new ImportFolder(pulling, made.folders.make());
});

const changes = (...args: string[]) => folder.run(['changes', ...args]);
const json = <T>(args: readonly string[], code = 0) => folder.json<T>(['changes', ...args], code);

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
    folder.write(
      'plan.csv',
      [line(first, ','), line(second, 'TRUE,a duplicate'), line(third, ',')],
      ',archived,archived_reason',
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
