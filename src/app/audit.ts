import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.js';
import { Journal } from '../base/journal.js';
import { osUser } from '../base/os-user.js';
import { type AuditRecord, recordId } from '../warehouse/forget/records.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Setup } from './setup.js';

/**
 * The record of who exported what. Exports read the published file and take no lock, so they write a line to a file beside
 * it; the next command that writes to the warehouse moves the lines into ops.audit. A line may be there twice: its id tells.
 */

/** What was written for somebody, without the content. */
export interface ExportRecord {
  /** Tables and views; `query` for the result of a query, whose text is not kept. */
  readonly tables: readonly string[];
  readonly format: string;
  readonly rows: number;
  readonly file: string;
}

function auditPath(dataDir: string): string {
  return join(dataDir, 'audit.journal');
}

/** Records an export. A data directory that cannot be written to is warned of; the export is done all the same. */
export function recordExport(
  { config, log, clock = systemClock }: Setup,
  details: ExportRecord,
  requestedBy = osUser(),
): void {
  const now = new Date(clock.now());
  const record: AuditRecord = {
    ...{ id: recordId(now), at: now.toISOString(), action: 'export', entityType: null, entities: null },
    ...{ requestedBy, reason: null, details },
  };
  try {
    new Journal(auditPath(config.dataDir)).append([record]);
  } catch (error) {
    log.warn({ err: error }, 'the export could not be recorded in audit.journal');
  }
}

/** Moves the recorded exports into ops.audit. A kill in between loses none, and none is there twice. */
export async function moveRecords(warehouse: Warehouse, dataDir: string): Promise<void> {
  const path = auditPath(dataDir);
  const taken = `${path}.taken`;
  for (const isNew of [false, true]) {
    if (isNew) {
      if (!existsSync(path)) return;
      renameSync(path, taken);
    }
    if (!existsSync(taken)) continue;
    for (const record of new Journal(taken).values<AuditRecord>()) await warehouse.record(record);
    rmSync(taken);
  }
}
