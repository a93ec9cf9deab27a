import { AsyncLocalStorage } from 'node:async_hooks';
import { execFileSync } from 'node:child_process';
import fs, { rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Tuning } from '../../src/config/load.js';
import { take } from '../support/taken-output.js';
import type { DatabaseCalls } from './database-calls.js';
import type { Network } from './network.js';
import type { VirtualTime } from './virtual-time.js';

/** How a command ended; `killed` before its end, with what its data directory held at that moment. */
export interface Ended {
  readonly code: number | 'killed';
  readonly stdout: string;
  readonly stderr: string;
}

export interface Interruption {
  /** After so many calls into DuckDB, as kill -9 does. */
  readonly killAfter?: number;
  /** Calls into DuckDB end with this error, from the so many-th on and so many times. */
  readonly failing?: { readonly after: number; readonly times: number; readonly error: string };
  /** While a request is on its way: 1 before the server has the first one, 2 after that, 3 before it has the second one. */
  readonly killSending?: number;
  /** The same of the changes that are sent. */
  readonly killPushing?: number;
  /** Before it copies a file for the so many-th time. */
  readonly killCopying?: number;
  /** A signal after so many requests, as SIGTERM does. */
  readonly stopAfter?: number;
  /** The same after so many milliseconds. */
  readonly stopAfterMs?: number;
}

interface CommandLine {
  run(argv: readonly string[], commands: unknown, tuning: Tuning): Promise<number>;
  readonly commands: unknown;
}

/** A command that runs. What belongs to one that was killed comes to nothing. */
interface Process {
  isDead: boolean;
}

/** Runs commands of the program, one after the other, in this process and in virtual time. */
export class Program {
  /** Other values for what the program chooses itself. */
  tuning: Tuning = {};
  readonly #processes = new AsyncLocalStorage<Process>();
  #kills = 0;

  constructor(
    readonly commandLine: CommandLine,
    readonly time: VirtualTime,
    readonly calls: DatabaseCalls,
    readonly network: Network,
    /** Its settings; SIGNALHOUSE_DATA_DIR is another one after each kill. */
    readonly env: Record<string, string>,
  ) {
    network.isCut = () => this.#processes.getStore()?.isDead === true;
  }

  get dataDir(): string {
    return this.env.SIGNALHOUSE_DATA_DIR ?? '';
  }

  /** Runs a command line to its end, or until it is killed. */
  run(
    argv: readonly string[],
    { killAfter, failing, killSending, killPushing, killCopying, stopAfter, stopAfterMs }: Interruption = {},
  ): Promise<Ended> {
    const process_: Process = { isDead: false };
    const killed = deferred<'killed'>();
    const listeners = signals.map((name) => [name, process.listeners(name)] as const);
    const kill = () => {
      if (process_.isDead) return;
      process_.isDead = true;
      this.#survive();
      killed.resolve('killed');
    };
    const last = this.calls.count + (killAfter ?? Number.POSITIVE_INFINITY);
    this.calls.onReturn = () => {
      const own = this.#processes.getStore();
      if (own === undefined) return undefined;
      if (own === process_ && this.calls.count >= last) kill();
      return own.isDead ? new Promise<void>(() => undefined) : undefined;
    };
    const failsFrom = this.calls.count + (failing?.after ?? 0);
    let failed = 0;
    this.calls.failure = () => {
      if (!failing || this.calls.count < failsFrom || failed >= failing.times) return undefined;
      failed += 1;
      return failing.error;
    };
    const counts = { out: 0, handled: 0 };
    const changes = { out: 0, handled: 0 };
    this.network.sending = (moment, method) => {
      counts[moment] += 1;
      if (method === 'PATCH') changes[moment] += 1;
      if (moment === 'out' && counts.out === stopAfter) this.#stop(listeners);
      const isAt = (count: number, point = 0) =>
        point % 2 === (moment === 'out' ? 1 : 0) && count === Math.ceil(point / 2);
      if (isAt(counts[moment], killSending) || (method === 'PATCH' && isAt(changes[moment], killPushing)))
        kill();
    };
    let copies = 0;
    replaceCopying((...given) => {
      copies += 1;
      if (copies === killCopying) kill();
      if (process_.isDead) throw new Error('killed');
      copyFileSync(...given);
    });
    if (stopAfterMs !== undefined) setTimeout(() => this.#stop(listeners), stopAfterMs);
    Object.defineProperty(performance, 'timeOrigin', { value: this.time.now(), configurable: true });
    const streams = [take(process.stdout), take(process.stderr)] as const;
    const environment = { ...process.env };
    for (const name of Object.keys(process.env))
      if (name.startsWith('SIGNALHOUSE_')) delete process.env[name];
    Object.assign(process.env, this.env);
    const { run, commands } = this.commandLine;
    const { tuning } = this;
    return this.time
      .run(() =>
        Promise.race([this.#processes.run(process_, () => run(argv, commands, tuning)), killed.promise]),
      )
      .then((code) => ({ code, stdout: streams[0].text(), stderr: streams[1].text() }))
      .finally(() => {
        for (const stream of streams) stream.release();
        for (const [name, before] of listeners)
          for (const one of process.listeners(name))
            if (!before.includes(one)) process.off(name, one as () => void);
        for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
        process.exitCode = 0;
        this.calls.onReturn = () => undefined;
        this.calls.failure = () => undefined;
        this.network.sending = () => undefined;
        replaceCopying(copyFileSync);
        this.time.forgetTimers();
      });
  }

  /** What the command listens for, without ending the simulation. */
  #stop(before: readonly (readonly [NodeJS.Signals, unknown[]])[]): void {
    const others = before.find(([name]) => name === 'SIGTERM')?.[1] ?? [];
    for (const one of process.listeners('SIGTERM')) if (!others.includes(one)) one('SIGTERM');
  }

  /** What the disk holds now is what the next command finds. The copy is made by another process, because closing a file frees its locks. */
  #survive(): void {
    const from = this.dataDir;
    this.#kills += 1;
    const to = `${from.replace(/-\d+$/, '')}-${this.#kills}`;
    execFileSync('cp', ['-a', '--', from, to]);
    rmSync(from, { recursive: true, force: true });
    this.env.SIGNALHOUSE_DATA_DIR = to;
  }
}

const { copyFileSync } = fs;

/** What every module calls from now on to copy a file. */
function replaceCopying(copy: typeof copyFileSync): void {
  fs.copyFileSync = copy;
  syncBuiltinESMExports();
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
