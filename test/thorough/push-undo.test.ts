import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { UndoReport } from '../../src/push/undo/prepare.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { Pulling } from '../support/pulling.js';
import {
  keysOf,
  killedAfter,
  other,
  pushToEnd,
  queueOf,
  townForPushes,
  writeFaults,
} from '../support/pushing.js';
import type { Folders, Ran } from '../support/signalhouse.js';

const count = Number(process.env.UNDO_CHANGES ?? 500);
const seed = Number(process.env.PUSH_SEED ?? 7);

let sandbox: Sandbox;
let pulling: Pulling;
let topics: StoredTopic[];
let folders: Folders;
const sizes = { topics: Math.ceil(count * 1.3), messages: 800, people: 60 };
townForPushes({ sizes, holds: 'topics' }, (made) => {
  ({ sandbox, pulling, folders } = made);
  topics = made.topics.slice(0, count);
});

/** What a person can change of each topic. */
const values = () =>
  topics.map(({ id }) => {
    const { priority, archivedAt, archivedReason } = sandbox.world.topics.get(id) as StoredTopic;
    return { id, priority, isArchived: archivedAt !== null, archivedReason };
  });

/** Runs a command, killed at each of the moments, and then to its end. */
async function killedAt(args: readonly string[], moments: readonly number[]): Promise<Ran> {
  for (const moment of moments) await killedAfter(pulling, args, moment);
  return pulling.run(args);
}

/** Pushes everything under faults and kills; each topic is written once, under one key. */
async function pushAll(moments: readonly number[]): Promise<void> {
  sandbox.resetStats();
  sandbox.addFaults([...writeFaults]);
  await killedAt(['push'], moments);
  await pushToEnd(pulling);
  sandbox.clearFaults();
  const statuses = (await queueOf(pulling.dataDir)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set(['applied']));
  for (const { id } of topics) {
    expect(keysOf(sandbox, id).size).toBe(1);
    expect(Object.values(sandbox.applied()[`topic:${id}`] ?? {})).toEqual(
      Object.values(sandbox.applied()[`topic:${id}`] ?? {}).map(() => 1),
    );
    expect(Object.keys(sandbox.applied()[`topic:${id}`] ?? {})).toContain('priority');
  }
}

it('changes that are pushed under faults and kills, and undone under faults and kills, leave everything as it was', async () => {
  const [early, late, ...killed] = fc.sample(fc.integer({ min: 300, max: 2_500 }), { seed, numRuns: 6 });
  expect(topics).toHaveLength(count);
  const start = values();
  const lines = topics.map(({ id, priority, archivedAt }, index) =>
    index % 3 === 0 && archivedAt === null
      ? `${id},${other(priority)},TRUE,done`
      : `${id},${other(priority)},,`,
  );
  const file = join(folders.make(), 'plan.csv');
  writeFileSync(file, `topic_id,priority,archived,archived_reason\n${lines.join('\n')}\n`);
  expect((await pulling.run(['changes', 'import', file, '--yes'])).code).toBe(0);
  await pushAll(killed.slice(0, 2));
  expect(values().map(({ priority }) => priority)).toEqual(start.map(({ priority }) => other(priority)));

  // An undo that is killed leaves none, some or all of its changes in the queue; the next one adds the rest.
  const ran = await killedAt(['changes', 'undo', 'plan.csv', '--yes', '--json'], [early ?? 300, late ?? 300]);
  const report = JSON.parse(ran.stdout) as UndoReport;
  const before = report.notUndone.filter(({ kind }) => kind === 'undone').length;
  expect({ code: ran.code, changes: report.queued.length + before }).toEqual({ code: 0, changes: count });
  await pushAll(killed.slice(2));
  expect(values()).toEqual(start);

  const again = JSON.parse(
    (await pulling.run(['changes', 'undo', 'plan.csv', '--yes', '--json'])).stdout,
  ) as UndoReport;
  expect(again).toMatchObject({ outcome: 'nothing', queued: [], exitCode: 0 });
});
