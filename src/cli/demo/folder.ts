import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../base/errors.js';

const marker = '.signalhouse-demo';

/**
 * An empty folder for the demo's files. What an earlier demo left in it is removed; a folder of anybody else's is
 * refused, since nothing tells a demo's warehouse from a real one but the mark that we leave.
 */
export function emptyDemoFolder(path: string): void {
  const names = existsSync(path) ? readdirSync(path) : [];
  if (names.length > 0 && !names.includes(marker)) {
    const problem = `${path} holds files that no demo has made, and the demo starts from nothing`;
    throw new UsageError('The demo needs a folder of its own.', [{ setting: '--data-dir', problem }]);
  }
  for (const name of names) rmSync(join(path, name), { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, marker),
    'Made by `signalhouse demo`, which may remove everything beside this file.\n',
  );
}
