import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Pulling, townOfFile } from '../support/pulling.js';
import { printed, type Running } from '../support/signalhouse.js';
import { canMount, SmallDisk } from '../support/small-disk.js';
import { testFolder } from '../support/test-folders.js';

// What only processes and disks show: signals, locks, kill -9, a full disk. That nothing is lost whenever a kill comes is
// shown by the simulation, and what each costs by test/others/kills.test.ts.

const { sandbox } = await townOfFile({ holds: 'nothing' });
afterEach(() => sandbox.clearFaults());

/** Nothing but a second signal ends a request that hangs, but for its own time. */
const patient = { shutdownSeconds: 600 };
const hang = { kind: 'hang', match: { route: 'companies' } } as const;

const said = (running: Running, text: string) => printed(running, text, 'stderr');

describe('signals', () => {
  it('SIGTERM ends a run in order: committed, published, summed up', async () => {
    const pulling = Pulling.into(sandbox);
    const slow = { SIGNALHOUSE_RATE_LIMIT_REQUESTS: '20', SIGNALHOUSE_LOG_LEVEL: 'info' };
    const running = pulling.start(['sync', '--json'], slow);
    await said(running, 'topic (new)');
    running.child.kill('SIGTERM');
    const { code, signal, stdout } = await running.ended;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ outcome: 'stopped', published: { bytes: expect.any(Number) } });
    expect(report.left.due).toBeGreaterThan(0);
    const [count] = await pulling.rows<{ n: number }>('SELECT count(*) AS n FROM topics');
    expect(count?.n).toBeGreaterThan(0);
  });

  it('while a sync runs, others are told its pid, and --wait waits; a second signal gives up what is in flight', async () => {
    const pulling = await Pulling.filled(sandbox);
    const copy = testFolder();
    cpSync(pulling.dataDir, copy, { recursive: true });
    pulling.set(patient);
    sandbox.addFaults([hang]);
    const running = pulling.start(['sync', '--json'], { SIGNALHOUSE_LOG_LEVEL: 'info' });
    const { child } = running;
    await said(running, '"phase":"companies"');
    const second = await pulling.run(['sync']);
    expect(second.code).toBe(4);
    expect(second.stderr.replaceAll('\n', ' ')).toContain(`process ${child.pid}`);
    expect(second.stderr).toContain('--wait');
    expect((await pulling.run(['doctor', '--json'])).code).toBe(4);
    const restoring = await pulling.run(['restore', copy, '--replace']);
    expect([restoring.code, restoring.stderr]).toEqual([4, expect.stringContaining('Nothing was changed')]);
    // It has no such flag.
    expect(restoring.stderr).not.toContain('--wait');
    const status = JSON.parse((await pulling.run(['status', '--json'])).stdout);
    expect(status.holder).toMatchObject({ pid: child.pid, command: 'signalhouse sync' });
    expect((await pulling.run(['sql', 'SELECT count(*) FROM topics', '--json'])).code).toBe(0);
    const waiting = pulling.start(['rebuild', '--wait', '--json'], { SIGNALHOUSE_LOG_LEVEL: 'info' });
    await said(waiting, '; waiting');
    child.kill('SIGINT');
    await said(running, 'finishing what is in flight');
    child.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { outcome: 'stopped', exitCode: 0 }]);
    expect((await waiting.ended).code).toBe(0);
  });
});

it('a live file that does not open is moved aside and restored, and the run goes on and says so', async () => {
  const pulling = await Pulling.filled(sandbox);
  const path = join(pulling.dataDir, 'worker.duckdb');
  const broken = Buffer.alloc(300_000, 'not a database ');
  writeFileSync(path, broken);
  pulling.isBroken = true;
  const { code, report, stderr, requests } = await pulling.sync();
  expect(code).toBe(0);
  expect(stderr).toContain('restored from the snapshot');
  const note = report.notes.find((one) => one.includes('worker.duckdb could not be opened'));
  expect(readFileSync(/is now (\S+);/.exec(note ?? '')?.[1] ?? '').equals(broken)).toBe(true);
  // The snapshot is as new as the end of the last run: the lists are read, and nothing is fetched again.
  expect(requests).toBeLessThan(20);
  expect(await pulling.differences()).toEqual([]);
});

describe.runIf(canMount)('a full disk', () => {
  it.each([
    ['loading', 60_000],
    ['publishing', 3_000_000],
  ])('while %s: it is said, no file breaks, and with room the next run goes on', async (_, free) => {
    const filled = await Pulling.filled(sandbox);
    await filled.age();
    const disk = new SmallDisk(128);
    try {
      const pulling = new Pulling(sandbox, join(disk.path, 'data'));
      cpSync(filled.dataDir, pulling.dataDir, { recursive: true });
      const published = () => readFileSync(join(pulling.dataDir, 'signals.duckdb'));
      const before = published();
      disk.fill(free);
      const { code, stdout } = await pulling.start(['sync', '--json']).ended;
      expect(JSON.parse(stdout).error).toMatchObject({
        name: 'StorageError',
        message: expect.stringMatching(/^the disk that holds .* is full/),
        hint: expect.stringContaining('Free some space'),
      });
      expect(code).toBe(1);
      expect(published().equals(before)).toBe(true);
      disk.empty();
      expect(await pulling.sync()).toMatchObject({ code: 0 });
      expect(await pulling.differences()).toEqual([]);
    } finally {
      disk.remove();
    }
  });
});
