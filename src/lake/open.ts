import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../base/clock.js';
import { LakeError, messageOf, type SignalhouseError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { backoffMs, retrying } from '../base/retry.js';
import { Scope } from '../base/scope.js';
import { saltOf, useSalt } from '../warehouse/privacy/masks.js';
import { type PrivacySettings, policyOf } from '../warehouse/privacy/policy.js';
import { fullestIn, refuseLog } from '../warehouse/read/query.js';
import { identifier, literal } from '../warehouse/sql.js';
import { attaching, type Limits, openInstance } from '../warehouse/store/engine.js';
import { extensionsOf, loadExtension } from '../warehouse/store/extensions.js';
import { PrivateFolder } from '../warehouse/store/private-folder.js';
import { Session, type Statements } from '../warehouse/store/session.js';
import { type Catalog, catalogOf, lake, refuseAccess } from './catalog.js';
import { lakeFault, withoutLogin, withoutSecrets } from './errors.js';
import { attachMarker } from './marker.js';
import { type LakePlace, type LakeSecrets, namespaceOf, secretTexts, withLogin } from './settings.js';
import { identityOf, readSnapshot, type Snapshot, snapshotName } from './source.js';

export interface LakeParts {
  readonly dataDir: string;
  readonly place: LakePlace;
  readonly secrets: LakeSecrets;
  readonly extensionDirectory: string | null;
  /** What is left out and masked. */
  readonly profile: PrivacySettings['profile'];
  readonly limits: Limits;
  readonly programVersion: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Rolls back what is not committed yet. */
  readonly stop: AbortSignal;
}

/** What can be sent to the process that writes the lake: all but the log and the signal. */
export type LakeTaskParts = Omit<LakeParts, 'log' | 'stop'>;

/** A line for the log, which that process sends back. */
export interface LakeNote {
  readonly level: 'info' | 'warn';
  readonly text: string;
}

export interface LakeAbout {
  readonly kind: LakePlace['kind'];
  readonly namespace: string;
  readonly organization: Snapshot['organization'];
}

/** The lake and the published file, attached to one database in memory. */
export interface OpenLake {
  readonly parts: LakeParts;
  readonly session: Session;
  readonly catalog: Catalog;
  readonly snapshot: Snapshot;
  readonly namespace: string;
  readonly org: string;
  readonly about: LakeAbout;
  /** Attaches the lake again, without anything that was kept of its catalog. */
  reattach(): Promise<void>;
  /** The error as the lake's own. */
  fault(error: unknown): SignalhouseError;
}

/**
 * Opens the lake for `work` and closes it afterwards. `writes` creates the catalog where it is missing, and keeps other
 * publications of this data directory out.
 */
export async function withLake<T>(
  parts: LakeParts,
  { writes }: { readonly writes: boolean },
  work: (open: OpenLake) => Promise<T>,
): Promise<T> {
  const { dataDir, place, secrets } = parts;
  const hidden = secretTexts(place, secrets);
  const fault = (error: unknown) => (parts.stop.aborted ? stopped() : lakeFault(error, place, hidden));
  // Its profile is the lake's own: the published file may leave out more.
  const published = fullestIn(dataDir);
  const identity = identityOf(published);
  return Scope.run(async (scope) => {
    const folder = PrivateFolder.for(dataDir, published);
    if (folder) scope.defer(folder.remove);
    else refuseLog(published);
    const session = await openSession(parts, scope, folder?.spill ?? '');
    await session.run(attaching(folder?.file ?? published, snapshotName, 'read'));
    folder?.forgetFile();
    const policy = policyOf({ profile: parts.profile, exclude: [], mask: {} });
    if (!policy.isFull) await session.run(useSalt(saltOf(dataDir), policy));
    const snapshot = await readSnapshot(session, policy, identity);
    if (writes) await attachMarker(session, dataDir, parts.log);
    const catalog = catalogOf(place, secrets);
    const attach = async () => {
      await session.run(`DETACH DATABASE IF EXISTS ${lake}`);
      for (const statement of catalog.attach({ create: writes })) await session.run(statement);
    };
    const { organization } = snapshot;
    const namespace = namespaceOf(place, organization.id);
    const about = { kind: place.kind, namespace, organization };
    const open = {
      ...{ parts, session, catalog, snapshot, namespace, org: organization.id, about },
      ...{ reattach: attach, fault },
    };
    await catalog.check();
    // Workers of several organizations may create the catalog at the same moment.
    await retried(open, attach, (error) => error.recovery === 'retry');
    return work(open);
  }).catch((error: unknown) => {
    throw fault(error);
  });
}

async function openSession(
  { dataDir, place, limits, extensionDirectory, stop }: LakeParts,
  scope: Scope,
  spill: string,
): Promise<Session> {
  const instance = await openInstance(':memory:', { ...limits, access: 'write', spill });
  scope.defer(() => instance.closeSync());
  const connection = await instance.connect();
  // The extension for PostgreSQL asks for stored secrets and fails without that storage: it gets an empty one.
  await connection.run(
    `SET secret_directory = ${literal(join(dataDir, '.no-secrets'))}; SET allow_persistent_secrets = true`,
  );
  const purpose = `a lake of the kind ${place.kind}`;
  for (const name of extensionsOf[place.kind]) {
    await loadExtension(connection, name, { extensionDirectory, purpose });
  }
  const interrupt = () => connection.interrupt();
  stop.addEventListener('abort', interrupt, { once: true });
  scope.defer(() => stop.removeEventListener('abort', interrupt));
  const session = await Session.on(
    async () => ({ connect: async () => connection, closeSync: () => instance.closeSync() }),
    dataDir,
  );
  scope.defer(() => session.close());
  return session;
}

const mostAttempts = 6;

/**
 * Runs `work` until it succeeds, fails with an error that `again` does not accept, or has failed six times. Pauses grow with
 * jitter, so that two writers that met do not meet again; the lake is attached again before each retry.
 */
export async function retried<T>(
  open: OpenLake,
  work: (attempt: number) => Promise<T>,
  again: (error: LakeError) => boolean,
): Promise<T> {
  const { log, stop: signal } = open.parts;
  return retrying(
    async (attempt) => {
      if (attempt > 1) await open.reattach();
      return work(attempt);
    },
    (error, failures) => {
      const fault = open.fault(error);
      if (failures >= mostAttempts || !(fault instanceof LakeError) || !again(fault)) return undefined;
      log.info(`${fault.message}; trying again (${failures} of ${mostAttempts - 1})`);
      return Math.random() * backoffMs(failures, 500);
    },
    { clock: systemClock, signal },
  ).catch((error: unknown) => {
    throw open.fault(error);
  });
}

/** Raises when this was told to stop: an interrupt ends only the statement that is running at that moment. */
export function throwWhenStopped({ stop }: Pick<LakeParts, 'stop'>): void {
  if (stop.aborted) throw stopped();
}

function stopped(): LakeError {
  return new LakeError('publishing to the lake was stopped; the lake is as it was', 'give up', {
    hint: 'Run the command again: it continues with what has changed since the last publication.',
  });
}

/** Runs `work` while this process holds the lock of the namespace, where there is one. */
export async function locked<T>(open: OpenLake, work: () => Promise<T>): Promise<T> {
  const { place, secrets, log, stop } = open.parts;
  if (place.lockUrl === undefined) return work();
  const what = [place.kind, withoutLogin(place.catalog), place.warehouse, open.namespace].join(' ');
  const lock = await takeLock(place.lockUrl, secrets, what, { log, stop });
  try {
    // Once the lock is lost, another worker may write.
    const lost = lock.lost.then(() => {
      throw new LakeError('the connection that holds the lock was lost while publishing', 'give up', {
        hint: 'Check that the PostgreSQL of lake.lockUrl is running, then run the command again: it continues where it was.',
      });
    });
    return await Promise.race([work(), lost]);
  } finally {
    await lock.release();
  }
}

interface PublishLock {
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
async function takeLock(
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
  return { lost, release: () => client.end().catch(() => undefined) };
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

/**
 * Runs `work` in a transaction that changes rows of the lake; `work` names the tables that it writes to.
 *
 * When no answer to the commit arrives, DuckDB takes it for failed and removes the files that it wrote, although the catalog may
 * have committed them: the lake would name files that are gone (seen with DuckDB 1.5.5 in both formats; Iceberg reports it as a
 * conflict, because the request is sent again). So the object store refuses to remove files while the commit runs. Those of
 * a commit that did fail remain, and are removed like other orphan files (docs/lake.md).
 */
export async function writeLake<T>(
  open: OpenLake,
  work: (tx: Statements, written: Set<string>) => Promise<T>,
): Promise<T> {
  const { session, catalog, namespace, parts } = open;
  const secrets: string[] = [];
  try {
    return await session.transaction(async (tx) => {
      const written = new Set<string>();
      const done = await work(tx, written);
      for (const folder of await catalog.dataFolders(namespace, [...written])) {
        const name = `lake_keep_${secrets.length}`;
        secrets.push(name);
        await tx.run(refuseAccess(parts.place, name, folder));
      }
      return done;
    });
  } finally {
    for (const name of secrets) {
      // The error of the transaction is the one to report; a secret that stays is replaced by the next transaction.
      await session.run(`DROP SECRET IF EXISTS ${identifier(name)}`).catch(() => undefined);
    }
  }
}
