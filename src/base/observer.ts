/** What a run tells about its progress: for a terminal, a log, metrics. Every method is cheap and never throws. */
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
