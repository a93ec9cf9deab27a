import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { RefusedError } from '../../../src/base/errors.js';
import { silentLog } from '../../../src/base/log.js';
import { withMetricsFile } from '../../../src/commands/metrics-file.js';
import type { Setup } from '../../../src/commands/setup.js';
import { loadConfig } from '../../../src/config/load.js';
import { SimulatedClock } from '../../support/simulated-clock.js';
import { testFolder } from '../../support/test-folders.js';

/** As main.ts does, before it writes anything. */
beforeAll(() => void process.umask(0o077));

function setup() {
  const folder = testFolder();
  const configFile = join(folder, 'settings.yaml');
  const path = join(folder, 'signals-acme.prom');
  writeFileSync(
    configFile,
    `dataDir: ${folder}\nserve: {metricsFile: ${join(folder, 'signals.prom')}}\norganizations: [{name: acme}]\n`,
  );
  const clock = new SimulatedClock();
  clock.wallAheadMs = 1_800_000_000_000;
  const made: Setup = {
    config: loadConfig({ env: {}, configFile }),
    log: silentLog,
    programVersion: '1.2.3',
    clock,
  };
  const lines = () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => /^signalhouse_(runs_total|last_|ready|disk|lake)/.test(line))
      .map((line) => line.replace(/^signalhouse_/, '').replace(/,?organization="acme"/, ''));
  return { made, path, clock, lines };
}

it('has the last success and the exit code of each command, and goes on counting from the file before', async () => {
  const { made, path, clock, lines } = setup();
  await withMetricsFile(made, 'sync', async () => ({ exitCode: 0 as const }));
  clock.skip(60_000);
  await withMetricsFile(made, 'push', async () => ({ exitCode: 3 as const }));
  clock.skip(60_000);
  const refused = withMetricsFile(made, 'sync', () => Promise.reject(new RefusedError('no')));
  await expect(refused).rejects.toThrow('no');
  await withMetricsFile(made, 'lake', async () => ({ exitCode: 0 as const }));
  expect(lines()).toEqual(
    expect.arrayContaining([
      'runs_total{job="sync",outcome="done"} 1',
      'runs_total{job="sync",outcome="failed"} 1',
      'runs_total{job="push",outcome="incomplete"} 1',
      'last_success_timestamp_seconds{job="sync"} 1800000000',
      'last_success_timestamp_seconds{job="push"} 0',
      'last_exit_code{job="sync"} 5',
      'last_exit_code{job="push"} 3',
      'lake_published_timestamp_seconds{} 1800000120',
    ]),
  );
  expect(lines().some((line) => line.startsWith('disk_free_bytes'))).toBe(true);
  const text = readFileSync(path, 'utf8');
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(series.filter((line) => !line.includes('organization="acme"'))).toEqual([]);
  // An age that stands still would never be too old, and another user reads it.
  expect(text).not.toContain('freshness_seconds{');
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

it('reads the labels of the file before as they were meant, whatever the slug of the organization', async () => {
  const { made } = setup();
  const path = join(testFolder(), 'alone.prom');
  const { config } = made;
  const alone = {
    ...made,
    config: { ...config, organization: null, serve: { ...config.serve, metricsFile: path } },
  };
  const series = (runs: number) =>
    `signalhouse_runs_total{job="sync",outcome="done",organization="a\\"b\\\\c\\n, \\\\n"} ${runs}\n`;
  writeFileSync(path, series(4));
  await withMetricsFile(alone, 'sync', async () => ({ exitCode: 0 as const }));
  await withMetricsFile(alone, 'sync', async () => ({ exitCode: 0 as const }));
  expect(readFileSync(path, 'utf8')).toContain(series(6));
});
