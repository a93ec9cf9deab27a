import { type Clock, systemClock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { FactsCache } from '../facts-cache.js';
import type { RunRecord } from '../schedule/record.js';
import { type Deliver, DeliveryError, messageAbout } from './deliver.js';
import { afterLook, afterRun, afterTelling, type NotifyState, type NotifyStore, untold } from './state.js';

export interface NotifierOptions {
  /** webhook(), or another way out. */
  readonly deliver: Deliver;
  readonly store: NotifyStore;
  readonly facts: FactsCache;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  /** How often freshness is looked at, and what did not arrive is sent again; 60000 when absent. */
  readonly everyMs?: number | undefined;
}

/**
 * Tells the other side when a job begins to fail or the data to be stale, and when that is over: once per change, and
 * again until it has arrived. What changes and changes back before that is not told at all. Nothing here ever throws
 * at a job.
 */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #watchingSince: number;
  #state: NotifyState = {};
  /** Runs that ended before the state was loaded. */
  #work: Promise<void>;
  #watching: Promise<void> | undefined;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#watchingSince = this.#clock.now();
    this.#work = options.store.load().then(
      (state) => {
        this.#state = state ?? {};
      },
      (error: unknown) => options.log.warn({ err: error }, 'what was notified before is not known'),
    );
  }

  /** Looks at the freshness of the facts now and then, until `stop`. */
  start(): void {
    this.#watching ??= this.#watch();
  }

  /** Takes note of a run; cheap, and returns at once. */
  run(record: RunRecord): void {
    void this.#then(() => afterRun(this.#state, record));
  }

  /** Everything that was noted so far is stored, and was sent or given up for now. */
  settled(): Promise<void> {
    return this.#work;
  }

  /** Ends watching; what is being sent is given up, and sent again after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#work;
  }

  async #watch(): Promise<void> {
    const { everyMs = 60_000 } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#look();
      await this.#clock.sleep(everyMs, this.#stop.signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const cached = await this.#options.facts.latest();
    const freshness = cached?.facts.freshness ?? [];
    await this.#then(() => afterLook(this.#state, freshness, this.#clock.now(), this.#watchingSince));
  }

  /** One after the other: a change of state, its storing, and the telling of what is not told yet. */
  #then(change: () => NotifyState): Promise<void> {
    this.#work = this.#work.then(async () => {
      await this.#keep(change());
      await this.#tell();
    });
    return this.#work;
  }

  async #tell(): Promise<void> {
    const { deliver, log, facts } = this.#options;
    const organization = facts.last?.facts.contents?.organization;
    const from = organization?.name ?? organization?.id ?? 'Signalhouse';
    for (const subject of untold(this.#state)) {
      if (this.#stop.signal.aborted) return;
      try {
        await deliver(messageAbout(subject, from), this.#stop.signal);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        const reason = error instanceof DeliveryError ? messageOf(error) : 'it cannot be sent';
        log.warn({ subject: subject.name, reason }, `the webhook did not take a notification: ${reason}`);
        // The next one would fare no better; all of them are tried again at the next look.
        return;
      }
      await this.#keep(afterTelling(this.#state, subject));
    }
  }

  async #keep(state: NotifyState): Promise<void> {
    if (state === this.#state) return;
    this.#state = state;
    await this.#options.store.save(state).catch((error: unknown) => {
      this.#options.log.warn(
        { err: error },
        'what was notified cannot be stored: a restart may say it again',
      );
    });
  }
}
