import type { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Budget } from './budget.js';
import type { ApiEvents, Attempt, Paused } from './events.js';
import { Failure } from './failure.js';
import { header } from './rate-hints.js';
import type { Prepared } from './request.js';
import type { Reply, Transport } from './transport.js';
import { judge } from './verdict.js';

/** A good answer. */
export interface Arrival {
  /**
   * The parsed JSON, not checked against any schema, with Unread where the call left lists unread; null for a write
   * that was answered without a body.
   */
  readonly body: unknown;
  readonly status: number;
  /** When the whole answer had arrived. */
  readonly arrivedAt: Date;
  /** Size of the body, decompressed. */
  readonly bytes: number;
  /** The server's X-Request-Id or Request-Id. */
  readonly requestId?: string | undefined;
}

export interface AttemptsOptions {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly events: EventEmitter<ApiEvents>;
  readonly clock: Clock;
  readonly log: Log;
  /** Taken out of everything that the server says. */
  readonly secret: string;
}

/** Makes single attempts: sends, judges the answer, reports it, and lets the budget know of a 429. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** What came of attempt number `attempt` of a call. Never rejects for what the server or the network did. */
  async make(prepared: Prepared, attempt: number): Promise<Arrival | Failure> {
    const { transport, budget, clock } = this.#options;
    const startedAt = new Date(clock.now());
    const start = clock.monotonic();
    const { reply, failure: unanswered } = await this.#send(transport, prepared);
    const ms = clock.monotonic() - start;
    const arrivedAt = new Date(clock.now());
    const outcome = reply ? this.#judge(reply, prepared, arrivedAt) : unanswered;

    const failure = outcome instanceof Failure ? outcome : undefined;
    const status = reply?.status ?? failure?.detail.status;
    const { endpoint, method, path } = prepared.where;
    if (failure?.kind === 'limited') this.#pause(endpoint, failure.detail.askedMs);
    else if (status !== undefined) budget.accepted();
    this.#emit('attempt', {
      endpoint,
      method,
      path,
      startedAt,
      ms,
      bytes: reply?.body.length ?? 0,
      attempt,
      status,
      errorKind: failure?.kind,
      requestId: reply && this.#requestId(reply),
      serverDate: reply && dateOf(reply),
    });
    return outcome;
  }

  async #send(transport: Transport, prepared: Prepared): Promise<Sent> {
    try {
      return { reply: await transport.send(prepared) };
    } catch (error) {
      if (error instanceof Failure) return { failure: error };
      throw error;
    }
  }

  #judge(reply: Reply, prepared: Prepared, arrivedAt: Date): Arrival | Failure {
    const { method, unread } = prepared;
    try {
      const body = judge(reply, { method, now: arrivedAt.getTime(), scrub: this.#scrub, unread });
      return {
        body,
        status: reply.status,
        arrivedAt,
        bytes: reply.body.length,
        requestId: this.#requestId(reply),
      };
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    }
  }

  #pause(endpoint: string, askedMs: number | undefined): void {
    const pause = this.#options.budget.limited(askedMs);
    const text = pause.capped
      ? 'the API limits us (429) and asks for a longer pause than is waited for: trying again sooner'
      : 'the API limits us (429): pausing';
    this.#options.log.warn({ endpoint, ...pause }, text);
    this.#emit('paused', { endpoint, ...pause });
  }

  #requestId(reply: Reply): string | undefined {
    const id = header(reply.headers, 'x-request-id') ?? header(reply.headers, 'request-id');
    return id === undefined ? undefined : this.#scrub(id).slice(0, 200);
  }

  readonly #scrub = (text: string): string => text.replaceAll(this.#options.secret, '[redacted]');

  /** A listener that throws must not turn a request that went through into one that failed. */
  #emit(...event: ['attempt', Attempt] | ['paused', Paused]): void {
    try {
      if (event[0] === 'attempt') this.#options.events.emit('attempt', event[1]);
      else this.#options.events.emit('paused', event[1]);
    } catch (error) {
      this.#options.log.error({ event: event[0], problem: messageOf(error) }, 'a listener failed');
    }
  }
}

type Sent = { reply: Reply; failure?: never } | { reply?: never; failure: Failure };

function dateOf(reply: Reply): Date | undefined {
  const at = Date.parse(header(reply.headers, 'date') ?? '');
  return Number.isNaN(at) ? undefined : new Date(at);
}
