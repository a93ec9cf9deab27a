import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { read } from '../support/published.js';
import type { Pulling } from '../support/pulling.js';
import { dryRun, enqueue, other, push, raise, townForPushes } from '../support/pushing.js';
import type { Folders } from '../support/signalhouse.js';

let sandbox: Sandbox;
let pulling: Pulling;
let topics: StoredTopic[];
let folders: Folders;
/** Each test takes topics of its own. */
let taken = 0;
townForPushes({ sizes: { topics: 60 }, holds: 'everything' }, (made) => {
  ({ sandbox, pulling, topics, folders } = made);
});

function some(count: number): StoredTopic[] {
  const found = topics.slice(taken, taken + count);
  taken += count;
  expect(found).toHaveLength(count);
  return found;
}

/** Differences from the API, except for the history of the push, which the next sync fetches. */
const differences = async () => (await pulling.differences()).filter((one) => !one.startsWith('history '));

const of = (one: { id: string }) => sandbox.world.topics.get(one.id) as StoredTopic;

describe('push', () => {
  it('dry run: prints each PATCH and changes nothing', async () => {
    const chosen = some(2);
    const queued = await enqueue(pulling.dataDir, [
      raise(chosen[0] as StoredTopic),
      {
        topic: chosen[1]?.id ?? '',
        wanted: { archived: true, archived_reason: 'done' },
        base: { archived: false, archived_reason: null },
      },
    ]);
    const { code, report } = await dryRun(pulling);
    expect(code).toBe(0);
    expect(
      report.requests.map(({ method, path, body, idempotencyKey }) => ({
        method,
        path,
        body,
        idempotencyKey,
      })),
    ).toEqual([
      {
        method: 'PATCH',
        path: `/topics/${chosen[0]?.id}`,
        body: { priority: other(chosen[0]?.priority ?? '') },
        idempotencyKey: queued[0]?.idempotencyKey,
      },
      {
        method: 'PATCH',
        path: `/topics/${chosen[1]?.id}`,
        body: { archived: true, archivedReason: 'done' },
        idempotencyKey: queued[1]?.idempotencyKey,
      },
    ]);
    expect(sandbox.writes()).toEqual([]);
    const text = await pulling.run(['push', '--dry-run']);
    expect(text.stdout).toContain(`PATCH /topics/${chosen[0]?.id} {"priority":`);
    const done = await push(pulling);
    expect(done.report).toMatchObject({ applied: 2, exitCode: 0 });
    expect(of(chosen[1] as StoredTopic)).toMatchObject({ archivedReason: 'done' });
    expect(await differences()).toEqual([]);
  });

  it('a value that a colleague changed is a conflict with both values, unless it is overwritten or skipped', async () => {
    const [first, second, third] = some(3) as [StoredTopic, StoredTopic, StoredTopic];
    const wish = (one: StoredTopic) => ({
      topic: one.id,
      wanted: { priority: 'very_high' },
      base: { priority: one.priority },
    });
    const meddle = (one: StoredTopic) =>
      sandbox.change({ kind: 'patchTopic', topicId: one.id, fields: { priority: 'very_low' } });
    await enqueue(pulling.dataDir, [wish(first)]);
    const seen = first.priority;
    meddle(first);
    const reported = await push(pulling);
    expect(reported.code).toBe(3);
    expect(reported.report).toMatchObject({ conflict: 1, applied: 0, outcome: 'incomplete' });
    expect(reported.report.changes[0]).toMatchObject({
      status: 'conflict',
      remoteBefore: { priority: 'very_low' },
      base: { priority: seen },
      wanted: { priority: 'very_high' },
    });
    expect(reported.report.changes[0]?.error).toContain('very_low');
    // A sheet that is written now has the colleague's value.
    const [shown] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ priority: string }>(`SELECT priority FROM topics WHERE id = '${first.id}'`),
    );
    expect(shown).toEqual({ priority: 'very_low' });

    await enqueue(pulling.dataDir, [wish(second)]);
    meddle(second);
    const skipped = await push(pulling, ['--on-conflict', 'skip']);
    expect(skipped.code).toBe(0);
    expect(skipped.report.conflict).toBe(1);
    expect(sandbox.writes()).toEqual([]);

    await enqueue(pulling.dataDir, [wish(third)]);
    meddle(third);
    const overwritten = await push(pulling, ['--on-conflict', 'overwrite']);
    expect(overwritten.code).toBe(0);
    expect(of(third).priority).toBe('very_high');
    expect(of(first).priority).toBe('very_low');
  });

  it('a result file that cannot be written is refused before the run starts', async () => {
    const folder = folders.make();
    mkdirSync(join(folder, 'folder.csv'));
    const [topic] = some(1) as [StoredTopic];
    const [change] = await enqueue(pulling.dataDir, [raise(topic)]);
    const pushes = () =>
      read(
        pulling.dataDir,
        (reader) =>
          reader.rows("SELECT run_id, outcome FROM ops.runs WHERE command = 'push' ORDER BY run_id"),
        'worker.duckdb',
      );
    const before = await pushes();
    for (const [name, problem] of [
      ['done.txt', 'does not end in .xlsx, .csv or .tsv'],
      [join('nowhere', 'done.csv'), 'does not exist'],
      ['folder.csv', 'is a folder'],
    ] as const) {
      const refused = await pulling.run(['push', '--result', join(folder, name)]);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('--result');
      expect(refused.stderr.replaceAll(/\s+/g, ' ')).toContain(problem);
      expect(readdirSync(folder)).toEqual(['folder.csv']);
    }
    expect(await pushes()).toEqual(before);
    expect(sandbox.stats().requests).toBe(0);
    expect((await push(pulling)).report.changes.map(({ id, status }) => [id, status])).toEqual([
      [change?.id, 'applied'],
    ]);
  });
});
