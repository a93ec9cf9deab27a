import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SyncPushReport } from '../../src/app/runs.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { Pulling, startTown } from '../support/pulling.js';
import { enqueue } from '../support/pushing.js';
import { Folders } from '../support/signalhouse.js';

const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
const cap = 45;

const folders = new Folders();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startTown({ sizes });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

it('night after night under a cap too small for a first pull, the warehouse becomes complete; each night says how far it is', async () => {
  const pulling = Pulling.into(folders, sandbox);
  const topic = [...sandbox.world.topics.values()].find((one) => one.graphStatus === 'active') as StoredTopic;
  const priority = topic.priority === 'high' ? 'low' : 'high';
  const nights: { due: number; runs: number | null }[] = [];
  do {
    const before = sandbox.stats().requests;
    const { code, stdout } = await pulling.start(['sync', '--push', '--max-requests', String(cap), '--json'])
      .ended;
    const { push, left } = JSON.parse(stdout) as SyncPushReport;
    expect(code).toBe(0);
    expect(sandbox.stats().requests - before).toBeLessThanOrEqual(cap);
    nights.push(left);
    // Between two nights the organization does not stand still.
    if (nights.length === 1) {
      expect(push?.applied).toBe(0);
      sandbox.advance(1, { activeTopics: 0.5, edits: 0.2, archives: 0, priorityChanges: 0 });
      await enqueue(pulling.dataDir, [
        { topic: topic.id, wanted: { priority }, base: { priority: topic.priority } },
      ]);
    }
    if (nights.length === 2) expect(push).toMatchObject({ applied: 1, left: { queued: 0 } });
  } while (nights.at(-1)?.due !== 0 && nights.length < 12);

  expect(nights.length).toBeGreaterThan(2);
  expect(sandbox.world.topics.get(topic.id)?.priority).toBe(priority);
  expect(nights.at(-1)).toEqual({ due: 0, requests: 0, minutes: 0, runs: null });
  expect(await pulling.differences({ lagging: false })).toEqual([]);
  // What a night says is about how many it took, though what it fetches reveals more to fetch.
  for (const [night, { runs }] of nights.slice(0, -1).entries()) {
    const took = nights.length - 1 - night;
    expect(runs).toBeGreaterThanOrEqual(1);
    expect(runs).toBeLessThanOrEqual(took + 1);
  }
});
