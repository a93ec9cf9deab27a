import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { StorageError } from '../../base/errors.js';
import { Journal } from '../../base/journal.js';
import type { Statements } from '../store/session.js';
import { type Fingerprint, Fingerprints } from './fingerprints.js';

/**
 * What is kept of every request to forget: its row in ops.audit, its fingerprints in ops.forgotten, and both in a journal
 * beside the database, which a restore from an older file does not undo.
 */

/** What the record of a request says. */
export interface Request {
  readonly requestedBy: string;
  readonly reason: string | null;
}

/** The steps that follow the transaction, in their order. */
export const steps = ['files', 'compact', 'publish', 'lake'] as const;
export type Step = (typeof steps)[number];

/** A row of ops.audit, as it is written and as the journal keeps it. */
export interface AuditRecord {
  readonly id: string;
  readonly at: string;
  readonly action: 'forget' | 'expire' | 'export' | 'read' | 'merge';
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
      ...{ id: record.id, at: record.at, action: record.action, type: record.entityType },
      ...{ entities: record.entities, by: record.requestedBy, reason: record.reason },
      ...{ details: JSON.stringify(record.details), pending },
    },
  );
}

/** Stores fingerprints that are not stored yet. */
export async function storeFingerprints(
  tx: Statements,
  salt: string,
  rows: readonly Fingerprint[],
  auditId: string | null,
): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(
    'CREATE OR REPLACE TEMP TABLE new_fingerprints (fingerprint VARCHAR, part VARCHAR, words BIGINT, prefix BIGINT)',
  );
  await tx.append(
    { catalog: 'temp', table: 'new_fingerprints' },
    rows.map((row) => [row.fingerprint, row.part, row.words, row.prefix]),
  );
  await tx.run(
    `INSERT INTO ops.forgotten BY NAME
       SELECT DISTINCT ON (fingerprint) *, $salt AS salt, $audit AS audit_id FROM new_fingerprints
        WHERE fingerprint NOT IN (SELECT fingerprint FROM ops.forgotten)`,
    { salt, audit: auditId },
  );
  await tx.run('DROP TABLE temp.new_fingerprints');
}

/**
 * In ops.forgotten.audit_id, for a fingerprint that a batch showed: rows stored before may have what it stands for. It stays
 * until they were searched, so that a kill in between loses nothing.
 */
export const learnedMark = 'learned';

/** Says that every row was searched for what batches showed; with `steps`, what the latest request has to do again. */
export async function settleLearned(tx: Statements, steps: readonly Step[]): Promise<void> {
  await tx.run('UPDATE ops.forgotten SET audit_id = NULL WHERE audit_id = $learned', {
    learned: learnedMark,
  });
  if (steps.length === 0) return;
  await tx.run(
    `UPDATE ops.audit SET pending = list_distinct(list_concat(coalesce(pending, []), $steps::VARCHAR[])), completed_at = NULL
      WHERE id = (SELECT max(id) FROM ops.audit WHERE action = 'forget')`,
    { steps },
  );
}

/** A line of the journal: what one request added. */
export interface JournalLine {
  readonly salt: string;
  readonly record: AuditRecord;
  readonly fingerprints: readonly Fingerprint[];
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
 * The fingerprints of a warehouse that was just opened, and what its journal has that it has not: the warehouse was
 * restored from a file of the time before, or the program was killed. `hasLearned`: rows are still to be searched for what
 * batches showed. Raises StorageError when the two are of different warehouses.
 */
export async function openForgotten(
  session: Statements,
  dataDir: string,
): Promise<{ forgotten: Fingerprints; missing: JournalLine[]; hasLearned: boolean }> {
  const rows = await session.all<Fingerprint & { salt: string; audit_id: string | null }>(
    'SELECT fingerprint, part, words, prefix, salt, audit_id FROM ops.forgotten',
  );
  const hasLearned = rows.some((row) => row.audit_id === learnedMark);
  const stored = new Fingerprints(rows[0]?.salt ?? randomBytes(16).toString('hex'), rows);
  // A line that a kill cut off is skipped: nothing was removed because of it.
  const lines = new Journal(forgottenJournalPath(dataDir)).values<JournalLine>();
  const [first] = lines;
  if (!first) return { forgotten: stored, missing: [], hasLearned };
  const known = await session.all<{ id: string }>(`SELECT id FROM ops.audit WHERE action = 'forget'`);
  const ids = new Set(known.map(({ id }) => id));
  const missing = lines.filter(({ record }) => !ids.has(record.id));
  if (!stored.isEmpty && lines.some(({ salt }) => salt !== stored.salt)) {
    throw new StorageError(`${forgottenJournalPath(dataDir)} belongs to another warehouse`, {
      hint: 'It keeps forgotten people from coming back. Put back the file that belongs to this worker.duckdb, or move it away if the warehouse has its own (ops.forgotten).',
    });
  }
  const forgotten = stored.isEmpty ? new Fingerprints(first.salt) : stored;
  for (const row of missing.flatMap(({ fingerprints }) => fingerprints)) forgotten.add(row);
  return { forgotten, missing, hasLearned };
}
