import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** What the network does to one request. */
export interface Weather {
  /** Milliseconds until the request arrives, and until its answer is back. */
  readonly delays: readonly [number, number];
  readonly fault: 'lost' | 'answer lost' | 'reset' | 'cut short' | 'twice' | null;
}

/** An answer, or what became of the connection. */
export type Served =
  | { readonly statusCode: number; readonly headers: Record<string, unknown>; readonly rawPayload: Buffer }
  | 'hang'
  | 'reset';

export interface Sent {
  readonly path: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  readonly signal: AbortSignal;
}

/** Between the program and the handlers of the sandbox, without a socket: in the place of undici's connections. */
export class Network {
  /** Who answers. */
  app: FastifyInstance | null = null;
  weather: () => Weather = () => ({ delays: [20, 20], fault: null });
  /** Told of each request and answer, as text. */
  heard: (what: string) => void = () => undefined;
  /** Told of each request before it is on its way, and when the server has handled it. */
  sending: (moment: 'out' | 'handled', method: string) => void = () => undefined;
  /** Told of each request that arrives. */
  arriving: (request: Pick<Sent, 'method' | 'path' | 'headers' | 'body'>) => void = () => undefined;
  /** What stands between the network and the server: it may change requests and answers, or keep them. */
  handling: (sent: Sent, serve: (sent: Sent) => Promise<Served>) => Promise<Served> = (sent, serve) =>
    serve(sent);
  /** Whether the process that waits for an answer was killed. */
  isCut: () => boolean = () => false;
  /** When requests arrived that the program has sent, by the clock that measures durations. */
  readonly arrivals: number[] = [];

  /** Call this before anything loads undici. */
  install(): void {
    const undici = createRequire(import.meta.url)('undici') as Record<string, unknown>;
    const request = (sent: Sent) => this.#request(sent);
    undici.Agent = class {
      readonly request = request;
      async close() {}
      async destroy() {}
    };
  }

  async #request(sent: Sent) {
    if (this.isCut()) return never(sent.signal);
    const { delays, fault } = this.weather();
    this.heard(`> ${sent.method} ${sent.path} ${sent.body ?? ''} ${fault ?? ''}`);
    this.sending('out', sent.method);
    if (this.isCut()) return never(sent.signal);
    await wait(delays[0], sent.signal);
    if (fault === 'lost' || this.app === null) return never(sent.signal);
    if (fault === 'reset') throw resetError();
    this.arrivals.push(performance.now());
    this.arriving(sent);
    const { app } = this;
    const answer = await this.handling(sent, (one) => inject(app, one));
    // A proxy has sent it again.
    if (fault === 'twice') await this.handling(sent, (one) => inject(app, one));
    this.sending('handled', sent.method);
    if (this.isCut()) return never(sent.signal);
    await wait(delays[1], sent.signal);
    if (fault === 'answer lost' || answer === 'hang') return never(sent.signal);
    if (answer === 'reset') throw resetError();
    const { statusCode, headers, rawPayload } = answer;
    this.heard(`< ${statusCode} ${rawPayload.toString('latin1')}`);
    const cutAt = fault === 'cut short' ? rawPayload.length / 2 : null;
    return { statusCode, headers, body: bodyOf(rawPayload, cutAt) };
  }
}

/** The answer of the sandbox, or what one of its faults did to the connection. */
async function inject(app: FastifyInstance, { method, path, headers, body, signal }: Sent): Promise<Served> {
  const answered = app
    .inject({ method: method as 'GET', url: path, headers, ...(body && { payload: body }) })
    .catch(() => 'reset' as const);
  const gone = new Promise<'hang'>((resolve) => {
    if (signal.aborted) resolve('hang');
    signal.addEventListener('abort', () => resolve('hang'), { once: true });
  });
  return Promise.race([answered, gone]);
}

function bodyOf(payload: Buffer, cutAt: number | null): Readable {
  async function* chunks() {
    yield cutAt === null ? payload : payload.subarray(0, cutAt);
    if (cutAt !== null) throw resetError();
  }
  return Readable.from(chunks());
}

function resetError(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
