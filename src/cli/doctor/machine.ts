import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { bytes } from '../../base/units.js';
import { type Check, fail, ok, warn } from './check.js';

/** With less than this a sync will not get far. */
const scarce = 100 * 1024 ** 2;
/** With less than this somebody should know. */
const low = 1024 ** 3;

/** Whether the data directory can be written to, and has room. */
export function checkDataDir(dataDir: string): Check[] {
  const there = existsSync(dataDir);
  const nearest = existing(dataDir);
  try {
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is not a directory`);
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch (error) {
    const hint = 'Point SIGNALHOUSE_DATA_DIR at a directory that this user may write to.';
    return [fail('data directory', `${dataDir} cannot be written to: ${messageOf(error)}`, hint)];
  }
  return [
    ok(
      'data directory',
      there ? `${dataDir} can be written to` : `${dataDir} will be made by the first sync`,
    ),
    checkSpace(nearest),
  ];
}

function checkSpace(path: string): Check {
  const { bavail, bsize } = statfsSync(path);
  const free = bavail * bsize;
  const text = `${bytes(free)} free`;
  const hint =
    'Each publish writes the whole snapshot beside the old one: leave three times the size of the warehouse.';
  if (free < scarce) return fail('disk', text, hint);
  return free < low ? warn('disk', text, hint) : ok('disk', text);
}

/** The path itself, or its nearest parent that is there. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}
