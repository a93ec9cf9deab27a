import { EventEmitter } from 'node:events';
import { type Clock, ServiceClock, systemClock } from '../base/clock.js';
import { OutdatedError, StoppedError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { outageEndText, outageText } from '../base/observer.js';
import { endpoints } from '../contract/endpoints.js';
import { type Answer, type ApiEvents, Attempts } from './attempt.js';
import { Budget, type BudgetOptions, guardedWindow } from './budget.js';
import { AttemptFailure, type FailureKind, mayBeApplied, toEndpointRefusal, toError } from './failure.js';
import { Gate, linkSignals, probePriority } from './gate.js';
import { ApiKey } from './key.js';
import { OutageMonitor } from './outage.js';
import { PagingMemory, type PagingSettings } from './page.js';
import {
  type AnyRequest,
  type CallOptions,
  type Contract,
  endpointOf,
  type PreparedRequest,
  Priority,
  prepareRequest,
  type Timeouts,
  usualTimeouts,
} from './request.js';
import { type RetryOptions, retryOptions, retryPauseMs } from './retry.js';
import { SpendingLog } from './spending-log.js';
import { Transport, usualMaxAnswerBytes } from './transport.js';

export interface ApiOptions {
  /** The API's base address, ending in /v1; https, or http on loopback. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Reads the key again from its file: after a 401, a key that was replaced is used at once. It may throw. */
  readonly readKey?: (() => string) | undefined;
  readonly budget: BudgetOptions;
  /** The file that shares the spending with other commands of this key; without it, nothing is shared. */
  readonly spendingLogPath?: string | undefined;
  /** The most attempts in flight at one time. */
  readonly concurrency: number;
  readonly timeouts?: Timeouts | undefined;
  readonly maxAnswerBytes?: number | undefined;
  readonly retry?: Partial<RetryOptions>;
  /**
   * How long calls wait when the API as a whole does not answer. Without it nothing waits, and a 401 or 403 of any
   * endpoint counts as a refused key.
   */
  readonly outageMs?: number | undefined;
  readonly paging: PagingSettings;
  /** The endpoints that can be called, by name; by default those of the API's document. */
  readonly contract?: Contract | undefined;
  readonly log: Log;
  readonly userAgent?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** Above this many attempts per window, a limit protects no server, and two lines in a file per attempt cost too much. */
const sharedUpTo = 10_000;

/**
 * The client of one organization's API. Every attempt passes the gate and takes a slot of the budget. A call ends with
 * an answer or with one of the errors of base/errors, classed by recovery. No message or error holds the key.
 */
export class Api {
  readonly budget: Budget;
  readonly events = new EventEmitter<ApiEvents>();
  readonly paging: PagingMemory;
  readonly contract: Contract;
  /** How often and when a call is tried again. */
  readonly retry: RetryOptions;
  /** The time of the service, as its answers say it. */
  readonly clock: ServiceClock;
  readonly #options: ApiOptions;
  readonly #clock: Clock;
  readonly #spendingLog: SpendingLog | undefined;
  readonly #gate: Gate;
  readonly #key: ApiKey;
  readonly #transport: Transport;
  readonly #attempts: Attempts;
  readonly #outage: OutageMonitor | undefined;
  readonly #end = new AbortController();
  /** When the latest attempt that was answered 2xx started, and the latest whoami that was refused. */
  #acceptedFrom = Number.NEGATIVE_INFINITY;
  #refusedFrom = Number.NEGATIVE_INFINITY;

  constructor(options: ApiOptions) {
    const { budget, spendingLogPath, concurrency, log, clock = systemClock } = options;
    const { timeouts = usualTimeouts, maxAnswerBytes = usualMaxAnswerBytes } = options;
    this.#options = options;
    this.contract = options.contract ?? endpoints;
    this.#clock = clock;
    this.clock = new ServiceClock(clock);
    this.#key = new ApiKey(options.apiKey, options.readKey);
    this.#transport = new Transport({
      ...options,
      key: this.#key,
      timeouts,
      maxAnswerBytes,
      connections: concurrency,
      userAgent: options.userAgent ?? 'signalhouse',
    });
    if (spendingLogPath !== undefined && budget.requests <= sharedUpTo) {
      const heldMs = guardedWindow(budget.windowMs);
      const { requests } = budget;
      const attemptMs = timeouts.totalMs;
      this.#spendingLog = new SpendingLog({ path: spendingLogPath, heldMs, attemptMs, requests, clock, log });
    }
    this.budget = new Budget(budget, clock, this.#spendingLog);
    this.#attempts = new Attempts({
      transport: this.#transport,
      budget: this.budget,
      events: this.events,
      clock,
      serviceClock: this.clock,
      log,
      key: this.#key,
    });
    this.#gate = new Gate(this.budget, concurrency, clock);
    this.retry = { ...retryOptions(budget), ...options.retry };
    this.paging = new PagingMemory(options.paging);
    if (options.outageMs !== undefined) this.#outage = this.#monitor(options.outageMs);
  }

  get concurrency(): number {
    return this.#options.concurrency;
  }

  /** How many outages of the API as a whole there were so far. */
  get outages(): number {
    return this.#outage?.count ?? 0;
  }

  /** Milliseconds for which the API as a whole did not answer, and that no earlier call of this returned. */
  takeUnavailableMs(): number {
    return this.#outage?.takeUnavailableMs() ?? 0;
  }

  /**
   * Calls endpoint `name`, and retries where that can help. Throws RefusedError (401 or 403, and whoami refuses the key
   * as well), RejectedError (any other 4xx), UnavailableError (no usable answer after all retries, although the API
   * answers others; at once for a write without an Idempotency-Key, which may or may not have been applied), OutageError
   * (the API as a whole did not answer for `outageMs`), AnswerTooLargeError, ContractError (a redirect, an id that is not
   * valid in a path), OutdatedError (`isCurrent` said no), or the reason of `signal`.
   */
  async call(name: string, request: AnyRequest = {}, options: CallOptions = {}): Promise<Answer> {
    const endpoint = endpointOf(this.contract, name);
    const { unparsed, maxBytes, onResponse } = options;
    const prepared = { ...prepareRequest(name, endpoint, request), unparsed, maxBytes, onResponse };
    const leave = this.#outage?.enter();
    const stop = linkSignals([options.signal, this.#end.signal, this.#outage?.gaveUp]);
    try {
      return await this.#attempt(prepared, {
        priority: options.priority ?? Priority.detail,
        signal: stop.signal,
        retryInDoubt: options.retryInDoubt ?? true,
        isCurrent: options.isCurrent,
      });
    } finally {
      stop.release();
      leave?.();
    }
  }

  /** Ends the calls that wait (StoppedError), lets requests that were sent finish, and closes the connections. */
  async close(): Promise<void> {
    this.#end.abort(new StoppedError('The client is closed'));
    await this.#gate.idle();
    await this.#transport.close();
    this.#spendingLog?.close();
  }

  /** Ends all calls at once, those in flight too (StoppedError). */
  async destroy(): Promise<void> {
    this.#end.abort(new StoppedError('The client is stopped'));
    await this.#transport.destroy();
    await this.#gate.idle();
    this.#spendingLog?.close();
  }

  /** Makes attempts until one succeeds or a retry cannot help. An outage does not count as a failure of the call. */
  async #attempt(request: PreparedRequest, waiting: Waiting): Promise<Answer> {
    let failures = 0;
    let rateLimitedSince: number | undefined;
    let outages = this.#outage?.count ?? 0;
    let missed = this.#outage?.missed;
    for (let attempt = 1; ; attempt++) {
      waiting.signal.throwIfAborted();
      while (this.#outage?.mustWait) await this.#outage.wait(waiting.signal);
      // Asked again when it is its turn; here it costs no slot of the budget.
      if (waiting.isCurrent?.() === false) throw outdated(request);
      const { outcome, startedAt, key } = await this.#send(request, attempt, waiting);
      if (!(outcome instanceof AttemptFailure)) return outcome;
      const { kind, detail } = outcome;
      if (kind === 'stopped') throw this.#end.signal.reason;
      if (detail.status === 401 && this.#key.hasReplaced(key)) continue;
      if (this.#outage && this.#outage.count > outages) {
        outages = this.#outage.count;
        failures = 0;
        rateLimitedSince = undefined;
      }
      const now = this.#clock.monotonic();
      if (kind === 'limited') {
        rateLimitedSince ??= now;
      } else {
        rateLimitedSince = undefined;
        failures++;
      }
      const delayMs = retryPauseMs(
        {
          kind,
          repeatable: request.repeatable,
          failures,
          rateLimitedForMs: now - (rateLimitedSince ?? now),
          retryAfterMs: detail.retryAfterMs,
        },
        this.retry,
        Math.random(),
      );
      const isForCaller = !waiting.retryInDoubt && leavesOpen(kind, request);
      if (delayMs === null || isForCaller) {
        const isRepeated = request.repeatable && !isForCaller;
        if (isRepeated && (await this.#wasOutage(kind, startedAt, waiting.signal))) continue;
        if (isRepeated && missed !== undefined && (this.#outage?.missed ?? 0) > missed) {
          missed = undefined;
          failures = 0;
          continue;
        }
        if (kind === 'refused' && (await this.#isKeyAccepted(request, startedAt, waiting.signal))) {
          throw toEndpointRefusal(outcome, request.where);
        }
        throw toError(withDoubt(outcome, request), request.where, attempt);
      }
      this.#options.log.debug({ ...request.where, attempt, kind, delayMs }, 'the attempt failed: retrying');
      await this.#clock.sleep(delayMs, waiting.signal);
    }
  }

  /** Makes one attempt, and tells the monitor of outages what came of it. */
  async #send(
    request: PreparedRequest,
    attempt: number,
    waiting: Omit<Waiting, 'retryInDoubt'>,
  ): Promise<{ outcome: Answer | AttemptFailure; startedAt: number; key: string }> {
    let startedAt = 0;
    let key = '';
    const outcome = await this.#gate.pass(() => {
      if (waiting.isCurrent?.() === false) throw outdated(request);
      startedAt = this.#clock.monotonic();
      key = this.#key.current;
      return this.#attempts.make(request, attempt);
    }, waiting);
    const failure = outcome instanceof AttemptFailure ? outcome : undefined;
    const { endpoint, method, path } = request.where;
    if (!failure) this.#acceptedFrom = Math.max(this.#acceptedFrom, startedAt);
    if (failure?.kind === 'refused' && endpoint === 'whoami') this.#refusedFrom = startedAt;
    const message = `${endpoint}: ${method} ${path} ${failure?.message}`;
    this.#outage?.record(startedAt, failure && { kind: failure.kind, message });
    return { outcome, startedAt, key };
  }

  /** Whether the call failed because the API as a whole did not answer; then it answers again. */
  async #wasOutage(kind: FailureKind, startedAt: number, signal: AbortSignal): Promise<boolean> {
    const outage = this.#outage;
    if (!outage?.isSign(kind)) return false;
    const before = outage.count;
    // A probe in flight may show an outage that is over, although another call was answered since.
    while (outage.isProbing || !outage.isAnsweredSince(startedAt)) await outage.wait(signal);
    return outage.count > before;
  }

  /** After a 401 or 403: whether the API accepts the key nevertheless, so that only this endpoint refuses it. */
  async #isKeyAccepted({ where }: PreparedRequest, startedAt: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#outage || where.endpoint === 'whoami') return false;
    // The first probe that ends may have started before; one that is neither accepted nor refused proves nothing.
    for (let probes = 0; probes < 3; probes += 1) {
      if (this.#acceptedFrom >= startedAt) return true;
      if (this.#refusedFrom >= startedAt) return false;
      await this.#outage.wait(signal);
    }
    return this.#refusedFrom < startedAt;
  }

  #monitor(limitMs: number): OutageMonitor {
    const request = prepareRequest('whoami', endpoints.whoami, {});
    return new OutageMonitor({
      limitMs,
      clock: this.#clock,
      hold: (isHeld) => this.#gate.hold(isHeld),
      probe: async (stop) => {
        const signal = linkSignals([stop, this.#end.signal]);
        try {
          const { outcome } = await this.#send(request, 1, {
            priority: probePriority,
            signal: signal.signal,
          });
          const failure = outcome instanceof AttemptFailure ? outcome : undefined;
          return { isFailed: failure !== undefined, retryAfterMs: failure?.detail.retryAfterMs };
        } catch (error) {
          // No call waits for it any more.
          if (signal.signal.aborted) return { isFailed: false, retryAfterMs: undefined };
          throw error;
        } finally {
          signal.release();
        }
      },
      onUnavailable: (state) => {
        if (!this.events.emit('unavailable', state)) this.#options.log.warn(outageText(state));
      },
      onEnd: (end) => {
        if (!this.events.emit('outageEnd', end)) this.#options.log.warn(outageEndText(end));
      },
    });
  }
}

interface Waiting {
  readonly priority: number;
  readonly signal: AbortSignal;
  readonly retryInDoubt: boolean;
  readonly isCurrent?: (() => boolean) | undefined;
}

/** Whether a failed attempt leaves open what the API has now: any that may have written something, and every 5xx. */
function leavesOpen(kind: FailureKind, { where }: PreparedRequest): boolean {
  return kind === 'server_error' || (where.method !== 'GET' && mayBeApplied(kind));
}

function outdated({ where }: PreparedRequest): OutdatedError {
  const { endpoint, method, path } = where;
  return new OutdatedError(`${endpoint}: ${method} ${path} waited too long`);
}

/** Adds a hint when the server may have applied a write although no good answer came. */
function withDoubt(failure: AttemptFailure, { repeatable }: PreparedRequest): AttemptFailure {
  if (repeatable || !mayBeApplied(failure.kind)) return failure;
  const hint = 'The service may or may not have applied it: check before you send it again.';
  return new AttemptFailure(failure.kind, failure.message, { ...failure.detail, hint });
}
