import type { Clock } from '../base/clock.js';
import { OutageError } from '../base/errors.js';
import type { Outage, OutageEnd } from '../base/observer.js';
import { backoffMs } from '../base/retry.js';
import { duration } from '../base/units.js';
import { type FailureKind, meaningOf } from './failure.js';

/** This many failed attempts in a row, of any calls, are reason to ask whoami whether the API answers at all. */
const suspiciousFailures = 10;
/** So is this time without an answer: a 429 stops all calls for a while, so that failures take long to add up. */
const suspiciousMs = { least: 10_000, most: 300_000 };

/** Whether failures without an answer in between are reason to ask whoami. */
export function isSuspicious(failures: number, forMs: number, limitMs: number): boolean {
  const longMs = Math.min(Math.max(limitMs, suspiciousMs.least), suspiciousMs.most);
  return failures >= suspiciousFailures || (failures >= 2 && forMs >= longMs);
}

/**
 * The pause after failed probe number `probe` (1 for the first): it doubles from 2 s to a minute, less where the limit
 * is short, with jitter so that many clients do not come back at once. It is as long as the server asks for, and never
 * ends after the limit, so that the last probe is sent when the time is over. `random` is drawn from [0, 1).
 */
export function probePauseMs(
  probe: number,
  {
    limitMs,
    leftMs,
    retryAfterMs = 0,
  }: { limitMs: number; leftMs: number; retryAfterMs?: number | undefined },
  random: number,
): number {
  const ceiling = backoffMs(probe, Math.min(2_000, limitMs / 15), Math.min(60_000, limitMs / 4));
  return Math.max(0, Math.min(leftMs, Math.max(retryAfterMs, ceiling * (0.5 + random / 2))));
}

interface Probed {
  readonly isFailed: boolean;
  readonly retryAfterMs: number | undefined;
}

export interface OutageOptions {
  /** How long calls wait for the API, counted from the first failed attempt. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** Sends one request to whoami. Its outcome goes through `record`, as that of any attempt. */
  readonly probe: (signal: AbortSignal) => Promise<Probed>;
  /** Lets nothing but probes start, or everything again. */
  readonly hold: (isHeld: boolean) => void;
  /** Called when an outage begins, and once a minute while it lasts. */
  readonly onUnavailable: (outage: Outage) => void;
  readonly onEnd: (end: OutageEnd) => void;
}

/**
 * Tells an outage of the API from the failure of one endpoint, over all calls of a client. One failed call, or several
 * failed attempts in a row, are followed by a probe. If whoami answers, only the endpoint is broken. Otherwise all calls
 * wait, with one probe at a time and growing pauses, until the API answers or the limit is reached.
 */
export class OutageMonitor {
  /** When the latest attempt that was answered started. */
  #answeredFrom = Number.NEGATIVE_INFINITY;
  /** When the first failed attempt since then started. */
  #since: number | undefined;
  #failures = 0;
  #limitedAt = Number.NEGATIVE_INFINITY;
  #reason = '';
  #isOn = false;
  #count = 0;
  #missed = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #unavailableMs = 0;
  #accountedAt = Number.NEGATIVE_INFINITY;
  #callers = 0;
  #waiting: Promise<void> | undefined;
  #loop = new AbortController();
  #gaveUp = new AbortController();

  constructor(private readonly options: OutageOptions) {}

  /** Ends calls that wait anywhere, with an OutageError, when the limit is reached. Changes each time. */
  get gaveUp(): AbortSignal {
    return this.#gaveUp.signal;
  }

  /** How many outages there were so far: a call that failed in one starts over. */
  get count(): number {
    return this.#count;
  }

  /**
   * How many outages were over before a probe could show them: the probe failed, and another call was answered meanwhile. A
   * call that failed in one starts over once; where whoami itself is broken, every probe looks like this.
   */
  get missed(): number {
    return this.#missed;
  }

  /** Whether a probe is in flight, or an outage lasts. */
  get isProbing(): boolean {
    return this.#waiting !== undefined;
  }

  /** Whether calls must `wait` before their next attempt; ask again afterwards. */
  get mustWait(): boolean {
    return this.#isOn || isSuspicious(this.#failures, this.#forMs(), this.options.limitMs);
  }

  /** Whether an attempt that started at that time or later was answered. */
  isAnsweredSince(startedAt: number): boolean {
    return this.#answeredFrom >= startedAt;
  }

