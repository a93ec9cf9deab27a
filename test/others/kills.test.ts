import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWarehouse } from '../../src/load/open.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { killedAt, type Moment } from '../support/killed-at.js';
import { Pulling, startTown } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

/**
 * A process that is really killed, at one point of each kind: what the operating system and DuckDB leave behind is not
 * what the simulation copies. That everything converges, whenever it is killed, is shown there.
 */
interface KillPoint {
  readonly name: string;
  /** An empty data directory, one of yesterday, or that with garbage as its live file. */
  readonly from: 'nothing' | 'yesterday' | 'garbage';
  readonly at: Moment;
  /** Whether the live file is compacted before it is published, however little of it is unused. */
  readonly compacts?: true;
}

const killPoints: readonly KillPoint[] = [
  {
    name: 'migration: after COMMIT, before CHECKPOINT',
    from: 'nothing',
    at: { call: 'run', match: '^CHECKPOINT$', when: 'before' },
  },
  {
    name: 'batch: within the CHECKPOINT after a COMMIT',
    from: 'yesterday',
    at: { call: 'run', match: '^CHECKPOINT$', nth: 2, when: 'within', ms: 10, foldsLog: true },
  },
  {
    name: 'publish: before the rename',
    from: 'yesterday',
    at: { call: 'renameSync', match: 'signals.duckdb$', when: 'before' },
  },
  {
    name: 'compact: after the rename, both files open',
    from: 'yesterday',
    at: { call: 'renameSync', match: 'compact.* -> .*worker.duckdb$', when: 'after' },
    compacts: true,
  },
  {
    name: 'restore: moved aside, nothing in its place',
    from: 'garbage',
    at: { call: 'renameSync', match: 'restore.* -> .*worker.duckdb$', when: 'before' },
  },
];

/** Small batches, so that there is a second and a third one. */
const tuning = { batch: { megabytes: 5, answers: 5, seconds: 5 }, concurrency: 2 };
let sandbox: Sandbox;
let yesterday: Pulling;
beforeAll(async () => {
  const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
  sandbox = await startTown({ sizes });
  yesterday = Pulling.into(sandbox);
  expect(await yesterday.sync()).toMatchObject({ code: 0 });
  sandbox.advance(3, { activeTopics: 0.8, edits: 0.05, archives: 0.2 });
});
afterAll(async () => {
  await sandbox.stop();
});

/** What may stand in a data directory between two runs. */
const kept = /^(signals\.duckdb|worker\.duckdb(\.broken-.*)?|spending\.log)$/;
const isLive = (name: string) => /^worker\.duckdb(\.wal.*)?$/.test(name);

/** When each child was fetched, as the next run would see it: in a copy, so that the file stays as the kill left it. */
async function fetchedIn(dataDir: string): Promise<Map<string, number>> {
  const copy = testFolder();
  for (const name of readdirSync(dataDir).filter(isLive)) copyFileSync(join(dataDir, name), join(copy, name));
  const warehouse = await openWarehouse({ dataDir: copy, memoryLimit: '256MB', threads: 1 });
  expect(warehouse.restored).toBeNull();
  expect(await warehouse.checkKeys()).toEqual([]);
  const rows = await warehouse.all<{ child: string; at: number }>(
    "SELECT endpoint || ' ' || entity_id AS child, epoch_ms(fetched_at) AS at FROM ops.coverage",
  );
  await warehouse.close();
  return new Map(rows.map(({ child, at }) => [child, Number(at)]));
}

const published = (dataDir: string) => {
  const path = join(dataDir, 'signals.duckdb');
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
};

it.each(killPoints)(
  'kill -9 from $from, $name: no file breaks, and what was committed is not fetched again',
  async ({ from, at, compacts }) => {
    const pulling = Pulling.into(sandbox);
    pulling.isBroken = from === 'garbage';
    const { dataDir } = pulling;
    if (from !== 'nothing') cpSync(yesterday.dataDir, dataDir, { recursive: true });
    if (from === 'garbage') writeFileSync(join(dataDir, 'worker.duckdb'), 'garbage '.repeat(40_000));
    const before = published(dataDir);
    pulling.tuning = {
      ...tuning,
      ...(compacts && { compactWhen: { freeShare: -1, freeMegabytes: -1_000 } }),
    };
    const started = Date.now();
    const { signal, code, stderr } = await pulling.start(['sync'], killedAt(at)).ended;
    // A program that ends otherwise has never come to that point: its name is out of date.
    expect({ signal, code, stderr }).toMatchObject({ signal: 'SIGKILL' });
    // What is compacted was published before.
    if (!compacts) expect(published(dataDir).equals(before)).toBe(true);
    const committed = from === 'garbage' ? new Map<string, number>() : await fetchedIn(dataDir);

    expect(await pulling.sync()).toMatchObject({ code: 0, report: { left: { due: 0 } } });
    const fetched = await fetchedIn(dataDir);
    const again = [...committed].filter(([child, time]) => time >= started && fetched.get(child) !== time);
    expect(again).toEqual([]);
    expect(readdirSync(dataDir).filter((name) => !kept.test(name))).toEqual([]);
    expect(await pulling.differences()).toEqual([]);
  },
);
