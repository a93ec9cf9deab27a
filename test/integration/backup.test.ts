import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RestoreReport } from '../../src/commands/restore.js';
import { priorities } from '../../src/contract/topics.js';
import type { Change } from '../../src/push/change.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { SyncReport } from '../../src/sync/report.js';
import { killedAt } from '../support/killed-at.js';
import { busiestPerson, placesOf, stringsOfPerson } from '../support/personal-strings.js';
import { Pulling, townOfFile } from '../support/pulling.js';
import { changeable, enqueue, other, push, raise } from '../support/pushing.js';
import { testFolder } from '../support/test-folders.js';

/** The commands of publish.after, and `restore` of what they kept. */

const { sandbox, pulling } = await townOfFile({ sizes: { topics: 60 } });
const topics = changeable(sandbox);

/** Each test takes topics of its own. */
let taken = 0;
function some(count: number): StoredTopic[] {
  taken += count;
  return topics.slice(taken - count, taken);
}

/** Another machine with the same settings, and nothing in its data directory. */
const machine = (settings: object = {}) => Pulling.into(sandbox, settings);

/** A copy of a data directory, as a backup program keeps it. */
function backup(dataDir = pulling.dataDir): string {
  const copy = join(testFolder(), 'backup');
  cpSync(dataDir, copy, { recursive: true });
  return copy;
}

const restore = (to: Pulling, dir: string, ...args: string[]) =>
  to.json<RestoreReport>(['restore', dir, ...args]);

async function changesOf(of: Pulling): Promise<Change[]> {
  const { changes } = JSON.parse((await of.run(['changes', 'list', '--json'])).stdout);
  return changes.sort((a: Change, b: Change) => (a.id < b.id ? -1 : 1));
}

it('publish.after runs with the paths of what belongs together while the warehouse is held; a failure makes the run incomplete', async () => {
  const out = join(testFolder(), 'seen');
  mkdirSync(out);
  const held = await Pulling.filled(sandbox, {
    publish: {
      profile: 'analysts',
      after: [
        `env | grep SIGNALHOUSE > ${out}/env; cp -r "$SIGNALHOUSE_DATA_DIR/." ${out}/copy; exit 3`,
        ['cp', `${pulling.dataDir}.yaml`, `${out}/second`],
      ],
    },
  });
  await enqueue(held.dataDir, some(1).map(raise));
  const { code, stdout } = await held.run(['sync', '--push', '--json', '--only', 'topics']);
  const report: SyncReport & { afterPublication: unknown[] } = JSON.parse(stdout);
  expect(code).toBe(3);
  expect(report).toMatchObject({ outcome: 'incomplete', published: { bytes: expect.any(Number) } });
  expect(report.notes.join()).toContain('publish.after 1 (env): it ended with 3');
  expect(report.afterPublication).toMatchObject([{ problem: 'it ended with 3' }, { problem: null }]);
  const { dataDir } = held;
  expect(readFileSync(join(out, 'env'), 'utf8').trim().split('\n').sort()).toEqual([
    `SIGNALHOUSE_DATA_DIR=${dataDir}`,
    `SIGNALHOUSE_FULL_SNAPSHOT=${join(dataDir, 'recovery.duckdb')}`,
    `SIGNALHOUSE_JOURNALS=${join(dataDir, 'changes.journal')}`,
    `SIGNALHOUSE_PUBLISHED=${join(dataDir, 'signals.duckdb')}`,
    `SIGNALHOUSE_SETTINGS=${dataDir}.yaml`,
  ]);
  expect(existsSync(join(out, 'copy', 'worker.pid'))).toBe(true);
  expect(existsSync(join(out, 'second'))).toBe(true);
  // What it copied is a backup.
  const again = machine();
  const restored = await restore(again, join(out, 'copy'));
  expect(restored).toMatchObject({ outcome: 'restored', changes: { applied: 1 }, mayHaveBeenSent: 0 });
  expect(await again.differences()).toEqual([]);
});

