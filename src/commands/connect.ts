import { existsSync } from 'node:fs';
import { Api, type ApiOptions } from '../api/client.js';
import { spendingLogPath } from '../api/spending-log.js';
import { systemClock } from '../base/clock.js';
import { memoryOf } from '../store/memory.js';
import type { Access } from './setup.js';

/**
 * A page of a list may take this part of the memory: each request in flight may hold one, as bytes and as text. With
 * 1 GiB that is 32 MB.
 */
const pageShare = 32;

/**
 * The pages of a list that are requested at once may have this part of the memory, as bytes; as objects they take more than
 * 20 times that: 100 topics with 200 people each have 1.3 MB, and take 30 MB. That is 4 such pages with 1 GiB.
 */
const aheadShare = 200;

/**
 * The memory of the machine for each request in flight. The answer of a company's conversations takes up to 20 MB until its
 * batch is stored. With 1 GiB, 8 are in flight, which use 120 requests a minute up to answers that take 4 s.
 */
const memoryPerAnswer = 128_000_000;

/** 120 requests a minute are used up to answers that take 6 s; more in flight would only wait for the budget. */
const mostInFlight = 12;

/** No outage of the API is waited out for longer than the command may take, or than `maxOutageMinutes`. */
export interface OutageLimits {
  readonly maxMinutes?: number | undefined;
  readonly maxOutageMinutes?: number | undefined;
}

type Connecting = Pick<ApiOptions, 'retry'> & OutageLimits & { waits?: boolean };

/**
 * A client with these settings. It waits for an API that is unavailable for `api.outageMinutes`, or as long as the limits
 * allow if that is less; with `waits: false` not at all. The caller closes it.
 */
export function connect(
  access: Access,
  { waits = true, maxMinutes = Infinity, maxOutageMinutes = Infinity, retry = {} }: Connecting = {},
): Api {
  const { config, credentials, log, programVersion, clock = systemClock, onAttempt } = access;
  const { api, rateLimit, tuning } = config;
  const memory = memoryOf(config);
  const concurrency =
    tuning.concurrency ?? Math.max(2, Math.min(mostInFlight, Math.floor(memory / memoryPerAnswer)));
  const client = new Api({
    ...credentials,
    // A key that was replaced since the start: every run has a client of its own.
    apiKey: credentials.readKey?.() ?? credentials.apiKey,
    budget: rateLimit,
    spendingLogPath: existsSync(config.dataDir) ? spendingLogPath(config.dataDir) : undefined,
    concurrency,
    timeouts: tuning.timeouts,
    maxAnswerBytes: tuning.maxAnswerBytes,
    retry,
    outageMs: waits ? Math.min(api.outageMinutes, maxMinutes, maxOutageMinutes) * 60_000 : undefined,
    paging: {
      ...api.paging,
      maxPageBytes: memory / pageShare,
      pagesAhead: concurrency,
      maxBytesAhead: memory / aheadShare,
    },
    log,
    userAgent: `signalhouse/${programVersion}`,
    clock,
  });
  if (onAttempt) client.events.on('attempt', onAttempt);
  return client;
}
