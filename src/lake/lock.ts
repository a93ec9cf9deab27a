import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LakeError, messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { withoutLogin, withoutSecrets } from './errors.js';
import { type LakeSecrets, withLogin } from './settings.js';

/** A held lock. */
export interface PublishLock {
  /** Resolves when the lock is lost: then another worker may write. */
  readonly lost: Promise<void>;
  release(): Promise<void>;
}

/** Longer than a first publication of a large organization takes. */
const longestWaitMs = 60 * 60_000;

/**
 * Takes PostgreSQL's advisory lock for one namespace, and waits while another worker holds it. The server frees it when
 * this process ends, however it ends. Needs a connection of its own: behind a pooler, one that keeps sessions.
 */
export async function takeLock(
  lockUrl: string,
  secrets: LakeSecrets,
  what: string,
  options: { readonly log: Pick<Log, 'info'>; readonly stop: AbortSignal },
): Promise<PublishLock> {
  const { default: pg } = await import('pg');
  const url = withLogin(lockUrl, secrets);
  const client = new pg.Client({
    connectionString: url.href,
    application_name: 'signalhouse lake',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  });
  let lose: () => void = () => undefined;
  const lost = new Promise<void>((resolve) => {
    lose = resolve;
  });
  client.on('error', () => lose());
  client.on('end', () => lose());
  try {
    await client.connect();
    const key = createHash('sha256').update(`signalhouse lake ${what}`).digest().readBigInt64BE().toString();
    const started = Date.now();
    for (let told = false; ; told = true) {
      const { rows } = await client.query<{ taken: boolean }>(
        'SELECT pg_try_advisory_lock($1::BIGINT) AS taken',
        [key],
      );
      if (rows[0]?.taken === true) break;
      if (!told) options.log.info('another worker is publishing to this namespace; waiting for its lock');
      if (Date.now() - started > longestWaitMs)
        throw new Error(`another worker has held the lock for an hour`);
      // With jitter, so that many workers do not ask at the same moments.
      await delay(100 + Math.random() * 400, undefined, { signal: options.stop });
    }
  } catch (error) {
    await client.end().catch(() => undefined);
    options.stop.throwIfAborted();
    throw lockFault(error, lockUrl, [decodeURIComponent(url.password)]);
  }
  return {
    lost,
    release: () => client.end().catch(() => undefined),
  };
}

/** PostgreSQL's codes for a refused login. */
const refusedLogin = new Set(['28P01', '28000']);

function lockFault(error: unknown, lockUrl: string, secrets: readonly string[]): LakeError {
  const { code } = error as { code?: unknown };
  const where = withoutLogin(lockUrl);
  const hidden = secrets.filter((one) => one !== '');
  if (typeof code === 'string' && refusedLogin.has(code)) {
    return new LakeError(`the lock at ${where} refuses the user or the password`, 'give up', {
      hint: 'Check SIGNALHOUSE_LAKE_USER and SIGNALHOUSE_LAKE_PASSWORD (or their files), or the user in lake.lockUrl.',
    });
  }
  const reason = withoutSecrets(messageOf(error) || String(code), hidden);
  return new LakeError(`the lock at ${where} cannot be taken: ${reason}`, 'give up', {
    hint: 'Check lake.lockUrl and that PostgreSQL is running, then run the command again. Nothing was published.',
  });
}