describe('restore', () => {
  it('loses no queued change and no key; what was sent after the backup is not sent again, and nobody is overwritten', async () => {
    const all = some(4);
    const [changed, touched] = [all[1]!, all[3]!];
    const wanted = all.map(({ priority }) => other(priority));
    const priority = priorities.find((one) => one !== changed.priority && one !== wanted[1]);
    const source = await Pulling.filled(sandbox);
    const queued = await enqueue(source.dataDir, all.map(raise));
    const copy = backup(source.dataDir);
    // A machine that came to send two of them before it was lost.
    const lost = machine();
    cpSync(copy, lost.dataDir, { recursive: true });
    await lost.run(['changes', 'cancel', ...queued.slice(2).map(({ id }) => id)]);
    expect(await push(lost)).toMatchObject({ code: 0, report: { applied: 2 } });
    sandbox.change({ kind: 'patchTopic', topicId: changed.id, fields: { priority } });
    sandbox.change({ kind: 'patchTopic', topicId: touched.id, fields: { lifecycleState: 'done' } });

    const fresh = machine();
    const preview = await restore(fresh, copy, '--dry-run');
    expect(preview).toMatchObject({ outcome: 'preview', changes: { queued: 4 }, mayHaveBeenSent: 4 });
    expect(existsSync(fresh.dataDir)).toBe(false);
    await restore(fresh, copy);
    expect(
      (await changesOf(fresh)).map(({ id, status, idempotencyKey }) => ({ id, status, idempotencyKey })),
    ).toEqual(queued.map(({ id, idempotencyKey }) => ({ id, status: 'queued', idempotencyKey })));
    const pushed = await push(fresh);
    const became = all.map(({ id }) => pushed.report.changes.find(({ entityId }) => entityId === id));
    expect(became.map((one) => one?.status)).toEqual(['unchanged', 'conflict', 'applied', 'applied']);
    for (const { id } of all) expect(sandbox.applied()[`topic:${id}`]).toEqual({ priority: 1 });
    const now = all.map(({ id }) => sandbox.world.topics.get(id)?.priority);
    expect(now).toEqual([wanted[0], priority, wanted[2], wanted[3]]);
    expect(await fresh.sync()).toMatchObject({ code: 0 });
    expect(await fresh.differences()).toEqual([]);
  });

  it('completes a request to forget that is younger than the snapshot', async () => {
    const source = await Pulling.filled(sandbox);
    const copy = backup(source.dataDir);
    const person = busiestPerson(sandbox.world);
    const strings = stringsOfPerson(sandbox.world, person);
    expect((await placesOf(copy, strings)).length).toBeGreaterThan(0);
    expect(await source.run(['forget', 'person', person, '--yes', '--json'])).toMatchObject({ code: 0 });
    copyFileSync(join(source.dataDir, 'forgotten.journal'), join(copy, 'forgotten.journal'));
    const fresh = machine();
    expect(await restore(fresh, copy)).toMatchObject({ forgotten: 1 });
    expect(await placesOf(fresh.dataDir, strings)).toEqual([]);
  });

  it('keeps what the journals of a replaced directory have since the backup, also after a kill within', async () => {
    const source = await Pulling.filled(sandbox);
    const [cancelled, ...all] = some(3);
    const queued = await enqueue(source.dataDir, [cancelled!, all[0]!].map(raise));
    const copy = backup(source.dataDir);
    const person = busiestPerson(sandbox.world);
    const strings = stringsOfPerson(sandbox.world, person);
    await source.run(['changes', 'cancel', queued[0]!.id]);
    const later = await enqueue(source.dataDir, [raise(all[1]!)]);
    expect(await source.run(['forget', 'person', person, '--yes', '--json'])).toMatchObject({ code: 0 });
    const killed = killedAt({ call: 'copyFileSync', match: 'signals.duckdb -> ', when: 'before' });
    expect(await source.run(['restore', copy, '--replace'], killed)).toMatchObject({ signal: 'SIGKILL' });
    const night = await source.run(['sync', '--push']);
    expect(night).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run signalhouse restore again'),
    });
    const report = await restore(source, copy);
    expect(report).toMatchObject({ changes: { cancelled: 1, queued: 2 }, mayHaveBeenSent: 2, forgotten: 1 });
    expect((await changesOf(source)).map(({ id, status }) => [id, status])).toEqual([
      [queued[0]!.id, 'cancelled'],
      [queued[1]!.id, 'queued'],
      [later[0]!.id, 'queued'],
    ]);
    expect(await placesOf(source.dataDir, strings)).toEqual([]);
  });

  it('publishes by the settings of the new machine, also from a backup of which the published file leaves a part out', async () => {
    const source = await Pulling.filled(sandbox, { publish: { profile: 'analysts' } });
    expect(await source.run(['rebuild', '--json'])).toMatchObject({ code: 0 });
    const copy = backup(source.dataDir);
    // As a program leaves them that knows no permissions.
    for (const name of readdirSync(copy).filter((one) => one.endsWith('.duckdb')))
      chmodSync(join(copy, name), 0o644);
    const fresh = machine({ publish: { profile: 'strict' } });
    await restore(fresh, copy);
    const [{ names } = { names: -1 }] = await fresh.rows<{ names: number }>(
      'SELECT count(display_name) AS names FROM people',
    );
    expect(names).toBe(0);
    expect(readFileSync(join(fresh.dataDir, 'publish.salt'))).toEqual(
      readFileSync(join(copy, 'publish.salt')),
    );
    const half = backup(copy);
    truncateSync(join(half, 'recovery.duckdb'), 0);
    expect(await machine().run(['restore', half])).toMatchObject({ code: 1 });
    rmSync(join(half, 'recovery.duckdb'));
    const masked = await machine().run(['restore', half]);
    expect([masked.code, masked.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining('leaves out or masks a part of the data'),
    ]);
  });

  it('starts over after a kill, and asks before it replaces anything else', async () => {
    const copy = backup();
    const fresh = machine();
    const killed = killedAt({ call: 'renameSync', match: 'restore -> .*recovery.duckdb$', when: 'before' });
    expect(await fresh.run(['restore', copy], killed)).toMatchObject({ signal: 'SIGKILL' });
    expect(readdirSync(fresh.dataDir)).toEqual(['.unfinished-restore']);
    await restore(fresh, copy);
    const refused = await fresh.run(['restore', copy]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('not empty') });
    const report = await restore(fresh, copy, '--replace');
    expect(readdirSync(report.movedTo ?? '')).toEqual(
      expect.arrayContaining(['worker.duckdb', 'signals.duckdb']),
    );
    expect(await fresh.run(['rebuild', '--check', '--json'])).toMatchObject({ code: 0 });
  });

  it.each<[string, (copy: string) => void, RegExp]>([
    [
      'a snapshot that is cut off',
      (copy) => truncateSync(join(copy, 'signals.duckdb'), 3_000_000),
      /truncated|damaged/,
    ],
    [
      'a journal of changes to what the snapshot does not have',
      (copy) => {
        const path = join(copy, 'changes.journal');
        const lines = readFileSync(path, 'utf8').replace(/"entityId":"[^"]*"/g, '"entityId":"elsewhere"');
        writeFileSync(path, lines);
      },
      /belongs to another warehouse/,
    ],
    [
      'a journal of another warehouse that forgot somebody',
      (copy) => {
        const line = { salt: 'other', record: { id: 'x' }, added: [] };
        writeFileSync(join(copy, 'forgotten.journal'), `${JSON.stringify(line)}\n`);
      },
      /belongs to another warehouse/,
    ],
  ])('refuses %s, and changes nothing', async (name, spoil, message) => {
    const source = await Pulling.filled(sandbox);
    if (name.includes('of changes')) await enqueue(source.dataDir, [raise(topics[0]!)]);
    if (name.includes('forgot'))
      await source.run(['forget', 'person', busiestPerson(sandbox.world), '--yes']);
    const copy = backup(source.dataDir);
    spoil(copy);
    const fresh = machine();
    const { code, stderr } = await fresh.run(['restore', copy]);
    expect(code).toBe(1);
    expect(stderr.replaceAll('\n', ' ')).toMatch(message);
    expect(existsSync(fresh.dataDir)).toBe(false);
  });
});
