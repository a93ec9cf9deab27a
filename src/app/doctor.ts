import { existsSync, statSync } from 'node:fs';
import { clockAheadMs } from '../api/attempt.js';
import { Priority } from '../api/client.js';
import { usualPageSize } from '../api/page.js';
import { type Page, pagesOf } from '../api/paging.js';
import { Scope } from '../base/scope.js';
import { journalPath } from '../push/queue.js';
import { type Identity, whoAmI } from '../run/identity.js';
import { filesOf } from '../warehouse/store/engine.js';
import {
  type ExtensionUse,
  extensionsOf,
  howToGet,
  inspectExtensions,
} from '../warehouse/store/extensions.js';
import { openWarehouse } from '../warehouse/store/open.js';
import { refuseUnwritable } from '../warehouse/store/restore.js';
import type { Organization } from '../warehouse/store/runs.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { type Access, connect, limitsOf, type Setup, spendingLogPath } from './setup.js';

/** What `signalhouse doctor` reads from the API and from the warehouse. */

export { refuseAnother } from '../run/identity.js';
export { foreignLogs } from '../warehouse/publish.js';

/** What two requests tell `doctor` about the API. */
export interface Probe {
  readonly identity: Identity;
  /** How far this machine's clock is ahead of the server's; null when the answer has no date. */
  readonly clockAheadMs: number | null;
  /** How the list of topics is paged, according to its first page. */
  readonly paging: Pick<Page, 'page' | 'limit' | 'totalCount'> | null;
  /** The page size that was requested. */
  readonly pageSize: number;
}

/** Requests whoami and the first page of topics. Throws what the client throws. */
export async function probe(access: Access): Promise<Probe> {
  return Scope.run(async (scope) => {
    const api = connect(access, { waits: false });
    scope.defer('client', () => api.close());
    const identity = await whoAmI(api);
    const [last] = identity.attempts.slice(-1);
    const { value: first } = await pagesOf(api, 'topics', {}, { priority: Priority.essential }).next();
    return {
      identity,
      clockAheadMs: last ? clockAheadMs(last) : null,
      paging: first ?? null,
      pageSize: usualPageSize,
    };
  });
}

/** What `doctor` reads from the warehouse. */
export interface Inspection {
  readonly organization: Organization | null;
  readonly keyFaults: Awaited<ReturnType<Warehouse['checkKeys']>>;
  /** Bytes of the files that exist. */
  readonly files: { readonly worker: number | null; readonly published: number | null };
}

/**
 * Opens the live file for reading. Null when there is none yet. Throws LockedError, and StorageError when it cannot be
 * opened or may not be written.
 */
export async function inspect({ config, log }: Setup): Promise<Inspection | null> {
  const { worker, published } = filesOf(config.dataDir);
  if (!existsSync(worker)) return null;
  refuseUnwritable(config.dataDir, undefined, [spendingLogPath(config.dataDir), journalPath(config.dataDir)]);
  return Scope.run(async (scope) => {
    const warehouse = await openWarehouse({ ...limitsOf(config), log, access: 'read' });
    scope.defer('warehouse', () => warehouse.close());
    return {
      organization: await warehouse.organization(),
      keyFaults: await warehouse.checkKeys(),
      files: { worker: sizeOf(worker), published: sizeOf(published) },
    };
  });
}

/** Which of DuckDB's extensions are on this machine, and which of them the settings need. */
export interface Extensions {
  readonly present: readonly string[];
  readonly missing: readonly string[];
  /** What is wrong with those that are here and cannot be loaded. */
  readonly problems: readonly string[];
  /** What needs extensions, and those of them that are not present. */
  readonly needed: readonly { readonly use: ExtensionUse; readonly missing: readonly string[] }[];
  /** How to get those that are not present, in one sentence. */
  readonly howToGet: string;
}

/** Tries to load every extension that is on this machine; downloads nothing. */
export async function findExtensions({ config }: Setup): Promise<Extensions> {
  const { lake, encryptionKey } = config;
  // What the settings switch on.
  const uses: ExtensionUse[] = lake.catalog === undefined ? [] : [lake.kind];
  if (encryptionKey !== undefined) uses.push('encryption');
  const states = Object.entries(await inspectExtensions(config.duckdb.extensionDirectory));
  const inState = (wanted: string) => states.flatMap(([name, { state }]) => (state === wanted ? name : []));
  const present = inState('loaded');
  return {
    present,
    missing: inState('missing'),
    problems: states.flatMap(([name, found]) =>
      found.state === 'unusable' ? `${name}: ${found.problem}` : [],
    ),
    needed: uses.map((use) => {
      return { use, missing: extensionsOf[use].filter((name) => !present.includes(name)) };
    }),
    howToGet: howToGet('*'),
  };
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}
