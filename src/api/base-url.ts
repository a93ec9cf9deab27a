import { isIP } from 'node:net';
import { UsageError } from '../base/errors.js';

export interface BaseUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** What every path is put behind, without a slash at its end, e.g. `/v1`. */
  readonly prefix: string;
}

/**
 * Reads the base address of the API. The key goes wherever it points, so it is refused (UsageError) unless it is https
 * or loopback, and when it carries credentials, a query or a fragment.
 */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url ? objection(url) : 'is not an address';
  if (url && !problem) return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
  throw new UsageError(`The base URL ${problem}`, [
    { setting: 'SIGNALHOUSE_BASE_URL', problem: problem ?? 'is not an address' },
  ]);
}

function objection(url: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'is neither https nor http';
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'must be https: the key would travel in clear text (http is for loopback only)';
  }
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.search !== '' || url.hash !== '') return 'must not hold a query or a fragment';
  return undefined;
}

function isLoopback(hostname: string): boolean {
  if (isIP(hostname) === 4) return hostname.startsWith('127.');
  return hostname === 'localhost' || hostname === '[::1]';
}
