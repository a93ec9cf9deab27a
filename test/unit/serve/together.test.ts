import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { silentLog } from '../../../src/base/log.js';
import { Scope } from '../../../src/base/scope.js';
import { cacheFacts } from '../../../src/serve/facts-cache.js';
import { Metrics } from '../../../src/serve/http/metrics.js';
import { startServer } from '../../../src/serve/http/server.js';
import { lineOf, type Message } from '../../../src/serve/notify/deliver.js';
import { Notifier } from '../../../src/serve/notify/notifier.js';
import { notifyState } from '../../../src/serve/notify/state.js';
import { scheduleMemory } from '../../../src/serve/schedule/record.js';
import { Scheduler } from '../../../src/serve/schedule/scheduler.js';
import { fileStore } from '../../../src/serve/store.js';
import { job } from './schedule/scheduling.js';
import { someFacts } from './serving.js';

const token = 'a-token-of-some-length';

/** The parts, wired as a program wires them. */
async function serve(folder: string, scope: Scope, heard: Message[]) {
  const log = silentLog;
  const version = '1.2.3';
  const metrics = new Metrics({ version });
  const facts = cacheFacts({ facts: async () => ({ ...someFacts, freshness: [] }), log });
  const notifier = new Notifier({
    name: 'webhook',
    deliver: async (message) => {
      heard.push(message);
      return null;
    },
    store: fileStore(join(folder, 'notify.json'), notifyState, log),
    facts,
    log,
  });
  const scheduler = new Scheduler({
    // Once a year, so that nothing runs here but what somebody asks for.
    jobs: [job('nightly', '@yearly', { catchUp: false })],
    run: async () => {
      throw new StorageError('the disk is full.', { hint: 'Make room.' });
    },
    memory: fileStore(join(folder, 'schedule.json'), scheduleMemory, log),
    log,
    onSettled: (record) => {
      metrics.run(record);
      notifier.run(record);
    },
  });
  const run = async () => null;
  const server = await startServer({
    port: 0,
    ...{ token, facts, run, schedule: scheduler, metrics, version, log },
  });
  scope.defer('server', () => server.close());
  scope.defer('notifier', () => notifier.stop());
  scope.defer('scheduler', () => scheduler.stop().then(() => undefined));
  notifier.start();
  await scheduler.start();
  return { server, scheduler, notifier };
}

it('runs what is asked for, shows it, counts it, tells of it, and knows it after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalhouse-serve-'));
  const heard: Message[] = [];
  try {
    for (const life of [1, 2]) {
      await Scope.run(async (scope) => {
        const { server, scheduler, notifier } = await serve(folder, scope, heard);
        expect(scheduler.view().history).toHaveLength(life - 1);
        const headers = { authorization: `Bearer ${token}` };
        const asked = await fetch(`${server.url}/jobs/nightly/run`, { method: 'POST', headers });
        expect(asked.status).toBe(202);
        while (scheduler.view().history.length < life) await new Promise((resolve) => setTimeout(resolve, 5));
        await notifier.settled();
        const read = async (path: string) => (await fetch(server.url + path)).text();
        expect(await read('/metrics')).toContain('signalhouse_runs_total{job="nightly",outcome="failed"} 1');
        expect(await read('/')).toMatch(/<h3>nightly failed<\/h3>\s*<p[^>]*>the disk is full\. Make room\./);
      });
    }
    // Failed, and failed again: one change.
    expect(heard.map(lineOf)).toEqual(['[Acme Tools] job nightly failed: the disk is full. Make room.']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
