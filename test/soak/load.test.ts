import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { openPublished, type Snapshot } from '../../src/warehouse/read/query.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';
import { keepOn, Worker } from './worker.js';

const readers = 50;
const metricsPerSecond = 200;

const folders = new Folders();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startTown({
    sizes: { topics: 60, people: 90, companies: 12, messages: 900 },
    latencyMs: [5, 20],
  });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

it(`${readers} readers of the published file and ${metricsPerSecond} requests a second on /metrics disturb no sync`, async () => {
  const pulling = Pulling.into(folders, sandbox, {
    serve: { jobs: [{ name: 'pull', run: 'sync', cron: '0 0 1 1 *', catchUp: false }] },
  });
  expect((await pulling.sync()).code).toBe(0);
  await pulling.age();
  const token = 'a-token-of-a-good-length';
  pulling.env.SIGNALHOUSE_SERVE_TOKEN = token;
  const worker = new Worker(pulling);
  await worker.start();

  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const snapshots: Snapshot[] = [];
  for (let index = 0; index < readers; index += 1)
    snapshots.push(await openPublished(pulling.dataDir, { memoryLimit: '64MB', threads: 1 }));
  let answers = 0;
  const reading = snapshots.map((snapshot) =>
    keepOn(
      over.signal,
      () => 250,
      async () => {
        const [row] = await snapshot.all<{ n: number }>(
          "SELECT count(*) AS n FROM messages WHERE content <> ''",
        );
        if (row && row.n > 0) answers += 1;
      },
    ),
  );
  const took: number[] = [];
  const statuses = new Map<number | string, number>();
  const asked: Promise<void>[] = [];
  const asking = keepOn(
    over.signal,
    () => 50,
    () => {
      // So many at once, twenty times a second: late ones do not hold up the next.
      for (let index = 0; index < metricsPerSecond / 20; index += 1) {
        const started = performance.now();
        const one = fetch(`${worker.url}/metrics`)
          .then(async (answer) => {
            await answer.text();
            return answer.status as number | string;
          })
          .catch((error: Error) => String(error.cause ?? error))
          .then((status) => {
            took.push(performance.now() - started);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          });
        asked.push(one);
      }
    },
  );

  const started = performance.now();
  const { status } = await fetch(`${worker.url}/jobs/pull/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  expect(status).toBe(202);
  interface View {
    readonly schedule: { readonly history: { readonly outcome: string; readonly message: string }[] };
  }
  let last: View['schedule']['history'][number] | undefined;
  while (!last) {
    await delay(500);
    const view = (await (await fetch(`${worker.url}/status.json`)).json()) as View;
    [last] = view.schedule.history;
  }
  const seconds = (performance.now() - started) / 1000;
  over.abort();
  await Promise.all([...reading, asking]);
  await Promise.all(asked);
  for (const snapshot of snapshots) snapshot.close();
  await worker.end('SIGTERM');

  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round(took[Math.floor(took.length * share)] ?? 0);
  process.stdout.write(
    `sync under load: ${seconds.toFixed(1)} s, ${last.message}\n` +
      `/metrics: ${(took.length / seconds).toFixed(0)} a second, median ${at(0.5)} ms, 99 % within ${at(0.99)} ms; ` +
      `readers: ${(answers / seconds).toFixed(0)} answers a second\n`,
  );
  expect(last).toMatchObject({ outcome: 'done' });
  expect([...statuses.keys()]).toEqual([200]);
  expect(answers).toBeGreaterThan(readers);
  expect(worker.ends).toEqual([expect.stringMatching(/^exit 0/)]);
  expect(await pulling.differences()).toEqual([]);
});
