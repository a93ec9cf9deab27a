import { join } from 'node:path';
import { systemClock } from '../base/clock.js';
import { EncryptionKey } from '../base/encryption.js';
import { LakeError, type SignalhouseError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { backoffMs, retrying } from '../base/retry.js';
import { Scope } from '../base/scope.js';
import { type PrivacySettings, policyOf } from '../warehouse/privacy/policy.js';
import { saltOf, useSalt } from '../warehouse/privacy/salt.js';
import { fullestIn, refuseLog } from '../warehouse/read/query.js';
import { literal } from '../warehouse/sql.js';
import { keyFault } from '../warehouse/store/encryption.js';
import { attaching, type Limits, openInstance } from '../warehouse/store/engine.js';
import { extensionsOf, loadExtension } from '../warehouse/store/extensions.js';
import { PrivateFolder } from '../warehouse/store/private-folder.js';
import { Session } from '../warehouse/store/session.js';
import { type Catalog, catalogOf, lake } from './catalog.js';
import { lakeFault, withoutLogin } from './errors.js';
import { takeLock } from './lock.js';
import { attachMarker } from './marker.js';
import { type LakePlace, type LakeSecrets, namespaceOf, secretTexts } from './settings.js';
import { identityOf, readSnapshot, type Snapshot, snapshotName } from './source.js';

/** What every command of the lake is given. */
export interface LakeParts {
  readonly dataDir: string;
  readonly place: LakePlace;
  readonly secrets: LakeSecrets;
  readonly extensionDirectory: string | null;
  /** The key of the data directory, as text: it is sent to another process. */
  readonly encryptionKey: string | null;
  /** What is left out and masked. */
  readonly profile: PrivacySettings['profile'];
  readonly limits: Limits;
  readonly programVersion: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Rolls back what is not committed yet. */
  readonly stop: AbortSignal;
}

/** The lake and the published file, attached to one database in memory. */
export interface OpenLake {
  readonly parts: LakeParts;
  readonly session: Session;
  readonly catalog: Catalog;
  readonly snapshot: Snapshot;
  readonly namespace: string;
  readonly org: string;
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
    if (folder) scope.defer('private folder', folder.remove);
    else refuseLog(published);
    const session = await openSession(parts, scope, folder?.spill ?? '');
    await attachSnapshot(session, published, folder?.file);
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
    const org = snapshot.organization.id;
    const namespace = namespaceOf(place, org);
    const open = { parts, session, catalog, snapshot, namespace, org, reattach: attach, fault };
    await catalog.check();
    // Workers of several organizations may create the catalog at the same moment.
    await retried(open, attach, (error) => error.recovery === 'retry');
    return work(open);
  }).catch((error: unknown) => {
    throw fault(error);
  });
}

async function attachSnapshot(session: Session, published: string, file = published): Promise<void> {
  const { encryptionKey } = session;
  try {
    await session.run(...attaching(file, snapshotName, { access: 'read', encryptionKey }));
  } catch (error) {
    throw keyFault(published, encryptionKey, error) ?? error;
  }
}

async function openSession(
  { dataDir, place, limits, extensionDirectory, encryptionKey: keyText, stop }: LakeParts,
  scope: Scope,
  spill: string,
): Promise<Session> {
  const encryptionKey = keyText === null ? undefined : new EncryptionKey(keyText);
  const instance = await openInstance(':memory:', {
    ...{ ...limits, access: 'write', spill },
    ...{ encryptionKey, extensionDirectory },
  });
  scope.defer('instance', () => instance.closeSync());
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
  scope.defer('stop', () => stop.removeEventListener('abort', interrupt));
  const session = await Session.on(
    { encryptionKey, connect: async () => connection, closeSync: () => instance.closeSync() },
    dataDir,
  );
  scope.defer('session', () => session.close());
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
