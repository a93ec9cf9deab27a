import { rmSync } from 'node:fs';
import { relative } from 'node:path';
import type { EncryptionKey } from '../base/encryption.js';
import { UsageError } from '../base/errors.js';
import type { Config } from '../config/load.js';
import { ChangeJournal } from '../push/queue.js';
import { isEncrypted, keyFault } from '../warehouse/store/encryption.js';
import { filesOf, logOf, openFile } from '../warehouse/store/engine.js';
import { openWarehouse } from '../warehouse/store/open.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { filesUnder } from './forget-files.js';
import { limitsOf, type Setup } from './setup.js';
import { refuseWithoutWarehouse, type WorkerOptions, waitOf, withWarehouse } from './worker.js';

/**
 * Encrypts everything in the data directory with the key in the settings, or decrypts it where they have none; `old` is the
 * key that encrypts it now, if any does. A call that is killed at any moment is completed by the same call again: what has
 * the new key already is left as it is, and the live file is not `rewritten` then. `left` are database files that still have
 * another key, or none: copies of broken files, for example.
 */
export async function encryptDataDir(
  setup: Setup,
  options: WorkerOptions & { readonly old: EncryptionKey | undefined },
) {
  const { config, log } = setup;
  const { encryptionKey } = config;
  const { old } = options;
  refuseWithoutWarehouse(config.dataDir);
  const open = (key: EncryptionKey | undefined) =>
    openWarehouse({ ...limitsOf(config), encryptionKey: key, log, wait: waitOf(options) });
  const warehouse = await openWithOld(open, old, encryptionKey);
  if (warehouse) await warehouse.encrypt(encryptionKey);
  const published = await withWarehouse(setup, options, async (now) => {
    // The snapshot that holds the changes comes first: a kill before the journal leaves both readable with the old key.
    // The file that it replaces has the old key.
    const done = await now.publish({ keepReplaced: false });
    // The next publication to the lake makes it again, with the new key, and compares every row once.
    const { lake } = filesOf(config.dataDir);
    for (const path of [lake, logOf(lake)]) rmSync(path, { force: true });
    new ChangeJournal(config, log).rewrite((line) => line, { encrypt: { old } });
    return done;
  });
  // Now that the warehouse is closed: closing a handle on a file of it would free its lock.
  return { rewritten: warehouse !== null, published, left: await filesLeft(config) };
}

/** Opens the warehouse with the old key. Null when it has the new one already; then nothing is open. */
async function openWithOld(
  open: (key: EncryptionKey | undefined) => Promise<Warehouse>,
  old: EncryptionKey | undefined,
  encryptionKey: EncryptionKey | undefined,
): Promise<Warehouse | null> {
  try {
    return await open(old);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const done = await open(encryptionKey).catch((other: unknown) => {
      throw oldKeyFault(old ? error : other, old);
    });
    await done.close();
    return null;
  }
}

/** The error of a key that does not fit, in the words of this command: it is the old one that is wrong. */
function oldKeyFault(error: unknown, old: EncryptionKey | undefined): unknown {
  // Without a problem, it is about something else than a key.
  if (!(error instanceof UsageError) || error.problems.length === 0) return error;
  const problem = old ? 'is not the key of this data directory' : 'is required: the key that it has now';
  const hint = 'Nothing was changed. Leave --old-key-file out where nothing is encrypted yet.';
  return new UsageError(error.message, [{ setting: '--old-key-file', problem }], { hint, cause: error });
}

async function filesLeft(config: Config): Promise<string[]> {
  const { dataDir } = config;
  const { worker } = filesOf(dataDir);
  const left: string[] = [];
  for (const path of filesUnder(dataDir)) {
    // Also the log of a broken file, but not that of one that is in use.
    if (path === worker || !/\.duckdb(?:\.broken-.*)?$/.test(path)) continue;
    if (await isLeft(config, path)) left.push(relative(dataDir, path));
  }
  return left.sort();
}

async function isLeft(config: Config, path: string): Promise<boolean> {
  const { dataDir, encryptionKey } = config;
  const encrypted = isEncrypted(path) === true;
  if (!encryptionKey) return encrypted;
  if (!encrypted) return true;
  return openFile(path, { ...limitsOf(config), access: 'read', dataDir }).then(
    (session) => session.close().then(() => false),
    (error: unknown) => keyFault(path, encryptionKey, error) !== undefined,
  );
}
