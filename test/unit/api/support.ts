import { Api, type ApiOptions } from '../../../src/api/client.js';
import { silentLog } from '../../../src/base/log.js';

export const key = 'svc_a-very-secret-key-123456';

/** Settings under which a test waits for nothing but the server. */
function options(baseUrl: string, more: Partial<ApiOptions> = {}): ApiOptions {
  return {
    baseUrl,
    apiKey: key,
    budget: { requests: Number.POSITIVE_INFINITY, windowMs: 200, floorMs: 20 },
    concurrency: 4,
    timeouts: { connectMs: 60_000, firstByteMs: 60_000, totalMs: 60_000 },
    maxAnswerBytes: 1 << 20,
    retry: { attempts: 3, baseMs: 1, maxMs: 4, rateLimitedMs: 5000 },
    paging: { pageParameter: 'page', limitParameter: 'limit', pageSize: 100 },
    log: silentLog,
    ...more,
  };
}

/** A client for the length of `work`. */
export async function withApi<T>(
  baseUrl: string,
  work: (api: Api) => Promise<T>,
  more: Partial<ApiOptions> = {},
): Promise<T> {
  const api = new Api(options(baseUrl, more));
  try {
    return await work(api);
  } finally {
    await api.destroy();
  }
}
