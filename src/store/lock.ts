import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Clock } from '../base/clock.js';
import { LockedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Log } from '../base/log.js';
import { isAlive } from '../base/processes.js';
import { filesOf } from './engine.js';
import { lockConflict } from './faults.js';
import { literal } from './sql.js';

/**
 * DuckDB locks the live file with a POSIX lock. Only the lock decides who holds the file: the kernel frees it when the
 * process dies, in whatever way. `worker.pid` beside it only describes that process; it is never trusted alone.
 *
 * Two properties of POSIX locks matter here. They do not conflict inside one process, so DuckDB would open the same file
 * twice and corrupt it: hence the set of files that this process holds. And closing any handle of the file frees the
 * lock: hence nothing in this process opens the live file except through DuckDB.
 */
const heldHere = new Set<string>();

export interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly command: string;
  readonly since: string;
}

/**
 * Runs `open` with the file claimed for this process. While another process holds the lock: waits if `wait` is
 * given, otherwise raises LockedError, which names the holder.
 */
export async function withClaim<T>(
  dataDir: string,
  options: { wait?: { signal?: AbortSignal } | undefined; clock: Clock; log: Log },
  open: () => Promise<T>,
): Promise<T> {
  const { worker } = filesOf(dataDir);
  let announced = false;
  for (let pause = 100; ; pause = Math.min(pause * 2, 1000)) {
    const locked = heldHere.has(worker)
      ? { pid: process.pid }
      : await attempt(worker, open).then(
          (result) => ({ result }),
          (error: unknown) => {
            const conflict = lockConflict(error);
            if (!conflict) throw error;
            return conflict;
          },
        );
    if ('result' in locked) return locked.result;
    const error = lockedError(dataDir, locked.pid);
    if (!options.wait) throw error;
    if (!announced) options.log.info({ pid: error.pid }, `${error.message}; waiting`);
    announced = true;
    await options.clock.sleep(pause, options.wait.signal);
  }
}

async function attempt<T>(worker: string, open: () => Promise<T>): Promise<T> {
  heldHere.add(worker);
  try {
    return await open();
  } catch (error) {
    heldHere.delete(worker);
    throw error;
  }
}

/** Releases the claim: call it after the database is closed. */
export function releaseClaim(dataDir: string): void {
  heldHere.delete(filesOf(dataDir).worker);
}

/** Records who holds the warehouse, for the next process that finds it locked. */
export function writeHolder(dataDir: string): void {
  const holder: Holder = {
    pid: process.pid,
    host: hostname(),
    command: commandLine(),
    since: new Date().toISOString(),
  };
  writeFileSync(filesOf(dataDir).pid, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
}

/** Removes that record, unless another process has written one since. */
export function removeHolder(dataDir: string): void {
  const holder = readHolder(dataDir);
  if (holder?.pid === process.pid && holder.host === hostname())
    rmSync(filesOf(dataDir).pid, { force: true });
}

/** The recorded holder; undefined when there is none or it is unreadable. A killed process leaves its record. */
function readHolder(dataDir: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(filesOf(dataDir).pid, 'utf8'));
    if (!isObject(value) || typeof value.pid !== 'number' || typeof value.host !== 'string') return undefined;
    return {
      pid: value.pid,
      host: value.host,
      command: String(value.command ?? ''),
      since: String(value.since ?? ''),
    };
  } catch {
    return undefined;
  }
}

/** Who holds the warehouse now, according to that record; null when no process seems to. */
export function currentHolder(dataDir: string): Holder | null {
  const holder = readHolder(dataDir);
  if (!holder) return null;
  return holder.host !== hostname() || isAlive(holder.pid) ? holder : null;
}

function lockedError(dataDir: string, pid: number | undefined): LockedError {
  const record = readHolder(dataDir);
  // It may be a dead process's record: it describes the holder only if the lock's own pid agrees or is unknown.
  const holder = record && (pid === undefined || record.pid === pid) ? record : undefined;
  const holderPid = pid ?? holder?.pid;
  const who = holderPid === undefined ? 'another process' : `process ${holderPid}`;
  const what = holder ? ` (${holder.command} on ${holder.host}, since ${holder.since})` : '';
  return new LockedError(`the warehouse in ${dataDir} is in use by ${who}${what}`, holderPid, {
    hint: 'Wait for it to end, or pass --wait to wait for it. signals.duckdb can be read meanwhile.',
  });
}

/**
 * Keeps every other `serve` away from these data directories until the returned function is called: two would run every job
 * twice. The lock is that of the kernel here as well: DuckDB holds an empty file in each.
 */
export async function holdServed(dataDirs: readonly string[]): Promise<() => void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const release = () => {
    connection.closeSync();
    instance.closeSync();
  };
  for (const [index, dataDir] of dataDirs.entries()) {
    try {
      await connection.run(`ATTACH ${literal(join(dataDir, '.serve.lock'))} AS served_${index}`);
    } catch (error) {
      const conflict = lockConflict(error);
      // Where the file cannot be made, as on a full disk, the runs say so.
      if (!conflict) continue;
      release();
      const who = conflict.pid === undefined ? 'another process' : `process ${conflict.pid}`;
      throw new LockedError(`${dataDir} is served by ${who} already`, conflict.pid, {
        hint: 'Two would run every job twice: stop that one first, or name another data directory.',
      });
    }
  }
  return release;
}

/** The command without its arguments, so that the record never contains a secret. */
function commandLine(): string {
  const [, script = 'signalhouse', command = ''] = process.argv;
  const name = basename(script) === 'main.js' ? 'signalhouse' : basename(script);
  return /^[a-z]+$/.test(command) ? `${name} ${command}` : name;
}
