import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher, errors } from 'undici';
import { messageOf, UsageError } from '../base/errors.js';
import { parseBaseUrl } from './base-url.js';
import { Failure, type FailureKind } from './failure.js';
import { type Headers, header } from './rate-hints.js';

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  /** Connections kept open at most; the caller has no more attempts in flight than that. */
  readonly connections: number;
  readonly timeouts: {
    readonly connectMs: number;
    /** From the start of the attempt to the answer's first byte. */
    readonly firstByteMs: number;
    /** The whole attempt, connecting and the last byte of the answer included. */
    readonly totalMs: number;
  };
  /** Cap on an answer's body, after decompression. */
  readonly maxAnswerBytes: number;
}

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Behind the base URL, query included. */
  readonly path: string;
  readonly body?: Buffer | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A whole answer, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. */
  readonly body: Buffer;
}

/**
 * Makes single attempts over kept-alive connections: one request, one whole answer, within its deadlines. It follows
 * no redirect, repeats nothing, and fails with a Failure only.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #underWay = new Set<AbortController>();

  constructor(options: TransportOptions) {
    const { origin, prefix } = parseBaseUrl(options.baseUrl);
    // A key with a line break in it would be rejected by the HTTP library with an error that quotes it.
    if (!/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw new UsageError('The API key is not usable', [
        { setting: 'SIGNALHOUSE_API_KEY', problem: 'is empty, or holds spaces or characters outside ASCII' },
      ]);
    }
    this.#options = options;
    this.#origin = origin;
    this.#prefix = prefix;
    this.#headers = {
      authorization: `Bearer ${options.apiKey}`,
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': options.userAgent,
    };
    this.#agent = new Agent({
      connections: options.connections,
      pipelining: 1,
      connect: { timeout: options.timeouts.connectMs },
      // The deadlines of `send` cover both, to the millisecond; and an idle timeout never fires on a dribbling body.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async send(outgoing: Outgoing): Promise<Reply> {
    const { firstByteMs, totalMs } = this.#options.timeouts;
    const control = new AbortController();
    const firstByte = deadline(
      control,
      firstByteMs,
      'headers_timeout',
      `was not answered within ${firstByteMs} ms`,
    );
    const total = deadline(
      control,
      totalMs,
      'total_timeout',
      `was not answered in full within ${totalMs} ms`,
    );
    this.#underWay.add(control);
    try {
      const answer = await this.#agent.request(this.#request(outgoing, control.signal));
      clearTimeout(firstByte);
      const body = await this.#readBody(answer, control);
      return { status: answer.statusCode, headers: answer.headers, body };
    } catch (error) {
      throw toFailure(control.signal.aborted ? control.signal.reason : error, this.#options.timeouts);
    } finally {
      clearTimeout(firstByte);
      clearTimeout(total);
      this.#underWay.delete(control);
    }
  }

  /** Closes the connections once they are idle. */
  async close(): Promise<void> {
    if (!this.#agent.closed && !this.#agent.destroyed) await this.#agent.close();
  }

  /** Ends everything that is under way, at once. */
  async destroy(): Promise<void> {
    for (const control of this.#underWay) control.abort(new Failure('stopped', 'was stopped'));
    if (!this.#agent.destroyed) await this.#agent.destroy();
  }

  #request(outgoing: Outgoing, signal: AbortSignal): Dispatcher.RequestOptions {
    const { body, idempotencyKey } = outgoing;
    const headers = {
      ...this.#headers,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const path = this.#prefix + outgoing.path;
    return { origin: this.#origin, path, method: outgoing.method, headers, body: body ?? null, signal };
  }

  async #readBody(answer: Dispatcher.ResponseData, control: AbortController): Promise<Buffer> {
    const { maxAnswerBytes } = this.#options;
    const detail = { status: answer.statusCode };
    const tooLarge = () => new Failure('too_large', `answered more than ${maxAnswerBytes} bytes`, detail);
    const chunks: Buffer[] = [];
    let bytes = 0;
    if (Number(header(answer.headers, 'content-length') ?? 0) > maxAnswerBytes) control.abort(tooLarge());
    for await (const chunk of decoded(answer.body, header(answer.headers, 'content-encoding'), control)) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxAnswerBytes) {
        control.abort(tooLarge());
        break;
      }
      chunks.push(chunk as Buffer);
    }
    control.signal.throwIfAborted();
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
  }
}

function deadline(control: AbortController, ms: number, kind: FailureKind, message: string): NodeJS.Timeout {
  return setTimeout(() => control.abort(new Failure(kind, message)), ms);
}

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The body as it was before it was compressed; codings are undone in the reverse of their order. */
function decoded(body: Readable, encoding: string | undefined, control: AbortController): Readable {
  const codings = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  let stream = body;
  for (const name of codings.reverse()) {
    if (name === '' || name === 'identity') continue;
    const decoder = decoders[name as keyof typeof decoders];
    if (!decoder) {
      control.abort(new Failure('encoding', `answered in an encoding that was not asked for (${name})`));
      return stream;
    }
    // A failure reaches whoever reads the last stream; the callback is only there because it is required.
    stream = pipeline(stream, decoder(), () => undefined);
  }
  return stream;
}

const byCode: Readonly<Record<string, FailureKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_SOCKET: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'cut_short',
  Z_BUF_ERROR: 'cut_short',
  Z_DATA_ERROR: 'cut_short',
  ERR_STREAM_PREMATURE_CLOSE: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'not_http',
};

function toFailure(error: unknown, timeouts: TransportOptions['timeouts']): Failure {
  if (error instanceof Failure) return error;
  const code = String((error as { code?: unknown })?.code ?? '');
  const kind = error instanceof errors.HTTPParserError ? 'not_http' : (byCode[code] ?? byFamily(code));
  const text: Partial<Record<FailureKind, string>> = {
    connect_timeout: `could not connect within ${timeouts.connectMs} ms`,
    reset: 'lost its connection before the answer was whole',
    cut_short: 'was answered with a body that breaks off',
    not_http: 'was not answered in HTTP',
  };
  const fallback = `could not be sent (${code === '' ? messageOf(error) : code})`;
  return new Failure(kind, text[kind] ?? fallback, { cause: error });
}

/** Brotli has a code for each way in which data can make no sense; the rest is the network's. */
function byFamily(code: string): FailureKind {
  return code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ERR_BROTLI') ? 'cut_short' : 'connect';
}
