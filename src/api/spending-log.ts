import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { Releases } from './releases.js';
import { formatRecord, parseRecord, type SpendingRecord } from './spending-record.js';

export interface SpendingLogOptions {
  readonly path: string;
  /** How long a slot is held after its attempt ended (see `guardedWindow`). */
  readonly heldMs: number;
  /** The longest that an attempt can last: its total deadline. */
  readonly attemptMs: number;
  /** Attempts per window; says how much of the file's tail can matter at the start. */
  readonly requests: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the process that wrote a record at `at` may still run. */
  readonly mayRun?: (pid: number, at: number) => boolean;
}

/** One attempt of ours in the ledger. */
export interface Entry {
  end(): void;
}

/** Beyond this size the file is emptied, at a moment when nothing in it matters any more. */
const trimBytes = 1 << 20;
const longestRecord = 80;

/**
 * The spending of one key on disk: an append-only file with the start and the end of each attempt, written as they
 * happen and never synced (it must survive the process, not the machine). Attempts of earlier commands, of killed
 * ones and of those running beside us hold slots here; our own are counted by the budget.
 *
 * Two processes that find the same last slot free are told apart by the file: appends are ordered, and whoever comes
 * second withdraws (`claim`). A ledger that cannot be read or written (disk full, read-only directory) says so once
 * and then holds nothing: the request matters more than its record.
 */
export class SpendingLog {
  readonly #options: SpendingLogOptions;
  readonly #writer = randomBytes(4).toString('hex');
  readonly #releases = new Releases();
  /** Attempts of others without an end: the moment at which their slot is free even if no end is ever written. */
  readonly #open = new Map<string, number>();
  readonly #ours = new Map<number, number>();
  #fd: number | undefined;
  #offset = 0;
  #partial = '';
  #torn = false;
  #lastRecordAt = Number.NEGATIVE_INFINITY;
  #count = 0;
  #warned = false;

