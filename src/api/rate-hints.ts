/** Header names in lower case; a header that was sent more than once is an array. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The first value of a header, trimmed; undefined when it is absent or empty. */
export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  return first === '' ? undefined : first;
}

/**
 * How long the server asks us to wait, in milliseconds from `now`, or undefined when it does not say. The document
 * does not show these headers ("retry hints: not shown"), so the common ones are read: Retry-After (seconds or an
 * HTTP date), then RateLimit-Reset, X-RateLimit-Reset (seconds, or a moment in seconds or milliseconds since the
 * epoch) and the `reset` or `t` of a combined RateLimit header.
 */
export function askedWait(headers: Headers, now: number): number | undefined {
  const retryAfter = header(headers, 'retry-after');
  const asked =
    retryAfter === undefined ? undefined : (seconds(retryAfter) ?? untilDate(retryAfter, headers, now));
  if (asked !== undefined) return asked;
  for (const name of ['ratelimit-reset', 'x-ratelimit-reset']) {
    const wait = untilReset(Number(header(headers, name) ?? Number.NaN), now);
    if (wait !== undefined) return wait;
  }
  const combined = /(?:^|[;,\s])(?:reset|t)=(\d+)/.exec(header(headers, 'ratelimit') ?? '')?.[1];
  return combined === undefined ? undefined : seconds(combined);
}

function seconds(text: string): number | undefined {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : undefined;
}

/** An HTTP date is read against the server's own `Date`, so that two clocks that disagree do not matter. */
function untilDate(text: string, headers: Headers, now: number): number | undefined {
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  const sent = Date.parse(header(headers, 'date') ?? '');
  return Math.max(0, at - (Number.isNaN(sent) ? now : sent));
}

/** Nobody waits for 30 years: a number that large is a moment since the epoch, in seconds or in milliseconds. */
function untilReset(value: number, now: number): number | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  if (value >= 1e12) return Math.max(0, value - now);
  if (value >= 1e9) return Math.max(0, value * 1000 - now);
  return value * 1000;
}
