import { closeSync, fsyncSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory, writeAll, writeAtomicallySync } from '../../base/atomic-file.js';
import { messageOf, StorageError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import type { Change } from '../change.js';

/** Beyond this the journal is written anew, without what the snapshot holds anyway. */
const largest = 8 * 1024 * 1024;

/** Where the journal is, in a data directory. */
export function journalPath(dataDir: string): string {
  return join(dataDir, 'changes.journal');
}

/**
 * The queue's own memory beside the database: one line of JSON for each state that a change has been in, the last one
 * being the truth. A line is on the disk before anything is said or sent because of it, so that neither a kill nor a
 * warehouse that had to be restored from its snapshot loses a change or its Idempotency-Key. Only whoever holds the
 * warehouse writes it.
 */
export class Journal {
  readonly #path: string;
  #file: number | undefined;

  constructor(dataDir: string) {
    this.#path = journalPath(dataDir);
  }

  /** The last state of each change that it holds. What a kill left half-written was never acknowledged, and is passed over. */
  read(): Map<string, Change> {
    const changes = new Map<string, Change>();
    for (const line of this.#text().split('\n')) {
      const change = parsed(line);
      if (change && change.revision >= (changes.get(change.id)?.revision ?? 0))
        changes.set(change.id, change);
    }
    return changes;
  }

  /** Puts what it knows better in the place of what is known from a table; gives those changes. */
  playOver(known: Map<string, Change>): Change[] {
    const better = [...this.read().values()].filter(
      ({ id, revision }) => revision > (known.get(id)?.revision ?? 0),
    );
    for (const change of better) known.set(change.id, change);
    return better;
  }

  /** Returns when the lines are on the disk. Throws StorageError. */
  append(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    this.#guard(() => {
      this.#file ??= this.#open();
      writeAll(this.#file, linesOf(changes));
      fsyncSync(this.#file);
    });
  }

  /** Writes the journal anew when it has grown large, with these changes alone: those that no snapshot is sure to hold. */
  compact(kept: () => readonly Change[]): void {
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) <= largest) return;
    this.#guard(() => {
      this.close();
      writeAtomicallySync(this.#path, linesOf(kept()), { mode: 0o600 });
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): number {
    const isNew = statSync(this.#path, { throwIfNoEntry: false }) === undefined;
    const torn = !isNew && !this.#text().endsWith('\n');
    const file = openSync(this.#path, 'a', 0o600);
    // Behind a line that a kill cut off, the next one would be unreadable as well.
    if (torn) writeAll(file, '\n');
    if (isNew) syncDirectory(dirname(this.#path));
    return file;
  }

  #text(): string {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw this.#fault(error);
    }
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #fault(error: unknown): StorageError {
    return new StorageError(`the journal of changes ${this.#path} failed: ${messageOf(error)}`, {
      hint: 'Free space or mend the permissions of the data directory; no change was sent that is not in it.',
      cause: error,
    });
  }
}

function linesOf(changes: readonly Change[]): string {
  return changes.map((change) => `${JSON.stringify(change)}\n`).join('');
}

function parsed(line: string): Change | undefined {
  if (line === '') return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value) && typeof value.id === 'string' && typeof value.revision === 'number')
      return value as unknown as Change;
  } catch {
    // Half a line.
  }
  return undefined;
}