  /** Whether a failure of this kind can belong to an outage. */
  isSign(kind: FailureKind): boolean {
    const { isOutage } = meaningOf(kind);
    return isOutage === 'yes' || (isOutage !== 'no' && Number.isFinite(this.#answeredFrom));
  }

  /** Milliseconds of outages that no earlier call of this returned. */
  takeUnavailableMs(): number {
    if (this.#isOn) this.#account();
    const ms = this.#unavailableMs;
    this.#unavailableMs = 0;
    return ms;
  }

  /** An attempt that started at that time ended. `failure` is undefined for a good answer. */
  record(
    startedAt: number,
    failure: { readonly kind: FailureKind; readonly message: string } | undefined,
  ): void {
    if (failure === undefined || meaningOf(failure.kind).isOutage === 'no') {
      if (failure?.kind !== 'stopped') this.#answered(startedAt);
    } else if (this.isSign(failure.kind)) {
      this.#failed(startedAt, failure);
    }
  }

  /** A call begins; the function that it returns ends it. There is no probe for calls that have ended. */
  enter(): () => void {
    this.#callers += 1;
    return () => {
      this.#callers -= 1;
      if (this.#callers === 0) this.#loop.abort(new Error('no call waits'));
    };
  }

  /** The API answered, whatever it said. */
  #answered(startedAt: number): void {
    // One that was sent before the outage began proves nothing about it.
    if (this.#since !== undefined && startedAt < this.#since) return;
    this.#answeredFrom = Math.max(this.#answeredFrom, startedAt);
    const forMs = this.#forMs();
    if (this.#isOn) this.#account();
    this.#since = undefined;
    this.#failures = 0;
    if (!this.#isOn) return;
    this.#isOn = false;
    this.options.hold(false);
    this.options.onEnd({ forMs, isAnswered: true });
    this.#loop.abort(new Error('the API answers'));
  }

  #failed(startedAt: number, { kind, message }: { kind: FailureKind; message: string }): void {
    if (this.#answeredFrom > startedAt) return;
    // Attempts that were in flight together are all answered 429, and show no more than one of them.
    if (kind === 'limited' && startedAt <= this.#limitedAt) return;
    if (kind === 'limited') this.#limitedAt = this.options.clock.monotonic();
    this.#since ??= startedAt;
    this.#failures += 1;
    this.#reason = message;
  }

  /**
   * Asks whoami, and waits while the API does not answer. Resolves once an attempt was answered; rejects with an
   * OutageError when the limit is reached, or with the reason of `signal`.
   */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#waiting ??= this.#untilAnswered().finally(() => {
      this.#waiting = undefined;
    });
    await Promise.race([this.#waiting, aborted]);
  }

  async #untilAnswered(): Promise<void> {
    const { clock, limitMs, probe, hold } = this.options;
    this.#loop = new AbortController();
    const { signal } = this.#loop;
    const telling = new AbortController();
    try {
      for (let count = 1; ; count += 1) {
        const startedAt = clock.monotonic();
        const { isFailed, retryAfterMs } = await probe(signal);
        if (signal.aborted) return;
        if (this.isAnsweredSince(startedAt)) {
          if (isFailed && !this.#isOn) this.#missed += 1;
          return;
        }
        if (!this.#isOn) {
          this.#isOn = true;
          this.#count += 1;
          this.#toldAt = Number.NEGATIVE_INFINITY;
          hold(true);
        }
        const leftMs = limitMs - this.#forMs();
        if (leftMs <= 0) return this.#giveUp();
        if (count === 1) void this.#tell(telling.signal);
        const pauseMs = probePauseMs(count, { limitMs, leftMs, retryAfterMs }, Math.random());
        await clock.sleep(pauseMs, signal).catch(() => undefined);
        if (signal.aborted) return;
      }
    } finally {
      telling.abort();
    }
  }

  /** Every minute until `stop`: a pause or a probe may take longer, since a 429 delays the probe as well. */
  async #tell(stop: AbortSignal): Promise<void> {
    const { clock, limitMs, onUnavailable } = this.options;
    while (!stop.aborted && this.#isOn) {
      const waitMs = this.#toldAt + 60_000 - clock.monotonic();
      if (waitMs > 0) {
        await clock.sleep(waitMs, stop).catch(() => undefined);
        continue;
      }
      this.#toldAt = clock.monotonic();
      const forMs = this.#forMs();
      onUnavailable({ forMs, leftMs: Math.max(0, limitMs - forMs), reason: this.#reason });
    }
  }

  /** The calls that wait end; a later call probes once, and ends as they do unless the API answers then. */
  #giveUp(): never {
    const forMs = this.#forMs();
    this.#account();
    this.options.onEnd({ forMs, isAnswered: false });
    const error = new OutageError(
      `the API has been unavailable for ${duration(forMs)}; the last attempt: ${this.#reason}`,
      {
        hint: 'Run again when the API answers: everything that was committed stays, and the next run continues from there.',
      },
    );
    const { signal } = this.#gaveUp;
    this.#gaveUp.abort(error);
    this.#gaveUp = new AbortController();
    throw signal.reason;
  }

  /** Adds the time of the outage that was not counted yet. */
  #account(): void {
    const now = this.options.clock.monotonic();
    this.#unavailableMs += now - Math.max(this.#since ?? now, this.#accountedAt);
    this.#accountedAt = now;
  }

  #forMs(): number {
    return this.#since === undefined ? 0 : this.options.clock.monotonic() - this.#since;
  }
}
