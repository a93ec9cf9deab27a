import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Status, statuses } from '../../src/push/change.js';
import { readQueue } from '../../src/push/queue.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { Pulling, startTown } from '../support/pulling.js';
import { newChange } from '../support/pushing.js';
import { Folders } from '../support/signalhouse.js';
import { keepOn, queueBeside, Worker } from './worker.js';

/** A week, squeezed: a day takes a minute. `SOAK_MINUTES=2` is two days. */
const days = Math.max(1, Math.round(Number(process.env.SOAK_MINUTES ?? 7)));
const dayMs = 60_000;
const seed = Number(process.env.SOAK_SEED ?? 1);

/** The same choices for the same seed. */
function chooser(): <T>(from: readonly T[]) => T {
  let state = seed;
  return (from) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return from[Math.floor((state / 2 ** 31) * from.length)] as never;
  };
}
const choose = chooser();

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
beforeAll(async () => {
  // A minute of the service in a second: 120 requests, as in real life.
  sandbox = await startTown({
    sizes: { topics: 60, people: 90, companies: 12, messages: 900 },
    rate: { requests: 120, windowMs: 1_000 },
    latencyMs: [1, 10],
  });
  const settings = {
    serve: {
      jobs: [
        { name: 'nightly', run: 'sync+push', cron: '0 * * * * *', maxMinutes: 0.8 },
        { name: 'decisions', run: 'push', cron: '15,30,45 * * * * *', overlap: 'skip' },
      ],
      freshness: { topics: 1, people: 1, companies: 1 },
    },
  };
  pulling = Pulling.into(folders, sandbox, settings);
  pulling.env.SIGNALHOUSE_RATE_LIMIT_REQUESTS = '120';
  pulling.env.SIGNALHOUSE_RATE_LIMIT_WINDOW_MS = '1000';
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const megabytes = (name: string) => {
  const path = join(pulling.dataDir, name);
  return existsSync(path) ? statSync(path).size / 1e6 : 0;
};
const open = () =>
  [...sandbox.world.topics.values()].filter(
    ({ graphStatus, migrated }) => graphStatus === 'active' && !migrated,
  );
const priorities = ['low', 'default', 'high'] as const;

/** A colleague in the product itself, who does what people do there all day. */
function colleague(): void {
  const topic = choose(open());
  const company = choose([...sandbox.world.companies.values()]);
  const deeds = [
    () =>
      sandbox.change({
        kind: 'patchTopic',
        topicId: topic.id,
        fields: { priority: choose(['low', 'high']) },
      }),
    () => sandbox.change({ kind: 'patchTopic', topicId: topic.id, fields: { title: `${topic.title}.` } }),
    () => sandbox.change({ kind: 'createTopic', title: `Found on day ${Date.now() % 1e6}` }),
    () => sandbox.change({ kind: 'patchCompany', companyId: company.id, fields: { isVip: !company.isVip } }),
  ];
  choose(deeds)();
}

/** An analyst, who queues a handful of decisions beside the worker. */
async function analyst(): Promise<number> {
  const known = [...new Map([1, 2, 3, 4].map(() => choose(open())).map((one) => [one.id, one])).values()];
  const wishes = known.map(({ id, priority }) => {
    const wanted = choose(priorities.filter((one) => one !== priority));
    return newChange({ topic: id, wanted: { priority: wanted }, base: { priority } });
  });
  return queueBeside(pulling.dataDir, wishes);
}

it(
  `${days} days with faults, colleagues and a kill a day: everything arrives, once, and nothing grows`,
  async () => {
    const worker = new Worker(pulling);
    const over = new AbortController();
    const memory: number[] = [];
    const files: number[] = [];
    let queued = 0;
    sandbox.addFaults([
      { match: {}, kind: 'status', status: 503, probability: 0.02 },
      { match: {}, kind: 'reset', probability: 0.01 },
      { match: {}, kind: 'commit-then-drop', probability: 0.01 },
      { match: {}, kind: 'truncate', bytes: 20, probability: 0.01 },
    ]);
    await worker.start();
    const others = [
      keepOn(over.signal, () => 700 + choose([0, 300, 900]), colleague),
      keepOn(
        over.signal,
        () => 4_000 + choose([0, 3_000]),
        async () => {
          if (megabytes('signals.duckdb') > 0) queued += await analyst();
        },
      ),
      keepOn(
        over.signal,
        () => 1_000,
        async () => {
          const used = await worker.memory().catch(() => null);
          if (used !== null) memory.push(used);
        },
      ),
    ];
    for (let day = 1; day <= days; day += 1) {
      const until = Date.now() + dayMs;
      await delay(choose([0.2, 0.4, 0.6, 0.8]) * dayMs);
      await worker.end('SIGKILL');
      await worker.start();
      await delay(Math.max(0, until - Date.now()));
      files.push(megabytes('worker.duckdb'));
      const { tooManyRequests, requests, faults } = sandbox.stats();
      process.stdout.write(
        `day ${day}: ${requests} requests, ${tooManyRequests} answered 429, faults ${JSON.stringify(faults)}, ` +
          `${queued} changes queued, ${Math.round(memory.at(-1) ?? 0)} MB of memory, ${files.at(-1)?.toFixed(1)} MB of file\n`,
      );
    }
    over.abort();
    await Promise.all(others);
    await worker.end('SIGTERM');
    const storm = sandbox.stats();
    sandbox.clearFaults();

    // Two quiet nights: what a fault left over, and what the last push did.
    expect((await pulling.start(['push']).ended).code).toBeOneOf([0, 3]);
    for (let night = 0; night < 2; night += 1) expect((await pulling.sync()).code).toBeOneOf([0, 3]);
    expect(await pulling.differences({ lagging: false })).toEqual([]);

    // Killed as often as it was, ended in order at the end, and never by itself.
    expect(worker.ends).toEqual([
      ...Array.from({ length: days }, () => 'SIGKILL'),
      expect.stringMatching(/^exit 0/),
    ]);
    const changes = await readQueue(null, pulling);
    const having = (status: Status) => changes.filter((one) => one.status === status);
    const counts = statuses.flatMap((status) => {
      const { length } = having(status);
      return length === 0 ? [] : [`${length} ${status}`];
    });
    process.stdout.write(`changes: ${counts.join(', ')}\n`);
    expect(changes).toHaveLength(queued);
    expect(queued).toBeGreaterThan(0);
    expect(having('applied').length).toBeGreaterThan(0);
    for (const status of ['queued', 'sending', 'failed'] as const) expect(having(status)).toEqual([]);
    // Each key was executed once, and every change that was applied has its key among them.
    const executed = sandbox.writes().flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
    expect(new Set(executed).size).toBe(executed.length);
    for (const { idempotencyKey } of having('applied')) expect(executed).toContain(idempotencyKey);

    // No storm: the budget is kept over kills, up to what a kill makes unknowable.
    expect(storm.tooManyRequests).toBeLessThanOrEqual(days * 2);
    expect(storm.mostInAnyWindow).toBeLessThanOrEqual(120 + days);
    if (days >= 4) {
      const half = Math.floor(memory.length / 2);
      const peak = (some: readonly number[]) => Math.max(...some);
      expect(peak(memory.slice(half))).toBeLessThan(1.25 * peak(memory.slice(0, half)) + 20);
      expect(files.at(-1)).toBeLessThan(1.5 * (files[Math.floor(days / 2) - 1] ?? 0) + 5);
    }
    // A day takes a minute; the pulls at the end take the rest.
  },
  (days + 10) * 60_000,
);
