import { expect, test } from 'vitest';
import { resources } from '../../src/contract/resources.js';
import { readKnown, storedCounters } from '../../src/load/known.js';
import { openFull } from '../../src/read/query.js';
import { Known } from '../../src/run/known.js';
import { readMeasured } from '../../src/sync/ages.js';
import { due } from '../../src/sync/due.js';
import { beforeWaiting, foreseen, storedActivity } from '../../src/sync/explained.js';
import { keyOf, type Task } from '../../src/sync/task.js';
import { pathOf, why } from '../../src/sync/why.js';
import { Pulling, startTown } from '../support/pulling.js';

const { children } = resources;
const settings = { sync: { recheck: 1, personGroups: 'without_company' as const } };
const limits = { memoryLimit: '512MB', threads: 1 };

/** What is due by the published file: by the function of `plan`, and what `explain` says of every child. */
async function foretold(dataDir: string) {
  const snapshot = await openFull(dataDir, limits);
  try {
    const known = new Known(resources, await readKnown(snapshot));
    const measured = await readMeasured(snapshot);
    const input = { known, resources, children, settings, measured, companyGroupsCome: true };
    const now = new Date();
    const { tasks } = due(input, now);
    const everything = children.flatMap((child) =>
      [...known.entities(child.list.name)].map(({ entityId }) => ({ child, entityId })),
    );
    const counters = await storedCounters(snapshot, everything.map(keyOf));
    const activity = await storedActivity(snapshot, everything);
    const explained = everything.flatMap(({ child, entityId }) =>
      why({ ...input, children: [child] }, now, entityId, counters, activity),
    );
    return { tasks, planned: await foreseen(snapshot, tasks), explained };
  } finally {
    snapshot.close();
  }
}

const nameOf = (task: Pick<Task, 'child' | 'entityId'>) => `GET ${pathOf(task.child, task.entityId)}`;

/** What a sync requested of children. */
async function requestedBy(pulling: Pulling, runId: string): Promise<(name: string) => boolean> {
  const rows = await pulling.rows<{ path: string }>(
    `SELECT path FROM ops.requests WHERE run_id = '${runId}'`,
  );
  const paths = rows.map(({ path }) => `GET ${path}`);
  return (name) =>
    paths.some((path) => path === name || path.startsWith(`${name}${name.includes('?') ? '&' : '?'}`));
}

test.each([21, 22, 23, 24, 25])(
  'of organization %d, plan and explain name what the next sync reads',
  async (seed) => {
    const sandbox = await startTown({ sizes: { seed, messages: 400 } });
    try {
      const pulling = await Pulling.filled(sandbox);
      sandbox.advance(2);
      const { spent } = await pulling.plan();
      // A sync that reads the lists alone, then one that reads the changed topics as well.
      await pulling.sync(['--max-requests', String(spent)]);
      const before = await foretold(pulling.dataDir);
      const topics = beforeWaiting(before.tasks);
      expect(before.planned.mayBeExplained.length > 0).toBe(topics < before.tasks.length);
      await pulling.sync(['--max-requests', String(spent + topics - 1)]);
      const { planned, explained } = await foretold(pulling.dataDir);
      const { report } = await pulling.sync();
      const isRequested = await requestedBy(pulling, report.runId);
      const unread = planned.tasks.filter((task) => !isRequested(nameOf(task)));
      expect(unread.map(nameOf)).toEqual([]);
      expect(
        explained.flatMap(({ isDue, request }) => (isDue && !isRequested(request) ? request : [])),
      ).toEqual([]);
      const left = explained.filter(({ why: code }) => code === 'explained');
      expect(left.length).toBeGreaterThan(0);
      expect(left.filter(({ request }) => isRequested(request))).toEqual([]);
    } finally {
      await sandbox.stop();
    }
  },
);
