/** What a run tells while it goes on: for a terminal, a log, metrics. Every method is cheap and never throws. */
export interface RunObserver {
  /** A phase starts: `total` is known for children (requests), unknown for a list before its first page. */
  phase(name: string, total: number | null): void;
  /** Steps of the current phase that are done, of how many. */
  progress(done: number, total: number | null): void;
  /** The current phase ends; `text` is its one-line result. */
  phaseEnd(text: string): void;
  /** Something a person should read now. */
  note(text: string): void;
}
