import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/app/status.js';
import { Pulling, startTown } from '../support/pulling.js';
import { serve, terminate, until } from '../support/serving.js';
import { Folders } from '../support/signalhouse.js';

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
