import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { Change } from '../../src/sandbox/world/changes/index.js';
import { dayShape } from '../../src/sandbox/world/types.js';
import type { SyncReport } from '../../src/sync/report.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { testFolder } from '../support/test-folders.js';

/** docs/operations.md, Sizing. */
const documentedPeak = 1024 ** 3;
const nights = Number(process.env.NIGHTS ?? 10);

/** What the image sets for the C library. */
const asInTheImage = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
const peakMemory = fileURLToPath(new URL('./peak-memory.mjs', import.meta.url));

/** A day on which nothing else happens. */
const quiet = Object.fromEntries(Object.keys(dayShape.shape).map((name) => [name, 0]));

let sandbox: Sandbox;
let pulling: Pulling;
afterAll(async () => {
  await sandbox.stop();
});

/** Text that nothing can compress much. */
function text(bytes: number): string {
  return randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);
}

/** Runs a command as a process of its own; returns what it printed, and the most memory that it had. */
async function run(args: readonly string[]): Promise<{ code: number | null; stdout: string; peak: number }> {
  const file = join(testFolder(), 'peak');
  const env = { ...asInTheImage, NODE_OPTIONS: `--import ${peakMemory}`, PEAK_MEMORY_FILE: file };
  const { code, stdout } = await pulling.start(args, env).ended;
  expect(readdirSync(pulling.dataDir).filter((name) => name.includes('broken'))).toEqual([]);
  return { code, stdout, peak: Number(readFileSync(file, 'utf8')) };
}

it(`${nights} nights with 10 MB of long messages each: memory stays as documented, and every text is stored`, async () => {
  sandbox = await startTown({
    sizes: { topics: 12, people: 12, companies: 3, messages: 60, stories: 2 },
    maxPageSize: 5,
  });
  pulling = Pulling.into(sandbox, {
    // What `auto` is there.
    warehouse: { memoryLimit: '429MB' },
  });
  const { world } = sandbox;
  const channelId = [...world.channels.keys()][0] ?? '';
  const sent = new Map<string, string>();
  const peaks: number[] = [];
  // Few and many: each night has 10 MB.
  const counts = [1_000, 100, 10, 2, 1];
  for (let at = 0; at < nights; at += 1) {
    sandbox.advance(1, quiet);
    const topics = [...world.topics.values()].filter(({ graphStatus }) => graphStatus === 'active');
    const topicId = topics[at % topics.length]?.id ?? '';
    const authorId = [...world.authors.keys()][at % world.authors.size] ?? '';
    const add = (kind: 'addGroup' | 'addMessage', fields: object) =>
      (sandbox.change({ kind, ...fields } as Change) as { id: string }).id;
    const count = counts[at % counts.length] as number;
    const groups = Array.from({ length: Math.min(count, 5) }, () => add('addGroup', { channelId, topicId }));
    for (let n = 0; n < count; n += 1) {
      const content = text(10_000_000 / count);
      const id = add('addMessage', { groupId: groups[n % groups.length] ?? '', authorId, content });
      sent.set(id, createHash('md5').update(content).digest('hex'));
    }
    const { code, stdout, peak } = await run(['sync', '--json']);
    const { failures } = JSON.parse(stdout) as SyncReport;
    expect([at, failures, code]).toEqual([at, [], 0]);
    peaks.push(peak);
  }
  const rebuilt = await run(['rebuild', '--json']);
  expect(rebuilt.code).toBe(0);
  peaks.push(rebuilt.peak);
  process.stdout.write(`peaks in MB: ${peaks.map((peak) => Math.round(peak / 1e6)).join(' ')}\n`);
  expect(peaks.filter((peak) => peak > documentedPeak)).toEqual([]);
  const stored = await read(pulling.dataDir, (reader) =>
    reader.rows<{ id: string; hash: string }>('SELECT id, md5(content) AS hash FROM messages'),
  );
  const long = stored.filter(({ id }) => sent.has(id));
  expect(long.filter(({ id, hash }) => sent.get(id) !== hash)).toEqual([]);
  expect(long.length).toBe(sent.size);
  expect(await pulling.differences({ lagging: false, except: ['messages'] })).toEqual([]);
});
