import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher, EnvHttpProxyAgent, errors, fetch, Pool } from 'undici';
import { messageOf, type Problem, sizeText, UsageError } from '../base/errors.js';
import { isLoopback } from '../base/loopback.js';
import { connectorWithin, shareOf } from './connect.js';
import { AttemptFailure, type FailureKind } from './failure.js';
import type { ApiKey } from './key.js';
import type { Timeouts } from './request.js';
import { type HttpResponse, header } from './response.js';

export interface TransportOptions {
  readonly baseUrl: string;
  readonly key: ApiKey;
  readonly userAgent: string;
  /** The most open connections; the caller never has more attempts in flight. */
  readonly connections: number;
  readonly timeouts: Timeouts;
  /** The largest body of an answer, after decompression. */
  readonly maxAnswerBytes: number;
}

/** An answer is in memory as bytes and as text, and larger ones arrive at the end of their time at best. */
export const usualMaxAnswerBytes = 64 * 2 ** 20;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the base URL, query included. */
  readonly path: string;
  readonly body?: Buffer | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The largest body of the answer, if that is less than `maxAnswerBytes`. */
  readonly maxBytes?: number | undefined;
}

/**
 * Makes single attempts over kept-alive connections: one request, one complete answer, within its deadlines. Follows no
 * redirect, retries nothing, and throws a AttemptFailure only.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #agent: Agent | EnvHttpProxyAgent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #inFlight = new Set<AbortController>();
  #ended: 'closed' | 'destroyed' | null = null;

  constructor(options: TransportOptions) {
    // Checked with the settings: whether the key may be sent there, and that it has no character that a header cannot have.
    const { origin, pathname } = new URL(options.baseUrl);
    this.#options = options;
    this.#origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.#headers = {
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': options.userAgent,
    };
    this.#agent = agentFor(this.#origin, options);
  }

  async send(outgoing: HttpRequest): Promise<HttpResponse> {
    const { firstByteMs, totalMs } = this.#options.timeouts;
    const control = new AbortController();
    const firstByte = deadline(
      control,
      firstByteMs,
      'headers_timeout',
      `got no answer within ${firstByteMs} ms`,
    );
    const total = deadline(control, totalMs, 'total_timeout', `got no complete answer within ${totalMs} ms`);
    this.#inFlight.add(control);
    try {
      const answer = await this.#agent.request(this.#request(outgoing, control.signal));
      clearTimeout(firstByte);
      const body = await this.#readBody(answer, control, outgoing.maxBytes);
      return { status: answer.statusCode, headers: answer.headers, body };
    } catch (error) {
      const isOurs = error instanceof AttemptFailure || !control.signal.aborted;
      throw toFailure(isOurs ? error : control.signal.reason, this.#options.timeouts);
    } finally {
      clearTimeout(firstByte);
      clearTimeout(total);
      this.#inFlight.delete(control);
    }
  }

  /** Closes the connections once they are idle. */
  async close(): Promise<void> {
    if (this.#ended !== null) return;
    this.#ended = 'closed';
    await this.#agent.close();
  }

  /** Ends all attempts at once. */
  async destroy(): Promise<void> {
    for (const control of this.#inFlight) control.abort(new AttemptFailure('stopped', 'was stopped'));
    if (this.#ended === 'destroyed') return;
    this.#ended = 'destroyed';
    await this.#agent.destroy();
  }

  #request(outgoing: HttpRequest, signal: AbortSignal): Dispatcher.RequestOptions {
    const { body, idempotencyKey } = outgoing;
    const headers = {
      authorization: `Bearer ${this.#options.key.current}`,
      ...this.#headers,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const path = this.#prefix + outgoing.path;
    return { origin: this.#origin, path, method: outgoing.method, headers, body: body ?? null, signal };
  }

  async #readBody(
    answer: Dispatcher.ResponseData,
    control: AbortController,
    maxBytes: number = Number.POSITIVE_INFINITY,
  ): Promise<Buffer> {
    const most = Math.min(this.#options.maxAnswerBytes, maxBytes);
    // A page that is too large is requested again in parts: only of what has no parts does the size matter.
    const counted = maxBytes < this.#options.maxAnswerBytes ? most : most * countedFactor;
    const status = answer.statusCode;
    const tooLarge = (size: number | null) => {
      const text = `returned ${sizeText({ bytes: size, most })}`;
      return new AttemptFailure('too_large', text, { status, size: { status, bytes: size, most } });
    };
    const encoding = header(answer.headers, 'content-encoding');
    const announced = Number(header(answer.headers, 'content-length') ?? 0);
    if (announced > most) control.abort(tooLarge(encoding === undefined ? announced : null));
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of decoded(answer.body, encoding, control)) {
        bytes += (chunk as Buffer).length;
        if (bytes <= most) chunks.push(chunk as Buffer);
        else chunks.length = 0;
        if (bytes > counted) break;
      }
    } catch (error) {
      if (bytes <= most || isStop(control.signal.reason)) throw error;
      throw tooLarge(null);
    }
    if (bytes > counted) control.abort(tooLarge(null));
    control.signal.throwIfAborted();
    if (bytes > most) throw tooLarge(bytes);
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
  }
}

/** An answer that is too large is counted up to this many times that size, so that its size can be named. */
const countedFactor = 4;

function isStop(reason: unknown): boolean {
  return reason instanceof AttemptFailure && reason.kind === 'stopped';
}

/**
 * Connections to the API, through the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, in upper or
 * lower case). Loopback is always direct.
 */
function agentFor(origin: string, { connections, timeouts }: TransportOptions): Agent | EnvHttpProxyAgent {
  const { connectMs } = timeouts;
  const limits = {
    connections,
    pipelining: 1,
    connect: connectorWithin(connectMs),
    // The deadlines in `send` cover both, to the millisecond. An idle timeout never fires on a body that arrives byte by byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (isLoopback(new URL(origin).hostname)) return new Agent(limits);
  checkProxies();
  return new EnvHttpProxyAgent({
    ...limits,
    // A proxy is connected to by these instead of `connect`.
    proxyTls: { timeout: connectMs, autoSelectFamilyAttemptTimeout: shareOf(connectMs, 2) },
    requestTls: { timeout: connectMs },
    clientFactory: (proxy, options) => proxyPool(proxy, options, connectMs),
  });
}

/** Connections to a proxy, whose failures name the proxy without its password. */
function proxyPool(proxy: URL, options: object, connectMs: number): Pool {
  const pool = new Pool(proxy.origin, { ...options, headersTimeout: connectMs });
  const connect = pool.connect.bind(pool) as (
    to: Dispatcher.ConnectOptions,
  ) => Promise<Dispatcher.ConnectData>;
  const tunnel = async (to: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> => {
    const answer = await connect(to).catch((error: unknown) => {
      const code = codeOf(error);
      const problem = code === '' ? messageOf(error) : code;
      throw new AttemptFailure(
        'connect',
        `could not be sent through the proxy ${proxy.origin} (${problem})`,
        {
          hint: certificateHint(code) ?? checkProxy,
          cause: error,
        },
      );
    });
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    const { statusCode } = answer;
    const message = `was refused by the proxy ${proxy.origin} (${statusCode})`;
    const hint =
      statusCode === 407 ? 'The proxy asks for a login: put user and password into HTTPS_PROXY.' : checkProxy;
    throw new AttemptFailure(statusCode >= 500 ? 'connect' : 'proxy_refused', message, { hint });
  };
  pool.connect = tunnel as Pool['connect'];
  return pool;
}

const checkProxy =
  'Check HTTPS_PROXY and HTTP_PROXY, or list the host name of the API in NO_PROXY to connect without a proxy.';

const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];

/** A host name or an address, with a port where only that is meant; `.example.com` and `*.example.com` are the same. */
const noProxyEntry = /^(\*?\.)?[\w-]+(\.[\w-]+)*(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

/**
 * Throws a UsageError that names each variable whose value is not the address of a proxy, which may hold a password, and each
 * entry of NO_PROXY in a form that would be ignored, so that the key would pass the proxy.
 */
function checkProxies(): void {
  const problems: Problem[] = [];
  for (const setting of proxyVariables) {
    const value = process.env[setting] ?? '';
    if (value === '' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) continue;
    problems.push({ setting, problem: 'is not the address of a proxy, such as http://proxy.example:3128' });
  }
  const setting = process.env.no_proxy === undefined ? 'NO_PROXY' : 'no_proxy';
  const direct = process.env[setting] ?? '';
  const isProxied = proxyVariables.some((name) => (process.env[name] ?? '') !== '');
  for (const entry of isProxied && direct !== '*' ? direct.split(/[,\s]+/) : []) {
    if (entry === '' || noProxyEntry.test(entry)) continue;
    problems.push({
      setting,
      problem: `${JSON.stringify(entry)} is not supported: list host names or addresses with commas between them (api.example.com, .example.com, 10.0.0.5, with :port for one port), or set it to * alone`,
    });
  }
  if (problems.length > 0) throw new UsageError('The settings of the proxy are not valid', problems);
}

/**
 * One request to another service than the API (a webhook), through the proxy of the environment as those to the API; loopback is
 * direct. Fails as `fetch` does.
 */
export async function fetchThroughProxy(url: string, init: RequestInit): Promise<Response> {
  const agent = isLoopback(new URL(url).hostname) ? new Agent() : new EnvHttpProxyAgent();
  try {
    const dispatched = { ...init, dispatcher: agent } as Parameters<typeof fetch>[1];
    return (await fetch(url, dispatched)) as unknown as Response;
  } finally {
    // Once the answer was read.
    void agent.close();
  }
}

function deadline(control: AbortController, ms: number, kind: FailureKind, message: string): NodeJS.Timeout {
  return setTimeout(() => control.abort(new AttemptFailure(kind, message)), ms);
}

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The decompressed body. Several codings are undone in reverse order. */
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
      control.abort(
        new AttemptFailure('encoding', `returned an encoding that the request does not accept (${name})`),
      );
      return stream;
    }
    // The reader of the last stream gets the error; `pipeline` requires a callback.
    stream = pipeline(stream, decoder(), () => undefined);
  }
  return stream;
}

