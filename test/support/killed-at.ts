/** A moment of the real program at which its process is killed; `kill-at.mjs` finds it from outside. */
export interface Moment {
  /** A statement (`run`), the closing of a database (`close`), or a function of node:fs. */
  readonly call: 'run' | 'close' | 'openSync' | 'renameSync' | 'fsyncSync' | 'copyFileSync' | 'writeSync';
  /** A regular expression for the statement's text or the function's paths; everything when it is left out. */
  readonly match?: string;
  /** Which of those calls it is, counted from 1. */
  readonly nth?: number;
  readonly when: 'before' | 'within' | 'after';
  /** For `within`: milliseconds after the call began; if it ends before that, the process waits for the kill. */
  readonly ms?: number;
  /** Whether the write-ahead log is folded into the file after each batch, however small it is. */
  readonly foldsLog?: true;
}

const preload = new URL('kill-at.mjs', import.meta.url).href;

/** The environment of a program that is killed at a moment. */
export function killedAt(moment: Moment): Record<string, string> {
  return { NODE_OPTIONS: `--import=${preload}`, KILL_AT: JSON.stringify(moment) };
}
