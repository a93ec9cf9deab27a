import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { appendLine } from '../../base/atomic-file.js';
import { StorageError } from '../../base/errors.js';
import type { Models } from '../load/models.js';
import { sqlFile } from '../sql.js';
import type { Session, Statements } from '../store/session.js';
import {
  countHeld,
  countOther,
  type Findings,
  findDocuments,
  findOtherRows,
  type Held,
  type OtherRow,
  replaceDocuments,
  replaceOtherRows,
} from './apply.js';
import { type Fingerprint, Fingerprints, type Part, wordsOf } from './fingerprints.js';

/** Forgetting people, companies and conversations: who is meant, what is held, and its removal in one transaction. */

type Forgettable = 'person' | 'conversation' | 'company';

/** Who is to be forgotten. */
export interface Selection {
  readonly type: Forgettable;
  readonly ids: readonly string[];
  /** Addresses of people. */
  readonly emails: readonly string[];
  /** Also forgets what is not held, in case it comes later. */
  readonly inAdvance: boolean;
}

/** What forgetting would do. */
export interface ForgetPlan {
  readonly type: Forgettable;
  /** The entities that are held, with those that were merged with them. */
  readonly ids: readonly string[];
  /** How many of `ids` were not named, but merged with one that was. */
  readonly merged: number;
  /** The ids and addresses of which nothing is held. */
  readonly unknown: readonly string[];
  /** Rows by table that have something to remove. */
  readonly held: Held;
  /** How many names and addresses somebody else has too: they are only removed where it is clear whose they are. */
  readonly shared: number;
  readonly fingerprints: readonly Fingerprint[];
  /** What is to be replaced, as it was found; it holds until something else is written. */
  readonly found: Found;
}

/** The documents and the other rows with something to remove. */
interface Found {
  readonly findings: Findings;
  readonly others: readonly OtherRow[];
}

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
  readonly action: 'forget' | 'expire' | 'export';
  readonly entityType: string | null;
  readonly entities: number | null;
  readonly requestedBy: string | null;
  readonly reason: string | null;
  readonly details: unknown;
}

/** The fingerprints of a warehouse, with those of its journal. */
async function readForgotten(session: Statements): Promise<Fingerprints> {
  const rows = await session.all<Fingerprint & { salt: string }>(
    'SELECT fingerprint, part, words, prefix, salt FROM ops.forgotten',
  );
  return new Fingerprints(rows[0]?.salt ?? newSalt(), rows);
}

function newSalt(): string {
  return randomBytes(16).toString('hex');
}

/** Finds who is meant and what is held of them. Writes nothing. */
export async function planForget(
  session: Session,
  models: Models,
  forgotten: Fingerprints,
  selection: Selection,
): Promise<ForgetPlan> {
  const { type, inAdvance } = selection;
  const { ids: named, unknown } = await findEntities(session, selection);
  const ids = type === 'conversation' ? named : await withMerged(session, type, named);
  const known = new Set(forgotten.rows().map(({ fingerprint }) => fingerprint));
  const trial = new Fingerprints(forgotten.salt, forgotten.rows());
  const shared = await addFingerprints(session, trial, type, ids);
  if (inAdvance) {
    for (const value of unknown) {
      const parts: Part[] = value.includes('@') ? ['email', 'text'] : [type];
      for (const part of parts) addPart(trial, part, value);
      if (value.includes('@')) addPart(trial, 'identity', `email:${value}`);
    }
  }
  const findings = await findDocuments(session, trial);
  const others = await findOtherRows(session, models, trial);
  return {
    type,
    ids,
    merged: ids.length - named.length,
    unknown,
    held: { ...(await countHeld(session, models, findings)), ...countOther(others) },
    shared,
    fingerprints: trial.rows().filter(({ fingerprint }) => !known.has(fingerprint)),
    found: { findings, others },
  };
}

/** The named entities that are held, and the names of those that are not. */
async function findEntities(
  session: Statements,
  { type, ids, emails }: Selection,
): Promise<{ ids: string[]; unknown: string[] }> {
  const addresses = emails.map((one) => one.trim().toLowerCase());
  if (type === 'person') {
    const rows = await session.all<{ id: string; email: string | null }>(sqlFile('forget/find_person'), {
      ids,
      emails: addresses,
    });
    const found = rows.filter(
      ({ id, email }) => ids.includes(id) || (email !== null && addresses.includes(email)),
    );
    return {
      ids: [...new Set(found.map(({ id }) => id))],
      unknown: [
        ...ids.filter((one) => !found.some(({ id }) => id === one)),
        ...addresses.filter((one) => !found.some(({ email }) => email === one)),
      ],
    };
  }
  const table = type === 'company' ? 'companies' : 'groups';
  const rows = await session.all<{ id: string }>(
    `SELECT id FROM main.${table} WHERE id IN (SELECT unnest($ids::VARCHAR[]))`,
    { ids },
  );
  const found = rows.map(({ id }) => id);
  return { ids: found, unknown: ids.filter((one) => !found.includes(one)) };
}

