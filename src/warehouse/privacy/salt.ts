import { createHash, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../../base/atomic-file.js';
import { messageOf, StorageError } from '../../base/errors.js';
import { literal } from '../sql.js';
import { unfinished } from '../store/engine.js';
import { saltVariable } from './masks.js';
import type { Policy } from './policy.js';

/** The file with the salt of a data directory, which only its user may read. */
function saltFile(dataDir: string): string {
  return join(dataDir, 'publish.salt');
}

/**
 * The salt of the hashes in masked files: made once, so that the same value has the same hash on every day. Anyone who has
 * it can find out which value a hash stands for.
 */
export function saltOf(dataDir: string): string {
  const path = saltFile(dataDir);
  const found = readSalt(path);
  if (found !== undefined) return found;
  const fresh = join(dataDir, `${unfinished}salt-${process.pid}`);
  try {
    writeFileSync(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    syncFile(fresh);
    // Unlike a rename, it fails when another process was faster; then the salt is the other's.
    linkSync(fresh, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
  const made = readSalt(path);
  if (made === undefined) throw new StorageError(`${path} was removed while it was made`);
  return made;
}

function readSalt(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError(`${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Give this user access to it. Without it, the hashes of masked files would not match those of earlier files.',
      cause: error,
    });
  }
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new StorageError(`${path} is not a salt that signalhouse made`, {
    hint: 'Restore it from a backup. If there is none, delete it: a new one is made, and the hashes in masked files change.',
  });
}

/**
 * The statement after which a connection can run the expressions of `selectList`. Files of different profiles have different
 * hashes: one that is plain in the one file, or that somebody can guess there, is not known in the other.
 */
export function useSalt(salt: string, { profile }: Pick<Policy, 'profile'>): string {
  const own = createHash('sha256').update(`${salt}\n${profile}`).digest('hex');
  return `SET VARIABLE ${saltVariable} = ${literal(own)}`;
}
