import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { StorageError, UsageError } from './errors.js';

/** A data directory, and the key that encrypts what is in it; none where nothing is encrypted. */
export interface DataDir {
  readonly dataDir: string;
  readonly encryptionKey?: EncryptionKey | undefined;
}

/**
 * Sealed bytes are: these 8, the id of the key (4 bytes), a nonce (12 bytes), the encrypted bytes, and a tag (16 bytes). No
 * text and no workbook begins like that.
 */
const magic = Buffer.from('\x89SHE1\r\n\x1a', 'latin1');
const [idBytes, nonceBytes, tagBytes] = [4, 12, 16];
const overhead = magic.length + idBytes + nonceBytes + tagBytes;

/** A sealed line begins with this; the sealed bytes follow as Base64. */
const linePrefix = 'sealed:';

/**
 * The key that encrypts the data directory. DuckDB gets its text, for the database files; the files that we write ourselves
 * are sealed with AES-256-GCM under another key that is derived from the text (HKDF-SHA256). The text is private: neither
 * JSON nor a log nor an error has it.
 */
export class EncryptionKey {
  readonly #text: string;
  readonly #derived: Buffer;
  /** Tells keys apart without telling anything about them. */
  readonly #id: Buffer;

  constructor(text: string) {
    this.#text = text;
    this.#derived = Buffer.from(hkdfSync('sha256', text, '', 'signalhouse files', 32));
    this.#id = Buffer.from(hkdfSync('sha256', text, '', 'signalhouse key id', idBytes));
  }

  /** For DuckDB's `ENCRYPTION_KEY`, as a bound value: a statement's text may end up in an error. */
  get forDuckDB(): string {
    return this.#text;
  }

  seal(bytes: Uint8Array): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#derived, nonce);
    const encrypted = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return Buffer.concat([magic, this.#id, nonce, encrypted, cipher.getAuthTag()]);
  }

  /** What was sealed. Undefined when it is incomplete or was changed; throws UsageError when another key sealed it. */
  unseal(sealed: Uint8Array, path: string): Buffer | undefined {
    const bytes = Buffer.from(sealed);
    if (!isSealed(bytes) || bytes.length < overhead) return undefined;
    const end = magic.length + idBytes;
    if (!bytes.subarray(magic.length, end).equals(this.#id)) throw otherKey(path);
    const nonce = bytes.subarray(end, end + nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.#derived, nonce, { authTagLength: tagBytes });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const encrypted = bytes.subarray(end + nonceBytes, -tagBytes);
      return Buffer.concat([decipher.update(encrypted), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/** The bytes of a file in the data directory: sealed where there is a key. */
export function toStored(bytes: Uint8Array, key: EncryptionKey | undefined): Uint8Array {
  return key ? key.seal(bytes) : bytes;
}

/**
 * The bytes that `toStored` was given; bytes that are not sealed are returned as they are. Throws UsageError without the
 * key that sealed them, and StorageError for a damaged file.
 */
export function fromStored(bytes: Uint8Array, key: EncryptionKey | undefined, path: string): Uint8Array {
  if (!isSealed(bytes)) return bytes;
  if (!key) throw noKey(path);
  const plain = key.unseal(bytes, path);
  if (plain) return plain;
  throw new StorageError(`${path} is encrypted, and damaged`, {
    hint: 'Restore it from a backup, or delete it.',
  });
}

/** A line of a file in the data directory, without its line break: sealed where there is a key. */
export function toStoredLine(line: string, key: EncryptionKey | undefined): string {
  return key ? `${linePrefix}${key.seal(Buffer.from(line)).toString('base64')}` : line;
}

/**
 * The line that `toStoredLine` was given; one that is not sealed is returned as it is. Undefined for one that is cut off or
 * damaged; throws UsageError without the key that sealed it.
 */
export function fromStoredLine(
  line: string,
  key: EncryptionKey | undefined,
  path: string,
): string | undefined {
  if (!line.startsWith(linePrefix)) return line;
  if (!key) throw noKey(path);
  return key.unseal(Buffer.from(line.slice(linePrefix.length), 'base64'), path)?.toString();
}

/** What `open` returns with the first of these keys that fits. Throws what it throws with the last one. */
export function withEitherKey<T>(
  [first, second]: readonly [EncryptionKey | undefined, EncryptionKey | undefined],
  open: (key: EncryptionKey | undefined) => T,
): T {
  try {
    return open(first);
  } catch (error) {
    if (error instanceof UsageError) return open(second);
    throw error;
  }
}

function isSealed(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, magic.length)).equals(magic);
}

/** The error for an encrypted file where the settings name no key. */
export function noKey(path: string, cause?: unknown): UsageError {
  return wrongKey(`${path} is encrypted, and there is no key`, {
    problem: 'is not set; it names the file that holds the key',
    hint: 'Nothing was changed. Set it, and run the command again.',
    cause,
  });
}

/** The error for a file that the key in the settings does not open. */
export function otherKey(path: string, cause?: unknown): UsageError {
  return wrongKey(`${path} is encrypted with another key`, {
    problem: 'names a file that holds another key',
    hint: 'Nothing was changed. Set it to the file that holds the right key. If a change of the key was interrupted, run it again: signalhouse encrypt --old-key-file FILE.',
    cause,
  });
}

/** `message` says what the key does not fit. Recovery: name the right file. */
export function wrongKey(
  message: string,
  { problem, hint, cause }: { problem: string; hint: string; cause?: unknown },
): UsageError {
  return new UsageError(message, [{ setting: 'SIGNALHOUSE_ENCRYPTION_KEY_FILE', problem }], { hint, cause });
}
