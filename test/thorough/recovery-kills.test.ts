import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders, type Running } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
/** What a pull of everything costs that nobody disturbs. */
let whole: number;
beforeAll(async () => {
  sandbox = await startTown({ sizes: { topics: 40, people: 60, messages: 400 }, latencyMs: [5, 15] });
  const undisturbed = Pulling.into(folders, sandbox);
  whole = (await undisturbed.sync()).requests;
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

/** Until the sandbox has seen so many requests more, or the run has ended before. */
async function requestsOf(running: Running, count: number): Promise<void> {
  const target = sandbox.stats().requests + count;
  while (sandbox.stats().requests < target && running.child.exitCode === null) await delay(1);
}

describe('kill -9 in the middle of a pull', () => {
  /** A batch that is being written, the next one that fills meanwhile, and what is in flight. */
  const atRisk = 50 + 50 + 12;
  const lists = 8;

  it('loses nothing, and costs no more than what was not committed', async () => {
    const pulling = Pulling.into(folders, sandbox);
    const before = sandbox.stats().requests;
    // In the lists, in the first children, between batches, near the end: together fewer than the whole, and the last ones
    // more than a kill may cost.
    const moments = [4, 60, 150, 150];
    expect(whole).toBeGreaterThan(moments.reduce((sum, moment) => sum + moment));
    for (const moment of moments) {
      const running = pulling.start(['sync']);
      await requestsOf(running, moment);
      running.child.kill('SIGKILL');
      expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
    }
    const last = await pulling.sync();
    expect({ code: last.code, stderr: last.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await pulling.differences()).toEqual([]);
    const spent = sandbox.stats().requests - before;
    expect(spent).toBeLessThanOrEqual(whole + moments.length * (lists + atRisk));
    // Each run went on from where the one before had been killed.
    expect(last.requests).toBeLessThan(whole);

    const outcomes = await read(pulling.dataDir, (reader) =>
      reader.rows<{ outcome: string }>('SELECT outcome FROM ops.runs ORDER BY started_at'),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      ...moments.slice(0, outcomes.length - 1).map(() => 'interrupted'),
      'done',
    ]);
  });
});

describe('signals and neighbours', () => {
  it('SIGTERM ends the run in order; meanwhile another run is told who is at work, or waits for it', async () => {
    const pulling = Pulling.into(folders, sandbox);
    const running = pulling.start(['sync', '--json']);
    await requestsOf(running, 40);
    const refused = await pulling.start(['sync']).ended;
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain(String(running.child.pid));
    expect(refused.stderr).toContain('--wait');

    const waiting = pulling.start(['sync', '--json', '--wait']);
    await delay(300);
    running.child.kill('SIGTERM');
    const stopped = await running.ended;
    expect(stopped.code).toBe(0);
    const report = JSON.parse(stopped.stdout);
    if (report.outcome === 'stopped') expect(report.left.due).toBeGreaterThan(0);
    expect(report.published.bytes).toBeGreaterThan(100_000);
    expect(report.stoppedBy === null ? 'done' : 'stopped').toBe(report.outcome);

    const waited = await waiting.ended;
    expect(waited.code).toBe(0);
    expect(JSON.parse(waited.stdout)).toMatchObject({ outcome: 'done', left: { due: 0 } });
    expect(await pulling.differences()).toEqual([]);
  });
});
