import { EventEmitter, once } from 'node:events';
import { RejectedError, type SignalhouseError } from '../base/errors.js';
import { pool } from '../base/pool.js';
import type { Failure } from '../run/tally.js';

const lastingStatuses = [400, 404];

/**
 * The API itself answered 400 or 404, and would answer the same again. Without the documented error body, something in
 * front of the API answered. Other statuses, such as 403 and 410, say nothing about this entity that the document allows.
 */
export function isApiRefusal(error: unknown): error is RejectedError {
  return error instanceof RejectedError && error.code !== undefined && lastingStatuses.includes(error.status);
}

export function failureOf(
  endpoint: string,
  entityId: string | null,
  { message, hint }: SignalhouseError,
): Failure {
  return { endpoint, entityId, message, hint: hint ?? null };
}

/**
 * After this many entities that fail in a row, an endpoint may be broken. As many are asked for at once, at most, until it has
 * answered one: an endpoint that answers none costs 13 entities (10, and 3 samples).
 */
const failuresInARow = 10;
/** This many others are asked for then, spread over those that are left, to find out. */
const samplesAtOnce = 3;
/**
 * How often in a run. It bounds the cost of an endpoint that answers few entities: with 12 requests in flight, one that
 * answers no more costs at most 26 entities (10 in a row, 13 that were in flight, 3 samples), and no endpoint is worth more
 * than ten times that.
 */
const mostSamplings = 10;

/** One entity that an endpoint is asked for. */
interface Asked {
  readonly endpoint: string;
  readonly entityId: string;
}

interface Endpoint {
  /** Whether it has answered an entity in this run. */
  hasAnswered: boolean;
  inFlight: number;
  /** Emits `settled` when an entity, or all samples, have succeeded or failed. */
  readonly events: EventEmitter;
  inARow: number;
  last: string;
  samplings: number;
  isGivenUp: boolean;
  /** Samples are being asked for. */
  isSampling: boolean;
  readonly left: Set<string>;
}

/**
 * The endpoints that are given up: they are not asked for more entities in this run, which stay due. That happens when
 * ten entities in a row failed and so did the samples from the rest. A few broken entities that come first do not keep
 * the others from being fetched.
 */
export class GivenUp {
  readonly #endpoints = new Map<string, Endpoint>();

  has(endpoint: string): boolean {
    return this.#of(endpoint).isGivenUp;
  }

  /** Counts an entity that is not asked for, once. */
  leave({ endpoint, entityId }: Asked): void {
    this.#of(endpoint).left.add(entityId);
  }

  /**
   * Asks for entities, at most `concurrency` at a time and in their order, and leaves those of an endpoint that is given
   * up. `ask` returns what went wrong with the entity, null if nothing did. An error that it throws ends all.
   */
  async askEach<T extends Asked>(
    entities: readonly T[],
    concurrency: number,
    work: { ask: (entity: T) => Promise<string | null>; onLeft?: (entity: T) => void },
  ): Promise<void> {
    const asked = new Set<T>();
    const ask = (entity: T) => {
      asked.add(entity);
      return this.#count(this.#of(entity.endpoint), () => work.ask(entity));
    };
    await pool(entities, concurrency, async (entity) => {
      const { endpoint } = entity;
      const state = this.#of(endpoint);
      while (state.isSampling || mayBeBroken(state)) await once(state.events, 'settled');
      if (asked.has(entity)) return;
      if (state.isGivenUp) {
        this.leave(entity);
        work.onLeft?.(entity);
        return;
      }
      const { mustSample } = await ask(entity);
      if (!mustSample) return;
      const rest = entities.filter((other) => other.endpoint === endpoint && !asked.has(other));
      await this.#sample(state, () =>
        pool(spread(rest), samplesAtOnce, async (one) => void (await ask(one))),
      );
    });
  }

  /** One failure for each endpoint that left entities unasked. */
  failures(): Failure[] {
    return [...this.#endpoints].flatMap(([endpoint, { inARow, last, left }]) =>
      left.size === 0
        ? []
        : {
            endpoint,
            entityId: null,
            message: `${inARow} failed in a row, so ${left.size} more were not asked for; the last: ${last}`,
            hint: 'They stay due: the next run asks for them. Everything else was fetched as usual.',
          },
    );
  }

  async #sample(state: Endpoint, askSamples: () => Promise<void>): Promise<void> {
    state.samplings += 1;
    try {
      if (state.samplings <= mostSamplings) await askSamples();
      state.isGivenUp = state.inARow >= failuresInARow;
    } finally {
      state.isSampling = false;
      state.events.emit('settled');
    }
  }

  /** Counts what came of asking for one entity; `mustSample` says that the caller is to ask for samples. */
  async #count(
    state: Endpoint,
    ask: () => Promise<string | null>,
  ): Promise<{ readonly mustSample: boolean }> {
    state.inFlight += 1;
    try {
      const problem = await ask();
      if (problem === null) {
        state.hasAnswered = true;
        if (!state.isGivenUp) state.inARow = 0;
        return { mustSample: false };
      }
      state.inARow += 1;
      state.last = problem;
      const mustSample = state.inARow >= failuresInARow && !state.isSampling && !state.isGivenUp;
      // At once: between two steps of the program, others would go on asking.
      if (mustSample) state.isSampling = true;
      return { mustSample };
    } finally {
      state.inFlight -= 1;
      state.events.emit('settled');
    }
  }

  #of(endpoint: string): Endpoint {
    const known = this.#endpoints.get(endpoint);
    if (known) return known;
    const state: Endpoint = {
      hasAnswered: false,
      inFlight: 0,
      events: new EventEmitter().setMaxListeners(0),
      inARow: 0,
      last: '',
      samplings: 0,
      isGivenUp: false,
      isSampling: false,
      left: new Set<string>(),
    };
    this.#endpoints.set(endpoint, state);
    return state;
  }
}

/** Whether an endpoint that has not answered yet has been asked for as many entities as it may cost. */
function mayBeBroken({ hasAnswered, isGivenUp, inFlight, inARow }: Endpoint): boolean {
  return !hasAnswered && !isGivenUp && inFlight > 0 && inFlight + inARow >= failuresInARow;
}

/** A few of these, from the middle of equal parts. */
function spread<T>(items: readonly T[]): T[] {
  if (items.length <= samplesAtOnce) return [...items];
  return Array.from(
    { length: samplesAtOnce },
    (_, part) => items[Math.floor(((part + 0.5) * items.length) / samplesAtOnce)] as T,
  );
}
