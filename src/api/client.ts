import { EventEmitter } from 'node:events';
import { type Clock, systemClock } from '../base/clock.js';
import { StoppedError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.js';
import { type Arrival, Attempts } from './attempt.js';
import { Budget, type BudgetOptions, guardedWindow } from './budget.js';
import type { ApiEvents } from './events.js';
import { Failure, toError } from './failure.js';
import { follow } from './follow.js';
import { Gate } from './gate.js';
import { PagingMemory, type PagingSettings } from './paging-memory.js';
import { type AnyRequest, type Prepared, prepare, type RequestOf } from './request.js';
import { nextStep, type RetryOptions } from './retry.js';
import { SpendingLog } from './spending-log.js';
import { Transport, type TransportOptions } from './transport.js';

export type Contract = Readonly<Record<string, Endpoint>>;

export interface ApiOptions {
  /** The API's base address, ending in /v1; https, or http on loopback. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly budget: BudgetOptions;
  /** Where spending is shared with other commands of this key; without it, nothing is shared. */
  readonly spendingLogPath?: string | undefined;
  /** Attempts in flight at most. */
  readonly concurrency: number;
  readonly timeouts: TransportOptions['timeouts'];
  readonly maxAnswerBytes: number;
  readonly retry: Pick<RetryOptions, 'attempts' | 'baseMs' | 'maxMs'> & {
    readonly limitedMs?: number | undefined;
  };
  readonly paging: PagingSettings;
  /** The endpoints that can be called, by name; the contract's own unless a test adds one. */
  readonly contract?: Contract | undefined;
  readonly log: Log;
  readonly userAgent?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** Who goes first when the budget is short. */
export const Priority = { push: 30, essential: 20, detail: 10 } as const;

export interface CallOptions {
  /** Higher goes first; see Priority. Default: detail. */
  readonly priority?: number | undefined;
  /** Ends every kind of waiting with its reason. What has been sent is left to finish within its deadline. */
  readonly signal?: AbortSignal | undefined;
  /** False: a 5xx is thrown at once, for whoever has to look before asking again. */
  readonly retryServerErrors?: boolean | undefined;
  /** Lists under properties of this name stand in the answer as Unread, to be recognized before they are parsed. */
  readonly unread?: string | undefined;
}

export interface Answer extends Arrival {
  readonly attempts: number;
}

/** The request may be left out where nothing in it is required. */
type CallArguments<N extends EndpointName> =
  Record<never, never> extends RequestOf<N>
    ? [request?: RequestOf<N>, options?: CallOptions]
    : [request: RequestOf<N>, options?: CallOptions];

/** A method for every endpoint of the contract. */
export type Endpoints = {
  readonly [N in EndpointName]: (...call: CallArguments<N>) => Promise<Answer>;
};

/** Beyond this many attempts a window a limit protects nobody, and two lines in a file for each would be felt. */
const sharedUpTo = 10_000;

/**
 * The client of one organization's API. Every attempt goes through the gate and pays a slot of the budget; a call ends
 * in an answer, or in one of the errors of base/errors, by how one recovers. Nothing it says or throws holds the key.
 */
export class Api {
  readonly budget: Budget;
  readonly events = new EventEmitter<ApiEvents>();
  readonly endpoints: Endpoints;
  readonly paging: PagingMemory;
  readonly contract: Contract;
  readonly #options: ApiOptions;
  readonly #clock: Clock;
  readonly #ledger: SpendingLog | undefined;
  readonly #gate: Gate;
  readonly #transport: Transport;
  readonly #attempts: Attempts;
  readonly #retry: RetryOptions;
  readonly #end = new AbortController();

  constructor(options: ApiOptions) {
    const { budget, spendingLogPath: ledgerPath, concurrency, log, clock = systemClock } = options;
    this.#options = options;
    this.contract = options.contract ?? endpoints;
    this.#clock = clock;
    this.#transport = new Transport({
      ...options,
      connections: concurrency,
      userAgent: options.userAgent ?? 'signalhouse',
    });
    if (ledgerPath !== undefined && budget.requests <= sharedUpTo) {
      const heldMs = guardedWindow(budget.windowMs);
      const { requests } = budget;
      const attemptMs = options.timeouts.totalMs;
      this.#ledger = new SpendingLog({ path: ledgerPath, heldMs, attemptMs, requests, clock, log });
    }
    this.budget = new Budget(budget, clock, this.#ledger);
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
      limitedMs: options.retry.limitedMs ?? 900_000,
      maxAskedMs: budget.maxPauseMs ?? 600_000,
    };
    this.paging = new PagingMemory(options.paging);
    const names = Object.keys(endpoints) as EndpointName[];
    this.endpoints = Object.fromEntries(
      names.map((name) => [
        name,
        (request?: AnyRequest, call?: CallOptions) => this.#call(name, request, call),
      ]),
    ) as unknown as Endpoints;
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
   * Asks endpoint `name`, and again where that can help. Throws RefusedError (401, 403), RejectedError (other 4xx),
   * UnavailableError (no usable answer, once the retries are used up; at once for a write without an
   * Idempotency-Key, which may or may not have been carried out), ContractError (a redirect, an answer beyond the
   * size cap, an id that cannot stand in a path), or the reason of `signal`.
   */
  call<N extends EndpointName>(name: N, ...[request, options]: CallArguments<N>): Promise<Answer> {
    return this.#call(name, request as AnyRequest | undefined, options);
  }

  /** The same for a GET that is named by a value, such as a resource of the table. Throws what `call` throws. */
  get(name: string, request?: AnyRequest, options?: CallOptions): Promise<Answer> {
    return this.#call(name, request, options);
  }

  /** Ends what waits (StoppedError), lets what has been sent finish, and closes the connections. */
  async close(): Promise<void> {
    this.#end.abort(new StoppedError('The client was closed'));
    await this.#gate.idle();
    await this.#transport.close();
    this.#ledger?.close();
  }

  /** Ends what waits, and what is in flight, at once (StoppedError, or `reason`). */
  async destroy(reason: Error = new StoppedError('The client was stopped')): Promise<void> {
    this.#end.abort(reason);
    await this.#transport.destroy();
    await this.#gate.idle();
    this.#ledger?.close();
  }

  async #call(name: string, request: AnyRequest = {}, options: CallOptions = {}): Promise<Answer> {
    const endpoint = this.contract[name];
    if (!endpoint) throw new Error(`there is no endpoint ${name}`);
    const prepared = { ...prepare(name, endpoint, request), unread: options.unread };
    const stop = follow([options.signal, this.#end.signal]);
    try {
      return await this.#persist(prepared, {
        priority: options.priority ?? Priority.detail,
        signal: stop.signal,
        retryServerErrors: options.retryServerErrors ?? true,
      });
    } finally {
      stop.release();
    }
  }

  /** Attempts until there is an answer, or no sense in going on. */
  async #persist(
    prepared: Prepared,
    waiting: { priority: number; signal: AbortSignal; retryServerErrors: boolean },
  ): Promise<Answer> {
    let failures = 0;
    let limitedSince: number | undefined;
    for (let attempt = 1; ; attempt++) {
      waiting.signal.throwIfAborted();
      const outcome = await this.#gate.pass(() => this.#attempts.make(prepared, attempt), waiting);
      if (!(outcome instanceof Failure)) return { ...outcome, attempts: attempt };
      if (outcome.kind === 'stopped') throw this.#end.signal.reason;
      if (outcome.kind === 'limited') {
        limitedSince ??= this.#clock.monotonic();
      } else {
        limitedSince = undefined;
        failures++;
      }
      const limitedForMs = this.#clock.monotonic() - (limitedSince ?? this.#clock.monotonic());
      const { kind, detail } = outcome;
      const setback = {
        kind,
        repeatable: prepared.repeatable,
        failures,
        limitedForMs,
        askedMs: detail.askedMs,
      };
      const step = nextStep(setback, this.#retry, Math.random());
      if (!step.again || (kind === 'server_error' && !waiting.retryServerErrors))
        throw toError(unsure(outcome, prepared), prepared.where, attempt);
      this.#options.log.debug({ ...prepared.where, attempt, kind, afterMs: step.afterMs }, 'trying again');
      await this.#clock.sleep(step.afterMs, waiting.signal);
    }
  }
}

/** Says so when a write may have been carried out although no good answer came. */
function unsure(failure: Failure, prepared: Prepared): Failure {
  if (
    prepared.repeatable ||
    !['reset', 'cut_short', 'headers_timeout', 'total_timeout', 'server_error'].includes(failure.kind)
  ) {
    return failure;
  }
  const hint = 'It may or may not have been carried out: look before sending it again.';
  return new Failure(failure.kind, failure.message, { ...failure.detail, hint });
}
