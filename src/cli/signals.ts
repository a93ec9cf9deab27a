import { ExitCode, StoppedError } from '../base/errors.js';

/** The two ways to end a run early on signals of the operating system. */
export interface Interruption {
  /** The first signal: finish what is in flight, commit, publish. */
  readonly stop: AbortSignal;
  /** The second signal, or the end of the shutdown time: abandon what is in flight. */
  readonly kill: AbortSignal;
  /** Stops listening for signals. */
  release(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP. The first signal stops in order, the second (or `shutdownMs` after the first)
 * at once, and the third exits the process, which the warehouse survives.
 */
export function interruption(shutdownMs: number, say: (text: string) => void): Interruption {
  const stop = new AbortController();
  const kill = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (why: string) => {
    if (kill.signal.aborted) return;
    clearTimeout(timer);
    say(`${why}: abandoning what is in flight`);
    kill.abort(new StoppedError(why));
  };
  const onSignal = (name: NodeJS.Signals) => {
    if (kill.signal.aborted) process.exit(ExitCode.failed);
    if (stop.signal.aborted) return giveUp(`${name} again`);
    say(`${name}: finishing what is in flight; send it again to stop at once`);
    stop.abort(new StoppedError(name));
    timer = setTimeout(() => giveUp(`not finished after ${shutdownMs / 1000} s`), shutdownMs).unref();
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    stop: stop.signal,
    kill: kill.signal,
    release() {
      clearTimeout(timer);
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

/** Resolves on the first signal that asks this process to end; a second one exits it. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const name of signals) {
      process.on(name, () => {
        if (asked) process.exit(ExitCode.failed);
        asked = true;
        resolve();
      });
    }
  });
}

/**
 * Calls `cleanUp` before a signal ends this process, which it then does as if nobody had listened: a shell stops its loop
 * only when Ctrl-C has killed the command. A signal for which `cleanUp` returns false is ignored. Returns what stops
 * listening.
 */
export function onDeath(cleanUp: (signal: NodeJS.Signals) => boolean): () => void {
  const release = () => {
    for (const name of signals) process.off(name, die);
  };
  const die = (name: NodeJS.Signals) => {
    if (!cleanUp(name)) return;
    release();
    process.kill(process.pid, name);
  };
  for (const name of signals) process.on(name, die);
  return release;
}
