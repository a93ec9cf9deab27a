import { closeSync, openSync, readSync } from 'node:fs';
import { type EncryptionKey, noKey, otherKey, wrongKey } from '../../base/encryption.js';
import { messageOf, type UsageError } from '../../base/errors.js';
import { loadExtension } from './extensions.js';

/**
 * DuckDB encrypts a database file, its log and what it spills with AES-256-GCM. Its own cryptography can only read: for
 * writing, the extension httpfs brings OpenSSL. DuckDB has an unsafe mode without it, which this program never uses.
 */

/** Makes a database in memory ready for encrypted files, before the first one is attached. Throws UsageError without httpfs. */
export async function prepareEncryption(
  connection: { run(sql: string): Promise<unknown> },
  extensionDirectory: string | null | undefined,
): Promise<void> {
  await loadExtension(connection, 'httpfs', { extensionDirectory, purpose: 'encryption' });
  await connection.run('SET GLOBAL temp_file_encryption = true');
}

/**
 * Why a file could not be opened, if its encryption is the reason: as a UsageError that says which key is wrong. Call it only
 * while this process does not have the file open: closing a handle on it frees DuckDB's lock.
 */
export function keyFault(
  path: string,
  key: EncryptionKey | undefined,
  error: unknown,
): UsageError | undefined {
  const encrypted = isEncrypted(path);
  if (encrypted && !key) return noKey(path, error);
  // DuckDB compares a part of the header that it encrypted when the file was made.
  if (encrypted && messageOf(error).includes('Wrong encryption key')) return otherKey(path, error);
  if (encrypted !== false || !key) return undefined;
  return wrongKey(`${path} is not encrypted, although a key is set`, {
    problem: 'is set for a data directory that is not encrypted',
    hint: 'Nothing was changed. Encrypt what is there with signalhouse encrypt.',
    cause: error,
  });
}

/** Whether a database file is encrypted; undefined when it is missing or is not one. */
export function isEncrypted(path: string): boolean | undefined {
  return headerOf(path)?.isEncrypted;
}

/**
 * The main header of a DuckDB file, which is in plain bytes: a checksum of 8, `DUCK`, the version of the file's format (8
 * bytes), then flags, of which the first bit tells whether it is encrypted. Undefined when it is missing or is not one. Call
 * it only while this process does not have the file open, as `keyFault`.
 */
export function headerOf(
  path: string,
): { readonly format: bigint; readonly isEncrypted: boolean } | undefined {
  const header = Buffer.alloc(28);
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const read = readSync(handle, header, 0, header.length, 0);
    if (read < header.length || header.toString('latin1', 8, 12) !== 'DUCK') return undefined;
    return { format: header.readBigUInt64LE(12), isEncrypted: (header.readBigUInt64LE(20) & 1n) === 1n };
  } finally {
    closeSync(handle);
  }
}
