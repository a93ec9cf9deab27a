import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Whether a process of this machine is alive, including those of other users. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Starts a program of ours in a process of its own, by its path in dist: a process can only start what is compiled, also when
 * a test runs this module from src. It gets messages, and none of our variables: they hold the settings and secrets.
 */
export function startChild(program: string, { stderr = 'ignore' }: { stderr?: 'ignore' | 'inherit' } = {}) {
  const hidden = /^(SIGNALHOUSE_|AWS_)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !hidden.test(name)));
  const path = fileURLToPath(new URL(`../../dist/${program}`, import.meta.url));
  const child: ChildProcess = fork(path, [], {
    env,
    execArgv: [],
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
  });
  return child;
}

/**
 * What such a program calls first. The process that started it decides when it ends, not a signal of the terminal; it never
 * outlives that one, and when a container has too little memory, it is ended and not the worker.
 */
export function liveAsChild(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.umask(0o077);
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has it.
  }
}
