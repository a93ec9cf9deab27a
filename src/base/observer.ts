import { duration } from './units.js';

/** The progress of a run: for a terminal, a log, metrics. Every method is cheap and never throws. */
export interface RunObserver {
  /** A phase starts: `total` is known for details (requests), unknown for a list before its first page. */
  phase(name: string, total: number | null): void;
  /** How many steps of the current phase are done, and how many there are. */
  progress(done: number, total: number | null): void;
  /** The current phase ends with this result, in one line that does not repeat the name of the phase. */
  phaseEnd(result: string): void;
  /** Something a person should read now. */
  note(text: string): void;
}

/** Shows a running command, from its first request to its end: its runs, and the outages that it waits out. */
export interface ProgressDisplay extends RunObserver {
  /** The API does not answer and the command waits: called when an outage begins, and once a minute while it lasts. */
  unavailable(outage: Outage): void;
  /** The wait is over, one way or the other. */
  outageEnd(end: OutageEnd): void;
  /** Shows nothing more. */
  close(): void;
}

/** The API as a whole does not answer, and all calls wait. */
export interface Outage {
  /** How long ago the first attempt of the outage started. */
  readonly forMs: number;
  /** How much longer the calls wait. */
  readonly leftMs: number;
  /** The result of the last attempt. */
  readonly reason: string;
}

/** The API answers again, or the client stopped waiting for it. */
export interface OutageEnd {
  readonly forMs: number;
  readonly isAnswered: boolean;
}

/** The text while the client waits for the API. */
export function outageText({ forMs, leftMs, reason }: Outage): string {
  return `the API has been unavailable for ${duration(forMs)}; waiting for it, at most ${duration(leftMs)} more (${reason})`;
}

/** The text when the wait is over. */
export function outageEndText({ forMs, isAnswered }: OutageEnd): string {
  return isAnswered
    ? `the API answers again after ${duration(forMs)}`
    : `the API has been unavailable for ${duration(forMs)}: not waiting any longer`;
}
