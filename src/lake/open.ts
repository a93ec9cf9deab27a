import { dirname, join } from 'node:path';
import { systemClock } from '../base/clock.js';
import { LakeError, type SignalhouseError, StorageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { backoffMs, retrying } from '../base/retry.js';
import { Scope } from '../base/scope.js';
import type { Settings } from '../config/schema.js';
import type { LakeSecrets } from '../config/secrets.js';
import { fullestIn, refuseLog } from '../read/query.js';
import { attaching as attachingFile, type Limits, openInstance } from '../store/engine.js';
import { extensionsOf, loadExtension } from '../store/extensions.js';
import { PrivateFolder } from '../store/private-folder.js';
import { Session, type Statements } from '../store/session.js';
import { identifier } from '../store/sql.js';
import { attaching, lake, refuseAccess } from './catalog.js';
import { lakeFault } from './errors.js';
import { RestCatalog } from './rest.js';
import { type LakePlace, namespaceOf, secretTexts } from './settings.js';

/** The name by which the published file is attached: that of the file, which users' views may name. */
export const snapshotName = 'signals';

export interface LakeParts {
  readonly dataDir: string;
  readonly place: LakePlace;
  readonly secrets: LakeSecrets;
  readonly extensionDirectory: string | null;
  /** What some views show of the settings. */
  readonly analysis: Settings['analysis'];
  readonly limits: Limits;
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
  readonly namespace: string;
  readonly organization: { readonly id: string; readonly name: string | null };
}

/** What a lake is compared with: the published file. */
export interface SnapshotFacts {
  /** The last run that is in it. */
  readonly runId: string;
  /** The greatest number of a migration. */
  readonly schemaVersion: number;
}

/** The lake and the published file, attached to one database in memory. */
export interface OpenLake extends LakeAbout {
  readonly parts: LakeParts;
  readonly session: Session;
  readonly rest: RestCatalog;
  readonly snapshot: SnapshotFacts;
  /** Where a masked copy of the published file may be for a while. */
  readonly scratchFile: string;
  /** Attaches the lake again, without anything that was kept of its catalog. */
  reattach(): Promise<void>;
  /** The error as the lake's own. */
  fault(error: unknown): SignalhouseError;
}

/** Opens the lake for `work` and closes it afterwards. */
export async function withLake<T>(parts: LakeParts, work: (open: OpenLake) => Promise<T>): Promise<T> {
  const { dataDir, place, secrets } = parts;
  const hidden = secretTexts(secrets);
  const fault = (error: unknown) => (parts.stop.aborted ? stopped() : lakeFault(error, place, hidden));
  // Its profile is the lake's own: the published file may leave out more.
  const published = fullestIn(dataDir);
  return Scope.run(async (scope) => {
    const folder = PrivateFolder.for(dataDir, published);
    if (folder) scope.defer(folder.remove);
    else refuseLog(published);
    const session = await openSession(parts, scope, folder?.spill ?? '');
    await session.run(attachingFile(folder?.file ?? published, snapshotName, 'read'));
    folder?.forgetFile();
    const { organization, ...snapshot } = await factsOf(session);
    const reattach = async () => {
      await session.run(`DETACH DATABASE IF EXISTS ${lake}`);
      for (const statement of attaching(place, secrets)) await session.run(statement);
    };
    const open: OpenLake = {
      parts,
      session,
      rest: new RestCatalog(place, secrets),
      snapshot,
      organization,
      namespace: namespaceOf(organization.id),
      scratchFile: folder ? join(dirname(folder.file), 'masked.duckdb') : ':memory:',
      reattach,
      fault,
    };
    await open.rest.check();
    await reattach();
    return work(open);
  }).catch((error: unknown) => {
    throw fault(error);
  });
}

async function openSession(
  { dataDir, limits, extensionDirectory, stop }: LakeParts,
  scope: Scope,
  spill: string,
): Promise<Session> {
  const instance = await openInstance(':memory:', { ...limits, access: 'write', spill });
  scope.defer(() => instance.closeSync());
  const connection = await instance.connect();
  for (const name of extensionsOf.lake)
    await loadExtension(connection, name, { extensionDirectory, purpose: 'a lake' });
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

async function factsOf(session: Session): Promise<SnapshotFacts & Pick<LakeAbout, 'organization'>> {
  const [organization] = await session.all<LakeAbout['organization']>(
    `SELECT id, name FROM ${snapshotName}.main.organizations LIMIT 1`,
  );
  if (!organization) {
    throw new StorageError('signals.duckdb has no organization yet', {
      hint: 'Run signalhouse sync until it has stored the organization, then publish to the lake.',
    });
  }
  const [facts] = await session.all<SnapshotFacts>(
    `SELECT (SELECT coalesce(max(run_id), '') FROM ${snapshotName}.ops.runs) AS "runId",
            (SELECT max(version) FROM ${snapshotName}.ops.migrations) AS "schemaVersion"`,
  );
  if (!facts) throw new Error('a query without FROM returned no row');
  return { ...facts, organization };
}

const maxAttempts = 6;

/**
 * Runs `work` until it succeeds, fails with an error that `again` does not accept, or has failed six times. Pauses grow with
 * jitter, so that two writers that met do not meet again; the lake is attached again before each retry.
 */
export async function retried<T>(
  open: OpenLake,
  work: () => Promise<T>,
  again: (error: LakeError) => boolean,
): Promise<T> {
  const { log, stop: signal } = open.parts;
  return retrying(
    async (attempt) => {
      if (attempt > 1) await open.reattach();
      return work();
    },
    (error, failures) => {
      const fault = open.fault(error);
      if (failures >= maxAttempts || !(fault instanceof LakeError) || !again(fault)) return undefined;
      log.info(`${fault.message}; trying again (${failures} of ${maxAttempts - 1})`);
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
  return new LakeError('publishing to the lake was stopped; the lake is unchanged', 'give up', {
    hint: 'Run the command again: it continues with what has changed since the last publication.',
  });
}

/**
 * Runs `work` in a transaction that changes rows of the lake; `work` names the tables that it writes to.
 *
 * When no answer to the commit arrives, DuckDB takes it for failed and removes the files that it wrote, although the catalog may
 * have committed them: the lake would name files that are gone (seen with DuckDB 1.5.5; it is reported as a conflict,
 * because the request is sent again). So the object store refuses to remove files while the commit runs. Those of
 * a commit that did fail remain, and are removed like other orphan files (docs/lake.md).
 */
export async function writeLake<T>(
  { session, rest, namespace, parts }: OpenLake,
  work: (tx: Statements, written: Set<string>) => Promise<T>,
): Promise<T> {
  const secrets: string[] = [];
  try {
    return await session.transaction(async (tx) => {
      const written = new Set<string>();
      const done = await work(tx, written);
      for (const table of written) {
        const name = `lake_keep_${secrets.length}`;
        secrets.push(name);
        await tx.run(refuseAccess(parts.place, name, await rest.dataFolder(namespace, table)));
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
