import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Attempt } from '../api/attempt.js';
import { Api } from '../api/client.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Config, Credentials } from '../config/load.js';

/** What a command starts with, and what follows from its settings alone: the client, and the limits of DuckDB. */

/** What every command has: its settings, and where it tells what happens. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly programVersion: string;
  readonly clock?: Clock;
  /** Told of every attempt at the API. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** The same with the way to the API. */
export interface Access extends Setup {
  readonly credentials: Credentials;
}

/** Where the spending of the key is kept, for the commands that share it. */
export function spendingLogPath(dataDir: string): string {
  return join(dataDir, 'spending.log');
}

/** A client as the settings have it; its caller closes it. */
export function connect(access: Access): Api {
  const { config, credentials, log, programVersion, clock = systemClock, onAttempt } = access;
  const { api, rateLimit } = config;
  const client = new Api({
    ...credentials,
    budget: rateLimit,
    spendingLogPath: existsSync(config.dataDir) ? spendingLogPath(config.dataDir) : undefined,
    concurrency: api.concurrency,
    timeouts: api.timeouts,
    maxAnswerBytes: api.maxAnswerBytes,
    retry: api.retry,
    paging: api.paging,
    log,
    userAgent: `signalhouse/${programVersion}`,
    clock,
  });
  if (onAttempt) client.events.on('attempt', onAttempt);
  return client;
}

/** The limits of DuckDB for the worker. */
export function limitsOf({ dataDir, warehouse }: Config) {
  return { dataDir, memoryLimit: warehouse.memoryLimit, threads: warehouse.threads };
}

/** Analysts' questions may be larger than anything that the worker does. */
export function readingLimitsOf(config: Config) {
  return { ...limitsOf(config), memoryLimit: config.warehouse.queryMemoryLimit };
}
