import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Folders,
  type SandboxProcess,
  signalhouse,
  start,
  startSandboxProcess,
} from '../support/signalhouse.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/main.js'));

const folders = new Folders();
let sandbox: SandboxProcess;
/** A warehouse that one sync has filled. */
let filled: string;

const env = (dataDir: string, more: Record<string, string> = {}) => ({
  ...sandbox.env,
  SIGNALHOUSE_DATA_DIR: dataDir,
  ...more,
});

/** Sets the faults of the sandbox. */
async function faults(rules: unknown[]): Promise<void> {
  const body = JSON.stringify({ rules, replace: true });
  const headers = { 'content-type': 'application/json' };
  const { ok } = await fetch(`${sandbox.origin}/__sandbox/faults`, { method: 'POST', headers, body });
  if (!ok) throw new Error('the sandbox takes no such faults');
}

/** Settings with which nothing but a signal ends a request that hangs. */
function patient(): string[] {
  const config = join(folders.make(), 'patient.yaml');
  writeFileSync(
    config,
    'api: {timeouts: {firstByteMs: 600000, totalMs: 600000}}\nsync: {shutdownSeconds: 600}',
  );
  return ['--config', config];
}

beforeAll(async () => {
  sandbox = await startSandboxProcess();
  filled = join(folders.make(), 'data');
  await signalhouse(['sync'], { env: env(filled) });
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

describe('sync', () => {
  it('ends in order on SIGTERM: committed, published, summed up', async () => {
    const dataDir = folders.make();
    const slow = { SIGNALHOUSE_RATE_LIMIT_REQUESTS: '20' };
    const { child, ended } = start(['sync', '--json'], { env: env(dataDir, slow) });
    child.stderr?.on('data', (text: string) => {
      if (text.includes('topic (new)')) child.kill('SIGTERM');
    });
    const { code, signal, stdout } = await ended;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    const report = JSON.parse(stdout);
    expect(report.outcome).toBe('stopped');
    expect(report.left.due).toBeGreaterThan(0);
    const { stdout: rows } = await signalhouse(['sql', 'SELECT count(*) AS n FROM topics', '--json'], {
      env: env(dataDir),
    });
    expect(JSON.parse(rows)[0].n).toBeGreaterThan(0);
  });

  it('gives up what is in flight on the second signal', async () => {
    await faults([{ kind: 'hang', match: { route: 'companies' } }]);
    const { child, ended } = start(['sync', '--json', ...patient()], { env: env(folders.make()) });
    let signals = 0;
    child.stderr?.on('data', (text: string) => {
      if (signals === 0 && text.includes('"phase":"companies"')) signals += Number(child.kill('SIGINT'));
      if (signals === 1 && text.includes('finishing what is in flight'))
        signals += Number(child.kill('SIGINT'));
    });
    const { code, stdout } = await ended;
    await faults([]);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'stopped', exitCode: 0 });
    expect({ code, signals }).toEqual({ code: 0, signals: 2 });
  });
});

describe('while a sync runs', () => {
  it('others are told its pid, --wait waits, and the published file can be read', async () => {
    await faults([{ kind: 'hang', match: { route: 'companies' } }]);
    const { child, ended } = start(['sync', '--json', ...patient()], { env: env(filled) });
    await new Promise<void>((resolve) => {
      child.stderr?.on('data', (text: string) => text.includes('"phase":"companies"') && resolve());
    });
    const second = await signalhouse(['sync'], { env: env(filled) });
    expect(second.code).toBe(4);
    expect(second.stderr.replaceAll('\n', ' ')).toContain(`process ${child.pid}`);
    const doctor = await signalhouse(['doctor', '--json'], { env: env(filled) });
    expect(doctor.code).toBe(4);
    const status = JSON.parse((await signalhouse(['status', '--json'], { env: env(filled) })).stdout);
    expect(status.holder).toMatchObject({ pid: child.pid, command: 'signalhouse sync' });
    const read = await signalhouse(['sql', 'SELECT count(*) AS n FROM topics', '--json'], {
      env: env(filled),
    });
    expect(JSON.parse(read.stdout)[0].n).toBeGreaterThan(0);
    const waiting = start(['rebuild', '--wait', '--json'], { env: env(filled) });
    await new Promise<void>((resolve) => {
      waiting.child.stderr?.on('data', (text: string) => text.includes('; waiting') && resolve());
    });
    child.kill('SIGINT');
    child.stderr?.on(
      'data',
      (text: string) => text.includes('again to stop at once') && child.kill('SIGINT'),
    );
    expect((await ended).code).toBe(0);
    expect((await waiting.ended).code).toBe(0);
    await faults([]);
  });
});
