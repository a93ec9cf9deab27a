import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import { read } from '../support/published.js';
import { Pulling, startTown, town } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startTown({ sizes: town });
});
afterEach(() => sandbox.clearFaults());
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('caps', () => {
  it('--max-requests is never passed, and run after run completes the warehouse', async () => {
    // More attempts than there are faults: a topic may be hit by several of them.
    const pulling = Pulling.into(folders, sandbox, { api: { retry: { attempts: 9 } } });
    const caps = [3, 160, 160, 160, 160];
    let left = Number.POSITIVE_INFINITY;
    let runs = 0;
    // An attempt that fails costs as much as one that does not.
    sandbox.addFaults([
      { match: { route: 'topic' }, kind: 'status', status: 503, probability: 0.2, times: 8 },
    ]);
    while (left > 0) {
      const cap = caps[runs] as number;
      const { code, report, requests } = await pulling.sync(['--max-requests', String(cap)]);
      runs += 1;
      expect(code).toBe(0);
      expect(requests).toBeLessThanOrEqual(cap);
      left = report.left.due;
      if (runs === 1) {
        // Cut in the middle of the lists, nothing is known of the rest: it says that it was stopped.
        expect(report.outcome).toBe('stopped');
        left = 1;
      }
      if (report.outcome === 'stopped') {
        expect(report.stoppedBy).toContain(`--max-requests ${cap}`);
        expect(requests).toBe(cap);
      }
    }
    expect(runs).toBeGreaterThan(2);
    expect(runs).toBeLessThanOrEqual(5);
    expect(await pulling.differences()).toEqual([]);
  });

  it('--max-minutes stops in order, with everything committed', async () => {
    const slow = await startTown({ sizes: town, latencyMs: [80, 120] });
    try {
      const pulling = Pulling.into(folders, slow);
      const { code, report } = await pulling.sync(['--max-minutes', '0.03']);
      expect(code).toBe(0);
      expect(report).toMatchObject({
        outcome: 'stopped',
        stoppedBy: expect.stringContaining('--max-minutes 0.03'),
      });
      expect(report.left.due).toBeGreaterThan(0);
      expect(existsSync(join(pulling.dataDir, 'signals.duckdb'))).toBe(true);
    } finally {
      await slow.stop();
    }
  });

  it('--only reads a list and its children, or one endpoint of what is known', async () => {
    const pulling = Pulling.into(folders, sandbox);
    const { code, seen } = await pulling.sync(['--only', 'companies']);
    expect(code).toBe(0);
    expect(Object.keys(seen).sort()).toEqual(
      [
        'whoami',
        'companies',
        'company',
        'company_activity',
        'groups',
        'company_identities',
        'company_history',
      ].sort(),
    );
    // Nothing but companies was asked for: nothing else may be held to be missing.
    expect((await pulling.sync(['--only', 'channel,stories'])).seen).toMatchObject({ stories: 2, story: 6 });
    const only = await pulling.sync(['--only', 'company_activity']);
    expect([only.code, only.seen]).toEqual([0, { whoami: 1 }]);
  });
});

describe('keys', () => {
  it('one that is refused leaves nothing behind', async () => {
    const pulling = Pulling.into(folders, sandbox);
    for (const key of ['svc_nobody', 'svc_revoked', 'svc_expired']) {
      const { code, stdout, stderr } = await pulling.start(['sync'], { SIGNALHOUSE_API_KEY: key }).ended;
      expect(code).toBe(5);
      expect(stderr).toContain('SIGNALHOUSE_API_KEY');
      expect(stdout + stderr).not.toContain(key);
      expect(existsSync(pulling.dataDir)).toBe(false);
    }
  });

  it('one that is refused in the middle ends the run, and what was committed stays; another organization writes nothing', async () => {
    const pulling = Pulling.into(folders, sandbox);
    // A key that is revoked meanwhile: whoami refuses it as well.
    sandbox.addFaults([
      { match: { route: 'person' }, after: 5, kind: 'status', status: 401 },
      { match: { route: 'whoami' }, after: 1, kind: 'status', status: 401 },
    ]);
    const { code, report } = await pulling.sync();
    expect(code).toBe(5);
    expect(report).toMatchObject({ outcome: 'failed' });
    expect(report.failures.at(-1)?.message).toContain('401');
    const [kept] = await read(pulling.dataDir, (reader) =>
      reader.rows<{ topics: number; details: number; messages: number }>(
        `SELECT (SELECT count(*) FROM topics) AS topics, (SELECT count(*) FROM messages) AS messages,
           (SELECT count(*) FROM topics WHERE created_at IS NOT NULL) AS details`,
      ),
    );
    expect(kept).toMatchObject({ topics: 29, details: 28 });
    expect(kept?.messages).toBeGreaterThan(100);

    const worker = join(pulling.dataDir, 'worker.duckdb');
    const before = digest(worker);
    sandbox.clearFaults();
    const other = await pulling.start(['sync'], { SIGNALHOUSE_API_KEY: 'svc_other_organization' }).ended;
    expect(other.code).toBe(5);
    expect(other.stderr).toContain('Another Organization');
    expect(digest(worker)).toBe(before);

    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await pulling.differences()).toEqual([]);
  });
});
