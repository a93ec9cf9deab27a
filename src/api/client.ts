import { EventEmitter } from 'node:events';
import { type Clock, systemClock } from '../base/clock.js';
import { StoppedError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type EndpointName, endpoints } from '../contract/endpoints.js';
import { type ApiEvents, type ApiResponse, Attempts } from './attempt.js';
import { Budget, type BudgetOptions, guardedWindow } from './budget.js';
import { Failure, type FailureKind, toError } from './failure.js';
import { Gate, linkSignals } from './gate.js';
import { PagingMemory, type PagingSettings } from './page.js';
import {
  type AnyRequest,
  type CallArguments,
  type CallOptions,
  type Contract,
  endpointOf,
  type PreparedRequest,
  prepareRequest,
} from './request.js';
import { decideRetry, type RetryOptions } from './retry.js';
import { SpendingLog } from './spending-log.js';
import { Transport, type TransportOptions } from './transport.js';

export interface ApiOptions {
  /** The API's base address, ending in /v1; https, or http on loopback. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly budget: BudgetOptions;
  /** The file that shares the spending with other commands of this key; without it, nothing is shared. */
  readonly spendingLogPath?: string | undefined;
  /** The most attempts in flight at one time. */
  readonly concurrency: number;
  readonly timeouts: TransportOptions['timeouts'];
  readonly maxAnswerBytes: number;
  readonly retry: Pick<RetryOptions, 'attempts' | 'baseMs' | 'maxMs'> & {
    readonly rateLimitedMs?: number | undefined;
  };
  readonly paging: PagingSettings;
  /** The endpoints that can be called, by name; by default those of the API's document. */
  readonly contract?: Contract | undefined;
  readonly log: Log;
  readonly userAgent?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** Priorities of calls that wait for the budget. */
export const Priority = { push: 30, essential: 20, detail: 10 } as const;

export interface Answer extends ApiResponse {
  readonly attempts: number;
}

/** Above this many attempts per window, a limit protects nobody, and two lines in a file per attempt cost too much. */
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
  readonly #options: ApiOptions;
  readonly #clock: Clock;
  readonly #spendingLog: SpendingLog | undefined;
  readonly #gate: Gate;
  readonly #transport: Transport;
  readonly #attempts: Attempts;
  readonly #retry: RetryOptions;
  readonly #end = new AbortController();