  constructor(options: SpendingLogOptions) {
    this.#options = options;
    this.#safely(() => {
      this.#fd = openSync(options.path, 'a+', 0o600);
      // Older records than fit into the tail cannot matter: more than two lines a slot are never within a window.
      const tail = Math.max(1 << 16, Math.min(options.requests, 1e5) * 4 * longestRecord);
      this.#offset = Math.max(0, fstatSync(this.#fd).size - tail);
      this.#read();
    });
  }

  /** The slots that others hold now. */
  held(): number {
    this.#safely(() => this.#read());
    return this.#held();
  }

  /** The moment (monotonic) before which no slot of others comes free; undefined when they hold none. */
  nextFreeAt(): number | undefined {
    if (this.#held() === 0) return undefined;
    const now = this.#options.clock.monotonic();
    // An attempt that is open now frees its slot a window from now at the earliest; by then its end will be read.
    const open =
      this.#open.size > 0 ? Math.min(now + this.#options.heldMs, ...this.#open.values()) : Infinity;
    return Math.min(this.#releases.nth(1) ?? Infinity, open);
  }

  /** Records the start of an attempt, provided that others hold fewer than `room` slots; else undefined. */
  claim(room: number): Entry | undefined {
    if (this.held() >= room) return undefined;
    this.#safely(() => this.#trim());
    const id = this.#count++;
    const at = this.#options.clock.now();
    this.#ours.set(id, at);
    this.#append({ kind: 'start', writer: this.#writer, id, at, pid: process.pid });
    let before = 0;
    this.#safely(() => this.#read(id, () => (before = this.#held())));
    if (before >= room) {
      this.#ours.delete(id);
      this.#append({ kind: 'withdrawn', writer: this.#writer, id, at });
      return undefined;
    }
    return {
      end: () => {
        this.#ours.delete(id);
        this.#append({ kind: 'end', writer: this.#writer, id, at: this.#options.clock.now() });
      },
    };
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #held(): number {
    const now = this.#options.clock.monotonic();
    this.#releases.drop(now);
    for (const [key, freeAt] of this.#open) if (freeAt <= now) this.#open.delete(key);
    return this.#releases.count + this.#open.size;
  }

  #append(record: SpendingRecord): void {
    this.#lastRecordAt = this.#options.clock.monotonic();
    this.#safely(() => {
      if (this.#fd === undefined) return;
      const line = Buffer.from(`${this.#torn ? '\n' : ''}${formatRecord(record)}\n`);
      this.#torn = true;
      this.#torn = writeSync(this.#fd, line) < line.length;
    });
  }

  /** Reads what was appended since the last time; calls `reached` when it meets our own start with that id. */
  #read(id?: number, reached?: () => void): void {
    if (this.#fd === undefined) return;
    const size = fstatSync(this.#fd).size;
    if (size < this.#offset) this.#emptied();
    while (this.#offset < size) {
      const chunk = Buffer.alloc(Math.min(size - this.#offset, 1 << 18));
      const got = readSync(this.#fd, chunk, 0, chunk.length, this.#offset);
      if (got === 0) return;
      this.#offset += got;
      const lines = (this.#partial + chunk.toString('latin1', 0, got)).split('\n');
      this.#partial = lines.pop() ?? '';
      for (const line of lines) {
        const record = parseRecord(line);
        if (!record) continue;
        if (record.writer !== this.#writer) this.#apply(record);
        else if (record.kind === 'start' && record.id === id) reached?.();
      }
    }
  }

  /**
   * Counts a record of somebody else. Its age is taken from the wall clock, which may have been set meanwhile; it is
   * never believed to lie in the future, so that no record holds a slot longer than if it were written now.
   */
  #apply(record: SpendingRecord): void {
    const { clock, heldMs, attemptMs, mayRun = runs } = this.#options;
    const now = clock.monotonic();
    const age = Math.max(0, clock.now() - record.at);
    const key = `${record.writer} ${record.id}`;
    this.#lastRecordAt = Math.max(this.#lastRecordAt, now - age);
    if (record.kind === 'start') {
      const left = attemptMs - age;
      const endsAt = mayRun(record.pid, record.at) ? now + left : now + Math.min(0, left);
      if (endsAt + heldMs > now) this.#open.set(key, endsAt + heldMs);
      return;
    }
    this.#open.delete(key);
    const freeAt = now - age + heldMs;
    if (record.kind === 'end' && freeAt > now) this.#releases.add(freeAt);
  }

  /** Empties the file when it is large and everything in it is older than a window. */
  #trim(): void {
    if (this.#fd === undefined || this.#offset < trimBytes) return;
    const idleMs = this.#options.clock.monotonic() - this.#lastRecordAt;
    if (this.#ours.size > 0 || this.#held() > 0 || idleMs <= this.#options.heldMs) return;
    ftruncateSync(this.#fd, 0);
    this.#offset = 0;
    this.#partial = '';
  }

  /**
   * Somebody emptied the file, which they do only when they have seen nothing of the last window. Should an append of
   * ours have slipped in between, it is lost: what we have under way is written again. (An end without its start
   * holds a slot by itself, so that even in between nothing goes uncounted for longer than the attempt lasts.)
   */
  #emptied(): void {
    this.#offset = 0;
    this.#partial = '';
    for (const [id, at] of this.#ours) {
      this.#append({ kind: 'start', writer: this.#writer, id, at, pid: process.pid });
    }
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (this.#warned) return;
      this.#warned = true;
      const { path, log } = this.#options;
      log.warn(
        { path, problem: messageOf(error) },
        'spending is not kept on disk: other commands cannot see it',
      );
    }
  }
}

/** A pid that nobody has, or that was given to us after the record was written, belongs to a dead process. */
function runs(pid: number, at: number): boolean {
  if (pid === process.pid) return at >= performance.timeOrigin;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
