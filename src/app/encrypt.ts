import { rmSync } from 'node:fs';
import { basename, relative } from 'node:path';
import type { EncryptionKey } from '../base/encryption.js';
import { UsageError } from '../base/errors.js';
import { reencryptImportCopies } from '../push/import/source.js';
import { MergeJournal } from '../push/merge-journal.js';
import { ChangeJournal } from '../push/queue.js';
import { isEncrypted } from '../warehouse/store/encryption.js';
import { filesOf, logOf } from '../warehouse/store/engine.js';
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
  return withWarehouse(setup, options, async (now) => {
    // The snapshot that holds the changes comes first: a kill before the journal leaves both readable with the old key.
    // The file that it replaces has the old key.
    const published = await now.publish({ keepReplaced: false });
    // The next publication to the lake makes it again, with the new key, and compares every row once.
    const { lake } = filesOf(config.dataDir);
    for (const path of [lake, logOf(lake)]) rmSync(path, { force: true });
    for (const journal of [new ChangeJournal(config, log), new MergeJournal(config)])
      journal.rewrite((line) => line, { encrypt: { old } });
    reencryptImportCopies(config, old);
    return { rewritten: warehouse !== null, published, left: filesLeft(config.dataDir, encryptionKey) };
  });
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
    const done = await open(encryptionKey).catch(() => null);
    // Names the old key: it is the one that is wrong.
    if (done === null) throw error;
    await done.close();
    return null;
  }
}

function filesLeft(dataDir: string, key: EncryptionKey | undefined): string[] {
  return filesUnder(dataDir)
    .filter((path) => basename(path).includes('.duckdb') && isEncrypted(path) === (key === undefined))
    .map((path) => relative(dataDir, path))
    .sort();
}
