import { ExitCode, StoppedError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RunSignals } from '../base/stop.js';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `listener` when a signal asks this process to end, until the returned function is called. */
export function listen(listener: (name: NodeJS.Signals) => void): () => void {
  for (const name of names) process.on(name, listener);
  return () => {
    for (const name of names) process.off(name, listener);
  };
}

/**
 * Runs work that SIGINT, SIGTERM and SIGHUP end early. The first signal stops it in order (finish what is in flight, commit,
 * publish), the second (or `shutdownSeconds` after the first) at once, and the third exits the process, which the warehouse
 * survives.
 */
export async function interruptible<T>(
  { log }: { readonly log: Log },
  shutdownSeconds: number,
  work: (signals: RunSignals) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const kill = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (why: string) => {
    if (kill.signal.aborted) return;
    clearTimeout(timer);
    log.warn(`${why}: abandoning what is in flight`);
    kill.abort(new StoppedError(why));
  };
  const onSignal = (name: NodeJS.Signals) => {
    if (kill.signal.aborted) process.exit(ExitCode.failed);
    if (stop.signal.aborted) return giveUp(`${name} again`);
    log.warn(`${name}: finishing what is in flight; send it again to stop at once`);
    stop.abort(new StoppedError(name));
    const late = () => giveUp(`not finished after ${shutdownSeconds} s`);
    timer = setTimeout(late, shutdownSeconds * 1000).unref();
  };
  const release = listen(onSignal);
  try {
    return await work({ stop: stop.signal, kill: kill.signal });
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** Resolves on the first signal that asks this process to end; a second one exits it. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    listen(() => {
      if (asked) process.exit(ExitCode.failed);
      asked = true;
      resolve();
    });
  });
}

/**
 * Calls `cleanUp` before a signal ends this process, which it then does as if nothing had listened: a shell stops its loop
 * only when Ctrl-C has killed the command. A signal for which `cleanUp` returns false is ignored. Returns what stops
 * listening.
 */
export function onDeath(cleanUp: (signal: NodeJS.Signals) => boolean): () => void {
  const release = listen((name) => {
    if (!cleanUp(name)) return;
    release();
    process.kill(process.pid, name);
  });
  return release;
}
