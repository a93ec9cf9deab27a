import { isObject } from '../base/json.js';
import { errorBody } from '../contract/service.js';
import { AttemptFailure, type FailureKind } from './failure.js';
import { isBlank, parseJson } from './json-text.js';

/** Header names in lower case; a header that was sent more than once is an array. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A complete answer of any status. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. */
  readonly body: Buffer;
}

export interface ReadOptions {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Wall clock in milliseconds, for dates in retry hints. */
  readonly now: number;
  /** Removes the key from the server's texts. */
  readonly scrub: (text: string) => string;
  /** Lists of this name in the items stay unparsed, as JsonTexts. */
  readonly unparsed?: string | undefined;
}

/** The JSON of a good response. Throws the AttemptFailure of any other. */
export function readResponse(response: HttpResponse, options: ReadOptions): unknown {
  const { status, headers } = response;
  if (status >= 200 && status < 300) return parseBody(response, options);
  if (status >= 300 && status < 400) {
    const target = options.scrub(oneLine((header(headers, 'location') ?? '').replace(/[?#].*/s, '')));
    const to = target === '' ? '' : ` to ${target}`;
    throw new AttemptFailure('redirect', `returned a redirect (${status})${to}`, { status });
  }
  throw errorOf(response, options);
}

/**
 * A GET must return JSON. A successful write may return no body (the document does not show the answers of many
 * writes); the result is then null.
 */
function parseBody({ body, status, headers }: HttpResponse, { method, unparsed }: ReadOptions): unknown {
  if (status === 206)
    throw new AttemptFailure('cut_short', 'returned a part of the answer (206)', { status });
  if (isBlank(body)) {
    if (method !== 'GET') return null;
    throw new AttemptFailure('cut_short', `returned ${status} without a body`, { status });
  }
  try {
    return parseJson(body, unparsed);
  } catch {
    const text = body.toString('utf8');
    const type = header(headers, 'content-type') ?? '';
    if (/html/i.test(type) || /^\s*</.test(text)) {
      throw new AttemptFailure('html', `returned ${status} with an HTML page instead of JSON`, { status });
    }
    if (/json/i.test(type) || /^\s*[[{]/.test(text)) {
      throw new AttemptFailure('cut_short', `returned ${status} with truncated or malformed JSON`, {
        status,
      });
    }
    throw new AttemptFailure('not_json', `returned ${status} with a body that is not JSON`, { status });
  }
}

/** The AttemptFailure of a 4xx or 5xx, with code, message and reason of the error body when it has the documented form. */
function errorOf({ status, headers, body }: HttpResponse, { scrub, now }: ReadOptions): AttemptFailure {
  const error = errorBody.safeParse(jsonOrUndefined(body));
  const code = error.success ? scrub(oneLine(error.data.code)) : undefined;
  const message = error.success ? `: ${scrub(oneLine(error.data.message))}` : '';
  const detail = {
    status,
    code,
    reason: error.success ? reasonOf(error.data.data, scrub) : undefined,
    retryAfterMs: status === 429 || status >= 500 ? retryAfterMs(headers, now) : undefined,
    hint: hintFor(status, error.success),
  };
  return new AttemptFailure(
    kindOf(status),
    `returned ${code ? `${status} ${code}` : status}${message}`,
    detail,
  );
}

function kindOf(status: number): FailureKind {
  if (status === 401 || status === 403) return 'refused';
  if (status === 429) return 'limited';
  return status >= 500 || status === 408 ? 'server_error' : 'rejected';
}

const keySettings = 'SIGNALHOUSE_API_KEY, SIGNALHOUSE_API_KEY_FILE or api.keyFile';

function hintFor(status: number, documented: boolean): string | undefined {
  if (status === 401) {
    return `The key is missing, invalid or expired: check ${keySettings}.`;
  }
  if (status === 403) {
    return documented
      ? `The key belongs to another organization, or this endpoint does not accept its type: check ${keySettings}.`
      : 'The answer does not come from the API: a firewall may block this address. Check SIGNALHOUSE_API_KEY and SIGNALHOUSE_BASE_URL.';
  }
  if (documented || status >= 500 || status === 429) return undefined;
  return 'The answer does not come from the API: check SIGNALHOUSE_BASE_URL (it ends in /v1) and proxies.';
}

function reasonOf(data: unknown, scrub: (text: string) => string): string | undefined {
  const reason = isObject(data) ? data.reason : undefined;
  return typeof reason === 'string' ? scrub(oneLine(reason)) : undefined;
}

function jsonOrUndefined(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
}

/** A text of the server as one short line without control characters: it is shown on terminals and in logs. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  const short = line.length > 300 ? `${line.slice(0, 299)}…` : line;
  // The API may have sent a lone surrogate, or the cut may have made one; DuckDB stores none.
  return short.replace(/\p{Cs}/gu, '\ufffd');
}

/** The first value of a header, trimmed; undefined when it is absent or empty. */
export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  return first === '' ? undefined : first;
}

/**
 * How long the server asks the client to wait, in milliseconds from `now`; undefined when no header says so. The API's
 * document does not show these headers ("retry hints: not shown"), so the common ones are read: Retry-After (seconds or
 * an HTTP date), then RateLimit-Reset, X-RateLimit-Reset (seconds, or a moment in seconds or milliseconds since the
 * epoch) and the `reset` or `t` of a combined RateLimit header.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const retryAfter = header(headers, 'retry-after');
  const waitMs =
    retryAfter === undefined ? undefined : (seconds(retryAfter) ?? untilDate(retryAfter, headers, now));
  if (waitMs !== undefined) return waitMs;
  for (const name of ['ratelimit-reset', 'x-ratelimit-reset']) {
    const resetMs = untilReset(Number(header(headers, name) ?? Number.NaN), now);
    if (resetMs !== undefined) return resetMs;
  }
  const combined = /(?:^|[;,\s])(?:reset|t)=(\d+)/.exec(header(headers, 'ratelimit') ?? '')?.[1];
  return combined === undefined ? undefined : seconds(combined);
}

function seconds(text: string): number | undefined {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : undefined;
}

/** An HTTP date is compared with the server's own `Date` header, so that a difference between the clocks does not matter. */
function untilDate(text: string, headers: Headers, now: number): number | undefined {
  const at = httpDate(text);
  if (at === undefined) return undefined;
  return Math.max(0, at - (httpDate(header(headers, 'date') ?? '') ?? now));
}

/**
 * The moment of a date as HTTP servers write it (RFC 9110, 5.6.7); undefined for any other text. `Date.parse` alone accepts
 * too much: it takes `soon 5` and `-5` for days of the year 2001.
 */
function httpDate(text: string): number | undefined {
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toUTCString() === text ? at.getTime() : undefined;
}

/** A number above 30 years is a moment since the epoch, in seconds or in milliseconds. */
function untilReset(value: number, now: number): number | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  if (value >= 1e12) return Math.max(0, value - now);
  if (value >= 1e9) return Math.max(0, value * 1000 - now);
  return value * 1000;
}
