import { mkdirSync } from 'node:fs';
import { silentLog } from '../../../src/base/log.js';
import type { Setup } from '../../../src/commands/setup.js';
import { loadConfig } from '../../../src/config/load.js';
import { settings } from '../../../src/config/schema.js';

/** What a command has, for a data directory, with settings over the defaults. Its clock stands still. */
export function setupOf(
  dataDir: string,
  over: object = {},
  now = Date.now(),
  sleep: () => Promise<void> = () => new Promise(() => undefined),
): Setup {
  mkdirSync(dataDir, { recursive: true });
  const config = { ...loadConfig({ env: {} }), ...settings.parse(over), dataDir };
  const clock = { now: () => now, monotonic: () => now, sleep };
  return { config, log: silentLog, programVersion: '1.2.3', clock };
}
