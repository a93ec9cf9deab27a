import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { privateMode } from '../base/atomic-file.js';
import { type Clock, systemClock, timeId } from '../base/clock.js';
import { messageOf, StorageError } from '../base/errors.js';
import { Journal } from '../base/journal.js';
import type { Log } from '../base/log.js';
import { osUser } from '../base/os-user.js';
import type { Config } from '../config/load.js';
import type { Warehouse } from '../load/warehouse.js';
import type { AuditRecord } from './records.js';

/**
 * The record of who exported and read what. Both read the published file and take no lock, so they write a line to a file beside
 * it; the next command that writes to the warehouse moves the lines into ops.audit. A line may be there twice: its id tells.
 */

/** Where it is recorded. */
interface Recording {
  readonly config: Pick<Config, 'dataDir'>;
  readonly log: Log;
  readonly clock?: Clock;
}

/** What was written for a person, without the content. */
export interface ExportRecord {
  /** Tables and views; for the result of a query, whose text is not kept, those that it reads. */
  readonly tables: readonly string[];
  readonly format: string;
  readonly rows: number;
  readonly file: string;
}

function auditPath(dataDir: string): string {
  return join(dataDir, 'audit.journal');
}

/** What was shown to a person, without the content and without the text of the query, which may name people. */
export interface ReadRecord {
  /** `sql`, `report`, a page (`topic`, `company`, `told`, `topics` for a search of messages), or the tool of an assistant. */
  readonly by: string;
  /** The tables that a query read, also through views and macros. */
  readonly tables?: readonly string[];
  /** How many rows were shown; null for a page. */
  readonly rows: number | null;
}

/** Throws StorageError where an export could not be recorded: call it before anything is written. */
export function refuseUnrecorded({ config }: Pick<Recording, 'config'>): void {
  const path = auditPath(config.dataDir);
  try {
    closeSync(openSync(path, 'a', privateMode));
  } catch (error) {
    throw new StorageError(`the export cannot be recorded in ${path}: ${messageOf(error)}`, {
      hint: 'Nothing was exported. Export as a user who may write to the data directory.',
      cause: error,
    });
  }
}

/** Records an export. Throws StorageError where that is not possible: see `refuseUnrecorded`. */
export function recordExport(setup: Recording, details: ExportRecord, requestedBy?: string): void {
  refuseUnrecorded(setup);
  record(setup, 'export', details, requestedBy);
}

/** Records that a person read. Who may only read the data directory leaves no record: there is nowhere to write it. */
export function recordRead(setup: Recording, details: ReadRecord, requestedBy?: string): void {
  try {
    record(setup, 'read', details, requestedBy);
  } catch (error) {
    setup.log.debug({ err: error }, 'what was read could not be recorded in audit.journal');
  }
}

/** Records that a person logged in, or tried to, under a name. Where that is not possible, the log has it alone. */
export function recordLogin(
  setup: Recording,
  { name, ...details }: { readonly name: string; readonly address: string; readonly outcome: string },
): void {
  try {
    record(setup, 'login', details, name);
  } catch (error) {
    setup.log.error({ err: error }, 'a login could not be recorded in audit.journal');
  }
}

function record(
  { config, clock = systemClock }: Recording,
  action: 'export' | 'read' | 'login',
  details: unknown,
  requestedBy = osUser(),
): void {
  const now = new Date(clock.now());
  const line: AuditRecord = {
    id: timeId(now),
    at: now.toISOString(),
    action,
    entityType: null,
    entities: null,
    requestedBy,
    reason: null,
    details,
  };
  new Journal(auditPath(config.dataDir)).append([line]);
}

/**
 * Moves the recorded exports into ops.audit. A kill in between loses none, and none is there twice. A record that cannot be read
 * stays for a later command: who read as root has left it with root as its owner, and that must not stop a sync.
 */
export async function moveRecords(
  warehouse: Pick<Warehouse, 'record'>,
  dataDir: string,
  log: Log,
): Promise<void> {
  const path = auditPath(dataDir);
  const taken = `${path}.taken`;
  const move = async () => {
    let records: AuditRecord[];
    try {
      records = new Journal(taken).values<AuditRecord>();
    } catch (error) {
      if (!['EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
      log.warn(
        { path: taken },
        `who exported and read is not in the audit yet: ${messageOf(error)}. Give this user access to that file`,
      );
      return false;
    }
    for (const record of records) await warehouse.record(record);
    rmSync(taken);
    return true;
  };
  if (existsSync(taken) && !(await move())) return;
  if (!existsSync(path)) return;
  renameSync(path, taken);
  await move();
}
