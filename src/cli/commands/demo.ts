import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { UsageError } from '../../base/errors.js';
import { duration } from '../../base/units.js';
import { command } from '../command.js';
import { Children, DemoError, play, squeezed } from '../demo/play.js';
import { answer, print } from '../output.js';
import { untilSignal } from '../signals.js';

export const demo = command({
  name: 'demo',
  summary: 'Show pulls, queries, a push from a spreadsheet and a report; no API key, no network',
  examples: [
    ['signalhouse demo', 'Takes under a minute; its files stay in ./data/demo'],
    ['signalhouse demo --data-dir /tmp/demo', 'Use another directory'],
  ],
  flags: {},
  async run(_flags, context) {
    const { json, sources } = context;
    const { flags = [], cwd = process.cwd() } = sources;
    const given = flags.length > 0 ? flags : [{ path: 'dataDir', flag: '--data-dir', value: 'data/demo' }];
    const { loadConfig } = await import('../../config/load.js');
    const { dataDir } = loadConfig({ env: {}, flags: given, cwd });
    emptyDemoFolder(dataDir);
    const stop = new AbortController();
    void untilSignal().then(() => stop.abort(new DemoError('The demo was stopped.')));
    const env = {
      SIGNALHOUSE_DATA_DIR: dataDir,
      SIGNALHOUSE_RATE_LIMIT_REQUESTS: String(squeezed.requests),
      SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: String(squeezed.windowMs),
      SIGNALHOUSE_LOG_LEVEL: 'warn',
      COLUMNS: String((process.stdout.columns || 80) - 2),
    };
    const children = new Children(env, stop.signal);
    const started = performance.now();
    try {
      const played = await play(children, dataDir, json ? null : print);
      const ms = performance.now() - started;
      const result = { ...played, dataDir, seconds: Math.round(ms / 100) / 10 };
      return answer(context, result, () => farewell(relative(cwd, dataDir) || '.', ms));
    } finally {
      await children.close();
    }
  },
});

function farewell(dataDir: string, ms: number): string {
  return `
The demo took ${duration(ms)}. Its files stay; to look at them:
  ${dataDir}/report.html      (open it in a browser)
  npx signalhouse sql --data-dir ${dataDir} "SELECT * FROM topics LIMIT 5"
  npx signalhouse status --data-dir ${dataDir}
  duckdb -readonly ${dataDir}/signals.duckdb      (if you have DuckDB's program)
For a real organization, see "Real use" in README.md.`;
}

const marker = '.signalhouse-demo';

/**
 * Makes an empty folder for the demo. Files of an earlier demo are removed. A folder without the demo's marker file is
 * refused: it might hold a real warehouse.
 */
export function emptyDemoFolder(path: string): void {
  const names = existsSync(path) ? readdirSync(path) : [];
  if (names.length > 0 && !names.includes(marker)) {
    const problem = `${path} contains files that the demo did not create`;
    throw new UsageError('The demo needs a directory of its own.', [{ setting: '--data-dir', problem }]);
  }
  for (const name of names) rmSync(join(path, name), { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, marker),
    'Created by `signalhouse demo`. The next demo removes everything in this directory.\n',
  );
}
