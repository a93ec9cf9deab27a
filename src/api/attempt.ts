import type { EventEmitter } from 'node:events';
import { type Arrival, arrivalNow, type Clock, type ServiceClock } from '../base/clock.js';
import { messageOf, type Where } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Outage, OutageEnd } from '../base/observer.js';
import type { Budget } from './budget.js';
import { AttemptFailure, type FailureKind } from './failure.js';
import type { ApiKey } from './key.js';
import type { PreparedRequest } from './request.js';
import { type HttpResponse, header, readResponse } from './response.js';
import type { Transport } from './transport.js';

/** One attempt, answered or not: the source of `ops.requests` and of the metrics. Never holds the key. */
export interface Attempt extends Where {
  /** By this machine's clock. */
  readonly startedAt: Date;
  /** From the send to the end of the response, without the wait for a slot. */
  readonly ms: number;
  /** Size of the body, decompressed; 0 without a response. */
  readonly bytes: number;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  readonly status?: number | undefined;
  readonly errorKind?: FailureKind | undefined;
  /** The server's X-Request-Id or Request-Id. */
  readonly requestId?: string | undefined;
  /** The Date header of the response: the server's clock, in whole seconds. */
  readonly serverDate?: Date | undefined;
}

/** Events of the client, for `node:events`. */
export interface ApiEvents {
  attempt: [Attempt];
  /** When an outage begins, and once a minute while it lasts. */
  unavailable: [Outage];
  outageEnd: [OutageEnd];
}

export interface Answer {
  /**
   * The parsed JSON, not checked against any schema (`textOf` in json-text.ts finds its text), with a JsonText for each
   * list that the call left unparsed; null for a write that was answered without a body.
   */
  readonly body: unknown;
  readonly status: number;
  /** When the last byte of the response arrived. */
  readonly arrivedAt: Arrival;
  /** Size of the body, decompressed. */
  readonly bytes: number;
  /** Its Link header names a next page. */
  readonly hasNext?: boolean | undefined;
}

export interface AttemptsOptions {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly events: EventEmitter<ApiEvents>;
  readonly clock: Clock;
  /** Told of the time that each answer says; what arrives has its time. */
  readonly serviceClock: ServiceClock;
  readonly log: Log;
  /** Removed from every text that comes from the server. */
  readonly key: ApiKey;
}

/** Makes single attempts: sends the request, reads the response, emits the event, and tells the budget of a 429. */
export class Attempts {
  constructor(private readonly options: AttemptsOptions) {}

  /** Makes attempt number `attempt` of a call. Never rejects because of the server or the network. */
  async make(request: PreparedRequest, attempt: number): Promise<Answer | AttemptFailure> {
    const { transport, budget, clock, serviceClock } = this.options;
    const startedAt = new Date(clock.now());
    const start = clock.monotonic();
    const sent = await orFailure(() => transport.send(request));
    const ms = clock.monotonic() - start;
    const response = sent instanceof AttemptFailure ? undefined : sent;
    if (response) request.onResponse?.(response);
    const serverDate = response && dateOf(response);
    if (serverDate) serviceClock.answered(serverDate, ms);
    const arrivedAt = arrivalNow(serviceClock);
    const outcome = sent instanceof AttemptFailure ? sent : await this.#read(sent, request, arrivedAt);

    const failure = outcome instanceof AttemptFailure ? outcome : undefined;
    const status = response?.status ?? failure?.detail.status;
    if (failure?.kind === 'limited') this.#pause(request.where.endpoint, failure.detail.retryAfterMs);
    else if (status !== undefined) budget.accepted();
    this.#tell({
      ...request.where,
      startedAt,
      ms,
      bytes: response?.body.length ?? 0,
      attempt,
      status,
      errorKind: failure?.kind,
      requestId: response && this.#requestId(response),
      serverDate,
    });
    return outcome;
  }

  #read(
    response: HttpResponse,
    request: PreparedRequest,
    arrivedAt: Arrival,
  ): Promise<Answer | AttemptFailure> {
    const { method, unparsed } = request;
    return orFailure(() => ({
      body: readResponse(response, { method, now: arrivedAt.at.getTime(), scrub: this.#scrub, unparsed }),
      status: response.status,
      arrivedAt,
      bytes: response.body.length,
      hasNext: /rel="?[^";,]*\bnext\b/i.test(header(response.headers, 'link') ?? ''),
    }));
  }

  #pause(endpoint: string, retryAfterMs: number | undefined): void {
    const pause = this.options.budget.rateLimited(retryAfterMs);
    const text = pause.capped
      ? 'rate limited (429): the API asks for a longer pause than this client waits; requests resume sooner'
      : 'rate limited (429): no requests until the pause is over';
    this.options.log.warn({ endpoint, ...pause }, text);
  }

  #requestId(response: HttpResponse): string | undefined {
    const id = header(response.headers, 'x-request-id') ?? header(response.headers, 'request-id');
    return id === undefined ? undefined : this.#scrub(id).slice(0, 200);
  }

  readonly #scrub = (text: string): string => this.options.key.scrub(text);

  /** A listener that throws must not turn a request that succeeded into one that failed. */
  #tell(attempt: Attempt): void {
    const { events, log } = this.options;
    try {
      events.emit('attempt', attempt);
    } catch (error) {
      log.error({ problem: messageOf(error) }, 'an event listener failed');
    }
  }
}

/** The result of `work`, or the AttemptFailure that it throws. Other errors are bugs and are thrown on. */
async function orFailure<T>(work: () => T | Promise<T>): Promise<T | AttemptFailure> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AttemptFailure) return error;
    throw error;
  }
}

/** How far this machine's clock is ahead of the server's; null when the response has no date. A date has whole seconds and
 * lies between the request and the response. */
export function clockAheadMs({ startedAt, ms, serverDate }: Attempt): number | null {
  return serverDate ? startedAt.getTime() + ms / 2 - (serverDate.getTime() + 500) : null;
}

function dateOf(response: HttpResponse): Date | undefined {
  const at = Date.parse(header(response.headers, 'date') ?? '');
  return Number.isNaN(at) ? undefined : new Date(at);
}
