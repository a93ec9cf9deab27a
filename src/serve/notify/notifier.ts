import { type Clock, iso, systemClock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { FactsCache } from '../facts-cache.js';
import type { RunRecord } from '../schedule/record.js';
import { type Deliver, DeliveryError, messageAbout } from './deliver.js';
import {
  afterCheck,
  afterDelivery,
  afterRun,
  isReminder,
  type NotifyState,
  type NotifyStore,
  ofJobs,
  pending,
} from './state.js';

export interface NotifierOptions {
  /** The name of the channel in the log: `webhook`, `e-mail`. */
  readonly name: string;
  /** webhook(), or another way to deliver. */
  readonly deliver: Deliver;
  readonly store: NotifyStore;
  /** The names of the jobs of the settings. */
  readonly jobs: readonly string[];
  readonly facts: FactsCache;
  readonly log: Log;
  /** The name in the settings; without it, that of the warehouse. */
  readonly organization?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** How often freshness is checked and undelivered messages are sent again. */
const everyMs = 60_000;

/**
 * Notifies when a job starts to fail or data becomes stale, and when that is over: once per change, and once a day while it
 * lasts, repeated until it is delivered. A change that is undone before it was delivered is not sent. Nothing here throws
 * into a job.
 */
export class Notifier {
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #watchingSince: number;
  #state: NotifyState = {};
  /** Updates are chained here: the first ones wait until the state is loaded. */
  #work: Promise<void>;
  #watching: Promise<void> | undefined;

  constructor(private readonly options: NotifierOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#watchingSince = this.#clock.now();
    this.#work = options.store.load().then(
      (state) => {
        this.#state = ofJobs(state ?? {}, options.jobs);
      },
      (error: unknown) =>
        options.log.warn({ err: error }, 'cannot read which notifications were sent: some may be sent again'),
    );
  }

  /** Checks the freshness of the facts regularly, until `stop`. */
  start(): void {
    this.#watching ??= this.#watch();
  }

  /** Records a run and returns at once. */
  run(record: RunRecord): void {
    void this.#then(() => afterRun(this.#state, record));
  }

  /** Resolves when everything recorded so far is stored, and is sent or has failed for now. */
  idle(): Promise<void> {
    return this.#work;
  }

  /** Stops checking. A message that is being sent is abandoned, and sent again after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#work;
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look();
      await this.#clock.sleep(everyMs, this.#stop.signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const cached = await this.options.facts.latest();
    const freshness = cached?.facts.freshness ?? [];
    await this.#then(() => afterCheck(this.#state, freshness, this.#clock.now(), this.#watchingSince));
  }

  /** In sequence: changes the state, stores it, and sends what is not sent yet. */
  #then(change: () => NotifyState): Promise<void> {
    this.#work = this.#work.then(async () => {
      await this.#keep(change());
      await this.#tell();
    });
    return this.#work;
  }

  async #tell(): Promise<void> {
    const { name, deliver, log, facts } = this.options;
    const organization = facts.last?.facts.contents?.organization;
    const from = this.options.organization ?? organization?.name ?? organization?.id ?? 'Signalhouse';
    const now = this.#clock.now();
    for (const subject of pending(this.#state, now)) {
      if (this.#stop.signal.aborted) return;
      try {
        const note = await deliver(messageAbout(subject, from, isReminder(subject, now)), this.#stop.signal);
        if (note !== null)
          log.warn({ subject: subject.name }, `${name}: a notification was sent, but ${note}`);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        const reason = error instanceof DeliveryError ? messageOf(error) : 'it could not be sent';
        log.warn({ subject: subject.name, reason }, `the ${name} did not accept a notification: ${reason}`);
        // All are sent again at the next check. Without an answer the next one would fail too; a refusal may be about this one only.
        if (!(error instanceof DeliveryError) || error.isTransient) return;
        continue;
      }
      await this.#keep(afterDelivery(this.#state, subject, iso(now)));
    }
  }

  async #keep(state: NotifyState): Promise<void> {
    if (state === this.#state) return;
    this.#state = state;
    await this.options.store.save(state).catch((error: unknown) => {
      this.options.log.warn(
        { err: error },
        'cannot store which notifications were sent: after a restart they may be sent again',
      );
    });
  }
}
