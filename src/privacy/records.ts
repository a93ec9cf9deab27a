import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { StorageError } from '../base/errors.js';
import { Journal } from '../base/journal.js';
import type { Statements } from '../store/session.js';
import { Forgotten, type ForgottenId } from './forgotten.js';

/**
 * What is kept of every request to forget: its row in ops.audit, its hashes in ops.forgotten, and both in a journal
 * beside the database, which a restore from an older file does not undo.
 */

/** What the record of a request says. */
export interface Request {
  readonly requestedBy: string;
  readonly reason: string | null;
}

/** The steps that follow the transaction, in their order. */
export const steps = ['compact', 'publish', 'lake'] as const;
export type Step = (typeof steps)[number];

/** A row of ops.audit, as it is written and as the journal keeps it. */
export interface AuditRecord {
  readonly id: string;
  readonly at: string;
  readonly action: 'forget' | 'expire' | 'export' | 'read' | 'login' | 'merge';
  readonly entityType: string | null;
  readonly entities: number | null;
  readonly requestedBy: string | null;
  readonly reason: string | null;
  readonly details: unknown;
}

/** Writes a row of ops.audit, with the steps that are still to be done. */
export async function storeRecord(
  tx: Statements,
  record: AuditRecord,
  pending: readonly Step[],
): Promise<void> {
  await tx.run(
    `INSERT INTO ops.audit BY NAME SELECT $id AS id, $at::TIMESTAMPTZ AS "at", $action AS action,
       $type AS entity_type, $entities::BIGINT AS entities, $by AS requested_by, $reason AS reason,
       $details::JSON AS details, nullif($pending::VARCHAR[], []) AS pending,
       CASE WHEN len($pending::VARCHAR[]) = 0 THEN $at::TIMESTAMPTZ END AS completed_at`,
    {
      id: record.id,
      at: record.at,
      action: record.action,
      type: record.entityType,
      entities: record.entities,
      by: record.requestedBy,
      reason: record.reason,
      details: JSON.stringify(record.details),
      pending,
    },
  );
}

/** A line of the journal: what one request added. */
export interface JournalLine {
  readonly salt: string;
  readonly record: AuditRecord;
  readonly added: readonly ForgottenId[];
}

/** Stores what a request added and is not stored yet. */
export async function storeForgotten(tx: Statements, { salt, record, added }: JournalLine): Promise<void> {
  await tx.run('CREATE OR REPLACE TEMP TABLE new_forgotten (hash VARCHAR, part VARCHAR)');
  await tx.append(
    { catalog: 'temp', table: 'new_forgotten' },
    added.map(({ hash, part }) => [hash, part]),
  );
  await tx.run(
    `INSERT INTO ops.forgotten BY NAME
       SELECT DISTINCT hash, part, $salt AS salt, $audit AS audit_id FROM new_forgotten
        WHERE hash NOT IN (SELECT hash FROM ops.forgotten)`,
    { salt, audit: record.id },
  );
  await tx.run('DROP TABLE temp.new_forgotten');
}

/** The journal of a data directory: what was forgotten, without anything personal. */
export function forgottenJournalPath(dataDir: string): string {
  return join(dataDir, 'forgotten.journal');
}

/** Appends a request; it is on the disk when this returns. */
export function appendForgotten(dataDir: string, line: JournalLine): void {
  new Journal(forgottenJournalPath(dataDir)).append([line]);
}

/**
 * What was forgotten by a warehouse that was just opened and by its journals, and the requests that only a journal has: the
 * warehouse was restored from a file of the time before, or the program was killed. Raises StorageError when they are of
 * different warehouses.
 */
export async function openForgotten(
  session: Statements,
  ...dataDirs: readonly string[]
): Promise<{ forgotten: Forgotten; missing: JournalLine[] }> {
  const rows = await session.all<ForgottenId & { salt: string }>(
    'SELECT hash, part, salt FROM ops.forgotten',
  );
  // A line that a kill cut off is skipped: nothing was removed because of it.
  const lines = new Map<string, JournalLine>();
  let salt = rows[0]?.salt;
  for (const path of dataDirs.map(forgottenJournalPath)) {
    for (const line of new Journal(path).values<JournalLine>()) {
      salt ??= line.salt;
      if (line.salt !== salt)
        throw new StorageError(`${path} belongs to another warehouse`, {
          hint: 'It keeps forgotten people from coming back. Put back the file that belongs to this worker.duckdb, or move it away if the warehouse has its own (ops.forgotten).',
        });
      lines.set(line.record.id, line);
    }
  }
  const known = await session.all<{ id: string }>(`SELECT id FROM ops.audit WHERE action = 'forget'`);
  const ids = new Set(known.map(({ id }) => id));
  const requests = [...lines.values()];
  salt ??= randomBytes(16).toString('hex');
  const forgotten = new Forgotten(salt, [...rows, ...requests.flatMap(({ added }) => added)]);
  return { forgotten, missing: requests.filter(({ record }) => !ids.has(record.id)) };
}
