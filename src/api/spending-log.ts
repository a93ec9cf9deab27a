import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { isAlive } from '../base/processes.js';
import { ReleaseQueue, type SharedSpending, type Slot } from './budget.js';

/** The file that records the requests of the key, for all commands that share the data directory. */
export function spendingLogPath(dataDir: string): string {
  return join(dataDir, 'spending.log');
}

export interface SpendingLogOptions {
  readonly path: string;
  /** How long a slot is held after its attempt ended (see `guardedWindow`). */
  readonly heldMs: number;
  /** The longest that an attempt can last: its total deadline. */
  readonly attemptMs: number;
  /** Attempts per window: determines how much of the end of the file is read at the start. */
  readonly requests: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the process that wrote a record at `at` may still be running. */
  readonly mayRun?: (pid: number, at: number) => boolean;
}

/** Above this size the file is emptied, once every record in it is older than a window. */
const trimBytes = 1 << 20;
const longestRecord = 80;

/**
 * The spending of one key on disk: an append-only file with the start and the end of each attempt, written as they
 * happen and never synced (it must survive the process, not the machine). It counts the slots that other commands
 * hold: earlier ones, killed ones and those that run now. The budget counts our own.
 *
 * When two processes find the same last slot free, the file decides: appends are ordered, and the process whose record
 * comes second withdraws (`claim`). A log that cannot be read or written (disk full, read-only directory) warns once
 * and then counts nothing: the request matters more than its record.
 */
export class SpendingLog implements SharedSpending {
  readonly #writer = randomBytes(4).toString('hex');
  readonly #releases = new ReleaseQueue();
  /** Attempts of others without an end: the moment at which the slot comes free even if no end is ever written. */
  readonly #open = new Map<string, number>();
  readonly #ours = new Map<number, number>();
  #fd: number | undefined;
  #offset = 0;
  #partial = '';
  #torn = false;
  #lastRecordAt = Number.NEGATIVE_INFINITY;
  #count = 0;
  #warned = false;

  constructor(private readonly options: SpendingLogOptions) {
    this.#safely(() => {
      this.#fd = openSync(options.path, 'a+', 0o600);
      // Older records do not matter: one window never holds more than two lines per slot.
      const tail = Math.max(1 << 16, Math.min(options.requests, 1e5) * 4 * longestRecord);
      this.#offset = Math.max(0, fstatSync(this.#fd).size - tail);
      this.#read();
    });
  }

  held(): number {
    this.#safely(() => this.#read());
    return this.#held();
  }

  nextFreeAt(): number | undefined {
    if (this.#held() === 0) return undefined;
    const now = this.options.clock.monotonic();
    // An attempt that is open now frees its slot a window from now at the earliest; its end is read before that.
    const open = this.#open.size > 0 ? Math.min(now + this.options.heldMs, ...this.#open.values()) : Infinity;
    return Math.min(this.#releases.nth(1) ?? Infinity, open);
  }

  claim(limit: number): Slot | undefined {
    if (this.held() >= limit) return undefined;
    this.#safely(() => this.#trim());
    const id = this.#count++;
    const at = this.options.clock.now();
    this.#ours.set(id, at);
    this.#append({ kind: 'start', writer: this.#writer, id, at, pid: process.pid });
    let before = 0;
    this.#safely(() => this.#read(id, () => (before = this.#held())));
    if (before >= limit) {
      this.#ours.delete(id);
      this.#append({ kind: 'withdrawn', writer: this.#writer, id, at });
      return undefined;
    }
    return {
      end: () => {
        this.#ours.delete(id);
        this.#append({ kind: 'end', writer: this.#writer, id, at: this.options.clock.now() });
      },
    };
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #held(): number {
    const now = this.options.clock.monotonic();
    this.#releases.drop(now);
    for (const [key, freeAt] of this.#open) if (freeAt <= now) this.#open.delete(key);
    return this.#releases.count + this.#open.size;
  }

  #append(record: SpendingRecord): void {
    this.#lastRecordAt = this.options.clock.monotonic();
    this.#safely(() => {
      if (this.#fd === undefined) return;
      const line = Buffer.from(`${this.#torn ? '\n' : ''}${formatRecord(record)}\n`);
      this.#torn = true;
      this.#torn = writeSync(this.#fd, line) < line.length;
    });
  }

  /** Reads the records appended since the last call; calls `reached` at our own start record with that id. */
  #read(id?: number, reached?: () => void): void {
    if (this.#fd === undefined) return;
    const size = fstatSync(this.#fd).size;
    if (size < this.#offset) this.#startOver();
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
   * Counts a record of another process. Its age comes from the wall clock, which may have been set in the meantime. An
   * age is never negative, so that no record holds a slot longer than one that is written now.
   */
  #apply(record: SpendingRecord): void {
    const { clock, heldMs, attemptMs, mayRun = runs } = this.options;
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
    const idleMs = this.options.clock.monotonic() - this.#lastRecordAt;
    if (this.#ours.size > 0 || this.#held() > 0 || idleMs <= this.options.heldMs) return;
    ftruncateSync(this.#fd, 0);
    this.#offset = 0;
    this.#partial = '';
  }

  /**
   * Another process emptied the file, which it does only when it found no record of the last window. An append of ours
   * that came in between is lost, so the attempts in flight are written again. (An end without its start holds a slot by
   * itself: even in between, no attempt goes uncounted for longer than it lasts.)
   */
  #startOver(): void {
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
      const { path, log } = this.options;
      log.warn(
        { path, problem: messageOf(error) },
        'spending cannot be recorded on disk: other commands that use this key do not see these requests',
      );
    }
  }
}

/** Whether the writer of a record is alive. A pid that does not exist, or that is ours but was written before we started, is not. */
function runs(pid: number, at: number): boolean {
  return pid === process.pid ? at >= performance.timeOrigin : isAlive(pid);
}

/** One line of the file. `at` is the wall clock in milliseconds: a monotonic clock means nothing to other processes. */
type SpendingRecord =
  | { kind: 'start'; writer: string; id: number; at: number; pid: number }
  | { kind: 'end' | 'withdrawn'; writer: string; id: number; at: number };

const letters = { start: 's', end: 'e', withdrawn: 'w' } as const;

/** One line, without its newline. */
export function formatRecord(record: SpendingRecord): string {
  const pid = record.kind === 'start' ? ` ${record.pid}` : '';
  return `${letters[record.kind]} ${record.writer} ${record.id} ${Math.round(record.at)}${pid}`;
}

/** Reads one line; undefined for the remains of a full disk or of another program. */
function parseRecord(line: string): SpendingRecord | undefined {
  const match = /^([sew]) ([0-9a-f]{8}) (\d+) (\d+)(?: (\d+))?$/.exec(line);
  if (!match) return undefined;
  const [, letter, writer = '', id, at, pid] = match;
  const common = { writer, id: Number(id), at: Number(at) };
  if (letter === 's') return pid === undefined ? undefined : { kind: 'start', ...common, pid: Number(pid) };
  return { kind: letter === 'e' ? 'end' : 'withdrawn', ...common };
}
