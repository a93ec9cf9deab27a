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
function text(seed: number, bytes: number): string {
  let state = seed + 1;
  const parts: string[] = [];
  for (let length = 0; length < bytes; length += 7) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    parts.push(state.toString(36).padStart(7, '0'));
  }
  return parts.join('').slice(0, bytes);
}

/** Makes messages of the organization large: `count` of those from number `from` on, spread over all conversations. */
function enlarge(from: number, count: number, bytes: number): StoredMessage[] {
  const all = [...sandbox.world.messages.values()];
  const step = Math.floor(all.length / 130);
  const chosen = Array.from(
    { length: count },
    (_, n) => all[((from + n) * step) % all.length] as StoredMessage,
  );
  for (const [n, message] of chosen.entries()) message.content = text(from + n, bytes);
  sandbox.changed();
  return chosen;
}

/** A sync as a process of its own: it must end soon after its last output. */
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
  const took = lastOutput - started;
  expect(performance.now() - lastOutput).toBeLessThan(2_000 + took / 2);
  expect(readdirSync(pulling.dataDir).filter((name) => name.includes('broken'))).toEqual([]);
  const report = JSON.parse(stdout) as SyncReport;
  expect(report.exitCode).toBe(code);
  return report;
}

it.each([
  ['10 KB', 120, 10_000],
  ['100 KB', 120, 100_000],
  ['10 MB', 2, 10_000_000],
])('messages of %s are loaded whole (%d of them)', async (_, count, bytes) => {
  enlarge(0, count, bytes);
  expect(await night()).toMatchObject({ failures: [], exitCode: 0 });
  expect(await pulling.differences()).toEqual([]);
});