async function withMerged(session: Statements, type: string, ids: readonly string[]): Promise<string[]> {
  const rows = await session.all<{ id: string }>(sqlFile('forget/merged'), { type, ids });
  return rows.map(({ id }) => id);
}

/** The shortest text that is looked for in others' texts: shorter ones are parts of too many words. */
const shortest = 4;

/** A line of a message must have so many words to be recognized as a quote. */
const fewestQuoted = 4;
const mostQuoted = 500;

/** Adds the fingerprints of the entities; returns how many names and addresses somebody else has as well. */
async function addFingerprints(
  session: Statements,
  forgotten: Fingerprints,
  type: Forgettable,
  ids: readonly string[],
): Promise<number> {
  const rows = await session.all<{ part: Part; value: string }>(sqlFile(`forget/${type}`), { ids });
  const authors = rows.flatMap(({ part, value }) => (part === 'author' ? value : []));
  const texts = rows.filter(({ part }) => part === 'name' || part === 'text');
  const others =
    type === 'conversation'
      ? []
      : await session.all<{ value: string }>(sqlFile('forget/shared'), {
          type,
          ids,
          authors,
          values: [...new Set(texts.map(({ value }) => value.toLowerCase()))],
        });
  const shared = new Set(others.map(({ value }) => value));
  for (const { part, value } of rows) {
    const isText = part === 'name' || part === 'text';
    if (!isText) addPart(forgotten, part, value);
    else if (value.length >= shortest && !shared.has(value.toLowerCase()))
      addPart(forgotten, part === 'text' && !tellsWho(value) ? 'name' : part, value);
  }
  const written = await session.all<{ conversation: string; content: string | null; title: string | null }>(
    sqlFile('forget/written'),
    { authors, conversations: type === 'conversation' ? ids : [] },
  );
  for (const { conversation, content, title } of written) {
    const lines = [title ?? '', content ?? '', ...(content?.includes('\n') ? content.split('\n') : [])];
    for (const line of lines) {
      const words = wordsOf(line).length;
      if (words < fewestQuoted || words > mostQuoted) continue;
      addPart(forgotten, 'quote', line, conversation);
      addPart(forgotten, 'line', line);
    }
  }
  return shared.size;
}

/** Whether an address or id is no common word: it has several words, or a digit. Otherwise it is treated as a name. */
function tellsWho(value: string): boolean {
  const words = wordsOf(value);
  return words.length > 1 || (/\d/.test(value) && value.length > 4);
}

function addPart(forgotten: Fingerprints, part: Part, value: string, within?: string): void {
  const row = forgotten.of(part, value, within);
  if (row) forgotten.add(row);
}

/**
 * Removes everything that `forgotten` names from every table, in one transaction, with the record of it. Returns what was
 * changed, by table.
 */
export async function removeAll(
  session: Session,
  models: Models,
  forgotten: Fingerprints,
  options: {
    readonly record?: AuditRecord;
    readonly pending?: readonly Step[];
    /** Fingerprints that are not stored yet. */
    readonly added?: readonly Fingerprint[];
    /** What was found just before; otherwise everything is read. */
    readonly found?: Found | undefined;
  } = {},
): Promise<Held> {
  const { found, record, pending, added = [] } = options;
  const findings = found?.findings ?? (await findDocuments(session, forgotten));
  const others = found?.others ?? (await findOtherRows(session, models, forgotten));
  return session.transaction(async (tx) => {
    const held = {
      ...(await replaceDocuments(tx, models, findings)),
      ...(await replaceOtherRows(tx, others)),
    };
    await storeFingerprints(tx, forgotten.salt, [...added, ...findings.learned], record?.id ?? null);
    if (record) await storeRecord(tx, { ...record, details: record.details ?? held }, pending ?? []);
    return held;
  });
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
    ['text', 'text', 'integer', 'integer'],
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

/** A record's id: sorts by time. */
export function recordId(now: Date): string {
  return `${now.toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(2).toString('hex')}`;
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
  appendLine(forgottenJournalPath(dataDir), JSON.stringify(line));
}

/** The requests in the journal. A line that a kill cut off is skipped: nothing was removed because of it. */
function readJournal(dataDir: string): JournalLine[] {
  const path = forgottenJournalPath(dataDir);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as JournalLine];
      } catch {
        return [];
      }
    });
}

/**
 * The fingerprints of a warehouse that was just opened, and what its journal has that it has not: the warehouse was
 * restored from a file of the time before, or the program was killed. Raises StorageError when the two are of different warehouses.
 */
export async function openForgotten(
  session: Statements,
  dataDir: string,
): Promise<{ forgotten: Fingerprints; missing: JournalLine[] }> {
  const stored = await readForgotten(session);
  const lines = readJournal(dataDir);
  const [first] = lines;
  if (!first) return { forgotten: stored, missing: [] };
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
  return { forgotten, missing };
}