  constructor(options: ApiOptions) {
    const { budget, spendingLogPath, concurrency, log, clock = systemClock } = options;
    this.#options = options;
    this.contract = options.contract ?? endpoints;
    this.#clock = clock;
    this.#transport = new Transport({
      ...options,
      connections: concurrency,
      userAgent: options.userAgent ?? 'signalhouse',
    });
    if (spendingLogPath !== undefined && budget.requests <= sharedUpTo) {
      const heldMs = guardedWindow(budget.windowMs);
      const { requests } = budget;
      const attemptMs = options.timeouts.totalMs;
      this.#spendingLog = new SpendingLog({ path: spendingLogPath, heldMs, attemptMs, requests, clock, log });
    }
    this.budget = new Budget(budget, clock, this.#spendingLog);
    this.#attempts = new Attempts({
      transport: this.#transport,
      budget: this.budget,
      events: this.events,
      clock,
      log,
      secret: options.apiKey,
    });
    this.#gate = new Gate(this.budget, concurrency, clock);
    this.#retry = {
      ...options.retry,
      rateLimitedMs: options.retry.rateLimitedMs ?? 900_000,
      maxRetryAfterMs: budget.maxPauseMs ?? 600_000,
    };
    this.paging = new PagingMemory(options.paging);
  }

  /** Attempts in flight now. */
  get inFlight(): number {
    return this.#gate.inFlight;
  }

  /** Attempts that wait for their turn or for the budget. */
  get waiting(): number {
    return this.#gate.waiting;
  }

  /**
   * Calls endpoint `name`, and retries where that can help. Throws RefusedError (401, 403), RejectedError (other 4xx),
   * UnavailableError (no usable answer after all retries; at once for a write without an Idempotency-Key, which may or
   * may not have been applied), ContractError (a redirect, an answer above the size cap, an id that is not valid in a
   * path), or the reason of `signal`.
   */
  call<N extends EndpointName>(name: N, ...[request, options]: CallArguments<N>): Promise<Answer> {
    return this.#call(name, request as AnyRequest | undefined, options);
  }

  /** Like `call`, for a GET whose endpoint is a value, such as a resource of the table. Throws the errors of `call`. */
  get(name: string, request?: AnyRequest, options?: CallOptions): Promise<Answer> {
    return this.#call(name, request, options);
  }

  /** Ends the calls that wait (StoppedError), lets requests that were sent finish, and closes the connections. */
  async close(): Promise<void> {
    this.#end.abort(new StoppedError('The client is closed'));
    await this.#gate.idle();
    await this.#transport.close();
    this.#spendingLog?.close();
  }

  /** Ends all calls at once, those in flight too (StoppedError, or `reason`). */
  async destroy(reason: Error = new StoppedError('The client is stopped')): Promise<void> {
    this.#end.abort(reason);
    await this.#transport.destroy();
    await this.#gate.idle();
    this.#spendingLog?.close();
  }

  async #call(name: string, request: AnyRequest = {}, options: CallOptions = {}): Promise<Answer> {
    const endpoint = endpointOf(this.contract, name);
    const prepared = { ...prepareRequest(name, endpoint, request), unparsed: options.unparsed };
    const stop = linkSignals([options.signal, this.#end.signal]);
    try {
      return await this.#attempt(prepared, {
        priority: options.priority ?? Priority.detail,
        signal: stop.signal,
        retryServerErrors: options.retryServerErrors ?? true,
      });
    } finally {
      stop.release();
    }
  }

  /** Makes attempts until one succeeds or a retry cannot help. */
  async #attempt(
    request: PreparedRequest,
    waiting: { priority: number; signal: AbortSignal; retryServerErrors: boolean },
  ): Promise<Answer> {
    let failures = 0;
    let rateLimitedSince: number | undefined;
    for (let attempt = 1; ; attempt++) {
      waiting.signal.throwIfAborted();
      const outcome = await this.#gate.pass(() => this.#attempts.make(request, attempt), waiting);
      if (!(outcome instanceof Failure)) return { ...outcome, attempts: attempt };
      const { kind, detail } = outcome;
      if (kind === 'stopped') throw this.#end.signal.reason;
      const now = this.#clock.monotonic();
      if (kind === 'limited') {
        rateLimitedSince ??= now;
      } else {
        rateLimitedSince = undefined;
        failures++;
      }
      const decision = decideRetry(
        {
          kind,
          repeatable: request.repeatable,
          failures,
          rateLimitedForMs: now - (rateLimitedSince ?? now),
          retryAfterMs: detail.retryAfterMs,
        },
        this.#retry,
        Math.random(),
      );
      if (!decision.retry || (kind === 'server_error' && !waiting.retryServerErrors)) {
        throw toError(withDoubt(outcome, request), request.where, attempt);
      }
      const { delayMs } = decision;
      this.#options.log.debug({ ...request.where, attempt, kind, delayMs }, 'the attempt failed: retrying');
      await this.#clock.sleep(delayMs, waiting.signal);
    }
  }
}

const mayBeApplied: readonly FailureKind[] = [
  'reset',
  'cut_short',
  'headers_timeout',
  'total_timeout',
  'server_error',
];

/** Adds a hint when the server may have applied a write although no good answer came. */
function withDoubt(failure: Failure, { repeatable }: PreparedRequest): Failure {
  if (repeatable || !mayBeApplied.includes(failure.kind)) return failure;
  const hint = 'The service may or may not have applied it: check before you send it again.';
  return new Failure(failure.kind, failure.message, { ...failure.detail, hint });
}
