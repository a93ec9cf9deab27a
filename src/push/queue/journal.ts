import { closeSync, fsyncSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { openForLines, writeAll, writeAtomicallySync } from '../../base/atomic-file.js';
import {
  type DataDir,
  type EncryptionKey,
  fromStoredLine,
  toStoredLine,
  withEitherKey,
} from '../../base/encryption.js';
import { messageOf, StorageError } from '../../base/errors.js';
import { portions } from '../../base/group-by.js';
import { type Log, silentLog } from '../../base/log.js';
import { type Change, statuses } from '../change.js';

/** A larger journal is rewritten without the changes that the snapshot holds anyway. */
const maxBytes = 8 * 1024 * 1024;
/** How many lines are made and written at once. */
const linesAtOnce = 1_000;

/** The path of the journal in a data directory. */
export function journalPath(dataDir: string): string {
  return join(dataDir, 'changes.journal');
}

/**
 * The write-ahead journal of the queue, a file beside the database: one line of JSON for each state of a change; the
 * last line of a change is valid. A line is on disk before anything is reported or sent because of it, so neither a kill
 * nor a warehouse that is restored from its snapshot loses a change or its Idempotency-Key. Only the process that holds
 * the warehouse writes it.
 */
export class Journal {
  readonly #path: string;
  readonly #key: EncryptionKey | undefined;
  readonly #log: Log;
  #file: number | undefined;

  constructor({ dataDir, encryptionKey }: DataDir, log: Log = silentLog) {
    this.#path = journalPath(dataDir);
    this.#key = encryptionKey;
    this.#log = log;
  }

  /**
   * The last state of each change in the journal. A line that a kill cut off was never acknowledged, and is skipped. Any
   * other line that is not a change is skipped with a warning. Throws UsageError when a line is encrypted with another key.
   */
  read(): Map<string, Change> {
    const changes = new Map<string, Change>();
    for (const [index, line] of this.#text().split('\n').entries()) {
      if (line.trim() === '') continue;
      const text = fromStoredLine(line, this.#key, this.#path);
      const change = text === undefined ? 'cut off' : parsed(text);
      if (change === 'cut off') continue;
      if ('problem' in change) this.#warn(index + 1, change.problem);
      else if (change.revision >= (changes.get(change.id)?.revision ?? 0)) changes.set(change.id, change);
    }
    return changes;
  }

  /** Replaces changes from the table with the newer states in the journal, and returns those. */
  replayOver(changes: Map<string, Change>): Change[] {
    const newer = [...this.read().values()].filter(
      ({ id, revision }) => revision > (changes.get(id)?.revision ?? 0),
    );
    for (const change of newer) changes.set(change.id, change);
    return newer;
  }

  /** Returns when the lines are on disk. Throws StorageError. */
  append(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    this.#guard(() => {
      this.#file ??= openForLines(this.#path);
      for (const some of portions(changes, linesAtOnce)) writeAll(this.#file, this.#linesOf(some));
      fsyncSync(this.#file);
    });
  }

  /** Rewrites a journal that has grown large with the given changes only: those that a snapshot may not hold. */
  compact(kept: () => readonly Change[]): void {
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) <= maxBytes) return;
    this.#guard(() => {
      this.close();
      writeAtomicallySync(this.#path, this.#linesOf(kept()), { mode: 0o600 });
    });
  }

  /**
   * Rewrites the lines that `change` changes; returns how many. `dryRun` only counts. With `encrypt`, every line is written,
   * with this journal's key: the key `old` encrypts it now, or none, or this one already. Call it while nothing else has the
   * journal open.
   */
  rewrite(
    change: (line: string) => string,
    { dryRun = false, encrypt }: { dryRun?: boolean; encrypt?: { old: EncryptionKey | undefined } } = {},
  ): number {
    const stored = this.#text()
      .split('\n')
      .filter((line) => line.trim() !== '');
    const open = (line: string) => (key: EncryptionKey | undefined) => fromStoredLine(line, key, this.#path);
    // A line that a kill cut off cannot be opened, and was never acknowledged.
    const plain = stored.flatMap((line) => withEitherKey([encrypt?.old, this.#key], open(line)) ?? []);
    const rewritten = plain.map(change);
    const changed = rewritten.filter((line, index) => line !== plain[index]).length;
    if (!dryRun && (changed > 0 || (encrypt && stored.length > 0))) {
      const lines = rewritten.map((line) => `${toStoredLine(line, this.#key)}\n`);
      this.#guard(() => {
        this.close();
        writeAtomicallySync(this.#path, lines.join(''), { mode: 0o600 });
      });
    }
    return changed;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #linesOf(changes: readonly Change[]): string {
    return changes.map((change) => `${toStoredLine(JSON.stringify(change), this.#key)}\n`).join('');
  }

  #warn(line: number, problem: string): void {
    const place = `${this.#path}:${line}`;
    // A server reads the journal every few seconds.
    if (warned.has(place)) return;
    warned.add(place);
    this.#log.warn(
      { path: this.#path, line, problem },
      'a line of the journal of changes is not a change and is skipped; if nothing else wrote to the file, compare the queue with what was imported',
    );
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw this.#storageError(error);
    }
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw this.#storageError(error);
    }
  }

  #storageError(error: unknown): StorageError {
    return new StorageError(
      `the journal of changes ${this.#path} cannot be read or written: ${messageOf(error)}`,
      {
        hint: 'Free disk space or fix the permissions of the data directory. No change was sent that is not in the journal.',
        cause: error,
      },
    );
  }
}

/** The lines that this process has warned about, as `path:line`. */
const warned = new Set<string>();

const values = z.record(z.string(), z.union([z.string(), z.boolean(), z.null()]));
const textOrNull = z.string().nullable();

/** The form of a line: a Change. Fields that a later version of the program adds are kept. */
const changeLine: z.ZodType<Change> = z.looseObject({
  id: z.string(),
  revision: z.number(),
  entityType: z.enum(['topic', 'company']),
  entityId: z.string(),
  status: z.enum(statuses),
  idempotencyKey: z.string(),
  wanted: values,
  base: values,
  baseFrom: z.enum(['file', 'warehouse']),
  baseAt: textOrNull,
  overwrite: z.boolean(),
  requestedBy: textOrNull,
  queuedAt: z.string(),
  source: z.string(),
  sourceHash: textOrNull,
  sourceRow: z.number().nullable(),
  importId: z.string(),
  body: textOrNull,
  firstSentAt: textOrNull,
  sentAt: textOrNull,
  attempts: z.number(),
  remoteBefore: values.nullable(),
  remoteAfter: values.nullable(),
  errorCode: textOrNull,
  error: textOrNull,
  settledAt: textOrNull,
  supersededBy: textOrNull,
  // A line that an older version of the program wrote does not have it.
  undoes: z.array(z.string()).default([]),
});

function parsed(line: string): Change | 'cut off' | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return line.startsWith('{') ? 'cut off' : { problem: 'is not JSON' };
  }
  const change = changeLine.safeParse(value);
  if (change.success) return change.data;
  const [issue] = change.error.issues;
  const field = issue?.path.join('.') ?? '';
  return { problem: field === '' ? 'is not an object' : `${field}: ${issue?.message}` };
}
