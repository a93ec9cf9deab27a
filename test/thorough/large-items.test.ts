import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredMessage } from '../../src/sandbox/world/types.js';
import type { SyncReport } from '../../src/sync/report.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

let sandbox: Sandbox;
let pulling: Pulling;
beforeEach(async () => {
  sandbox = await startTown();
  pulling = Pulling.into(folders, sandbox);
});
afterEach(() => sandbox.stop());

/** Text that does not compress, of so many bytes. */
const text = (bytes: number) =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);

/** Makes messages of the organization large: `count` of those from number `from` on, spread over all conversations. */
function enlarge(from: number, count: number, bytes: number): StoredMessage[] {
  const all = [...sandbox.world.messages.values()];
  const step = Math.floor(all.length / 130);
  const chosen = Array.from(
    { length: count },
    (_, n) => all[((from + n) * step) % all.length] as StoredMessage,
  );
  for (const message of chosen) message.content = text(bytes);
  sandbox.changed();
  return chosen;
}

/** A sync as a process of its own, which ends by itself: to end takes no longer than all that came before. */
async function night(): Promise<SyncReport> {
  const started = performance.now();
  const { child, ended } = pulling.start(['sync', '--json']);
  let lastOutput = started;
  const note = () => {
    lastOutput = performance.now();
  };
  child.stdout?.on('data', note);
  child.stderr?.on('data', note);
  const { code, stdout } = await ended;
  expect(performance.now() - lastOutput).toBeLessThan(lastOutput - started);
  expect(readdirSync(pulling.dataDir).filter((name) => name.includes('broken'))).toEqual([]);
  const report = JSON.parse(stdout) as SyncReport;
  expect(report.exitCode).toBe(code);
  return report;
}

it.each([
  ['10 KB', 120, 10_000],
  ['100 KB', 120, 100_000],
  ['1 MB', 40, 1_000_000],
  ['10 MB', 2, 10_000_000],
])('messages of %s are loaded whole (%d of them)', async (_, count, bytes) => {
  enlarge(0, count, bytes);
  expect(await night()).toMatchObject({ failures: [], exitCode: 0 });
  expect(await pulling.differences()).toEqual([]);
});

it('a message of 50 MB is rejected with its size, and everything else is loaded', async () => {
  const [large] = enlarge(0, 1, 50_000_000);
  expect(await night()).toMatchObject({ failures: [], exitCode: 3 });
  const query = 'SELECT DISTINCT id, path, reason, strlen(body) < 100000 AS is_cut FROM ops.rejected_records';
  const { stdout } = await pulling.run(['sql', '--json', query]);
  const reason = expect.stringMatching(/^has 5000\d{4} bytes; at most 16777216 are stored/);
  expect(JSON.parse(stdout)).toEqual([{ id: large?.id, path: 'content', reason, is_cut: true }]);
  const differences = await pulling.differences();
  // Its author may be seen in the conversation through this message alone.
  const isAbout = (one: string) => [large?.id, large?.groupId].some((id) => one.includes(id ?? '-'));
  expect(differences.filter((one) => !isAbout(one))).toEqual([]);
  expect(differences).not.toEqual([]);
  // The next night rejects it again, which is nothing new.
  expect(await night()).toMatchObject({ exitCode: 0 });
});

it('messages of 1 MB that come night after night fit into little memory, and the file always opens', async () => {
  pulling.set({ warehouse: { memoryLimit: '128MB' } });
  await night();
  const known = new Set(sandbox.world.messages.keys());
  let large = 0;
  for (let day = 0; day < 4; day += 1) {
    sandbox.advance(1, { activeTopics: 0.5 });
    const added = [...sandbox.world.messages.values()].filter(({ id }) => !known.has(id));
    for (const message of added) {
      known.add(message.id);
      if (large >= (day + 1) * 8) continue;
      large += 1;
      message.content = text(1_000_000);
    }
    sandbox.changed();
    expect(await night()).toMatchObject({ failures: [], exitCode: 0 });
  }
  expect(large).toBeGreaterThan(16);
  expect(await pulling.differences({ lagging: false })).toEqual([]);
});

it('a page of conversations above api.maxAnswerBytes is read in smaller pages', async () => {
  pulling.set({ api: { maxAnswerBytes: 1_000_000 } });
  const { topics, groups, messages } = sandbox.world;
  // The conversations of one topic fit into an answer, since they have no pages; those of a company do not.
  for (const { id } of topics.values()) {
    const ofTopic = [...groups.values()].filter(({ topicId }) => topicId === id).slice(0, 3);
    for (const { messageIds } of ofTopic) {
      const message = messages.get(messageIds.at(-1) ?? '');
      if (message) message.content = text(200_000);
    }
  }
  sandbox.changed();
  expect(await night()).toMatchObject({ failures: [], exitCode: 0 });
  const query = "SELECT DISTINCT error FROM ops.requests WHERE endpoint = 'groups' AND error IS NOT NULL";
  const { stdout } = await pulling.run(['sql', '--json', query]);
  expect(JSON.parse(stdout)).toEqual([{ error: 'too_large' }]);
  expect(await pulling.differences()).toEqual([]);
});