const byCode: Readonly<Record<string, FailureKind>> = {
  ENOTFOUND: 'unknown_host',
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

/** The certificate of the server cannot be trusted: its issuer is unknown. */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);

/** What to do about a certificate that was not accepted; undefined for any other error. */
function certificateHint(code: string): string | undefined {
  if (untrusted.has(code)) {
    return 'The issuer of the certificate is unknown: if it is an authority of your company or its proxy, set NODE_EXTRA_CA_CERTS to a PEM file with its certificate.';
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return 'The certificate is not valid at this time: check the clock of this machine; otherwise the service must renew it.';
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') {
    return 'The certificate is for another host name: check SIGNALHOUSE_BASE_URL, and whether a proxy answers in its place.';
  }
  return code === 'CERT_REVOKED' || code === 'CERT_SIGNATURE_FAILURE'
    ? 'The certificate is not valid: the service must replace it.'
    : undefined;
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown })?.code ?? '');
}

function toFailure(error: unknown, timeouts: TransportOptions['timeouts']): AttemptFailure {
  if (error instanceof AttemptFailure) return error;
  const code = codeOf(error);
  const hint = certificateHint(code);
  if (hint !== undefined) {
    return new AttemptFailure('certificate', `was not sent: the certificate is not accepted (${code})`, {
      hint,
      cause: error,
    });
  }
  const kind = error instanceof errors.HTTPParserError ? 'not_http' : (byCode[code] ?? byFamily(code));
  const text: Partial<Record<FailureKind, string>> = {
    connect_timeout: `could not connect within ${timeouts.connectMs} ms`,
    reset: 'lost the connection before the answer was complete',
    cut_short: 'returned a truncated body',
    not_http: 'got an answer that is not HTTP',
  };
  const fallback = `could not be sent (${code === '' ? messageOf(error) : code})`;
  return new AttemptFailure(kind, text[kind] ?? fallback, { cause: error });
}

/** Brotli has an error code for each kind of invalid data; all other codes come from the network. */
function byFamily(code: string): FailureKind {
  return code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ERR_BROTLI') ? 'cut_short' : 'connect';
}
