import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/app/status.js';
import { Pulling, startTown } from '../support/pulling.js';
import { serve, terminate, until } from '../support/serving.js';
import { Folders, type Running, start } from '../support/signalhouse.js';

const folders = new Folders();
const sizes = { topics: 5, people: 8, companies: 3, messages: 60, stories: 2, templates: 1, channels: 2 };
afterAll(() => folders.remove());

describe('serve', () => {
  it('SIGTERM in the middle of a run commits and publishes; the next start makes up for it', async () => {
    const slow = await startTown({ sizes, latencyMs: [40, 60] });
    try {
      const jobs = [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }];
      const pulling = Pulling.into(folders, slow, { serve: { jobs } });
      const served = await serve(pulling);
      await until(
        async () => slow.stats().requests,
        (requests) => requests > 30,
      );
      const { code } = await terminate(served);
      expect(code).toBe(0);
      expect(existsSync(join(pulling.dataDir, 'signals.duckdb'))).toBe(true);
      const status = JSON.parse((await pulling.start(['status', '--json']).ended).stdout) as StatusReport;
      expect(status.contents?.left?.due).toBeGreaterThan(0);
      expect(status.jobs?.[0]).toMatchObject({
        overdueSince: expect.any(String),
        last: { outcome: 'interrupted', trigger: 'catch-up' },
      });
      // The same, by somebody else's clock.
      const once = await pulling.start(['serve', '--once', '--json']).ended;
      expect(once.code).toBe(0);
      expect(JSON.parse(once.stdout)).toMatchObject({ runs: [{ job: 'nightly', outcome: 'done' }] });
      expect(await pulling.differences()).toEqual([]);
      expect((await pulling.start(['serve', '--once']).ended).stdout).toContain('Nothing is due');
    } finally {
      await slow.stop();
    }
  });
});

/** What a program has printed when it has printed this. */
function printed({ child, ended }: Running, enough: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (part: string) => {
      text += part;
      if (text.includes(enough)) resolve(text);
    });
    void ended.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)));
  });
}

describe('what is printed at the start', () => {
  it('of serve beyond this machine: where it listens, and that there is no login', async () => {
    const town = await startTown({ sizes });
    const jobs = [{ name: 'never', run: 'export', cron: '0 0 1 1 *', catchUp: false }];
    try {
      const pulling = Pulling.into(folders, town, { serve: { jobs } });
      for (const [host, isOpen] of [
        ['0.0.0.0', true],
        ['127.0.0.1', false],
      ] as const) {
        const running = pulling.start(['serve', '--port', '0', '--host', host]);
        const text = await printed(running, 'Ctrl-C');
        expect([host, text.includes('NO LOGIN')]).toEqual([host, isOpen]);
        const [url = ''] = /http:\/\/[\d.]+:\d+/.exec(text) ?? [];
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        if (isOpen) expect(text).toMatch(/serving on 0\.0\.0\.0, port \d+:\n {2}http:\/\/127\.0\.0\.1:\d+\n/);
        running.child.kill('SIGTERM');
        expect((await running.ended).code).toBe(0);
      }
    } finally {
      await town.stop();
    }
  });

  it('of a sandbox with another rate limit: the settings that a client needs to match it', async () => {
    const small = ['--topics', '2', '--people', '2', '--companies', '1', '--messages', '5'];
    const of = async (...args: string[]) => {
      const running = start(['sandbox', '--port', '0', ...small, ...args]);
      const text = await printed(running, 'Ctrl-C');
      running.child.kill('SIGTERM');
      await running.ended;
      return text.split('\n').flatMap((line) => /export SIGNALHOUSE_RATE_LIMIT_(.*)/.exec(line)?.[1] ?? []);
    };
    expect(await of()).toEqual([]);
    expect(await of('--window', '1000')).toEqual(['WINDOW_MS=1000']);
    expect(await of('--rate', '500', '--window', '2000')).toEqual(['REQUESTS=500', 'WINDOW_MS=2000']);
  });
});
