import { timeId } from '../base/clock.js';
import type { Models } from '../load/models.js';
import { runSql, stampOf } from '../load/stamp.js';
import { forgetMade } from '../store/made.js';
import type { Session } from '../store/session.js';
import { identifier, sqlFile, substitute } from '../store/sql.js';
import { findDocuments, type RowCounts, replaceDocuments } from './documents.js';
import { entities, ownColumns, storedPeople } from './entities.js';
import type { Forgotten } from './forgotten.js';
import { storeRecord } from './records.js';

/** Drops content and personal fields that are too old (`retention`). */

/** Before when something is too old to be kept; null where it never is. */
export interface Age {
  /** The API deleted it. */
  readonly deleted: Date | null;
  /** Messages were written. */
  readonly messages: Date | null;
  /** People were last seen. */
  readonly people: Date | null;
}

/** What is too old and still stored: rows of `kind` (message or person) and `id`. */
function expiredSql(): string {
  return substitute(sqlFile('forget/expired'), { stored: storedPeople() });
}

/** How an `Age` is bound to the queries. */
function ageParams({ deleted, messages, people }: Age) {
  return { before: deleted, messages_before: messages, people_before: people };
}

/** How many messages and people `expireOld` would drop content or personal fields of. */
export async function countExpired(
  session: Session,
  age: Age,
): Promise<{ readonly messages: number; readonly people: number }> {
  const rows = await session.all<{ kind: string; found: number }>(
    `SELECT kind, count(DISTINCT id)::INTEGER AS found FROM (${expiredSql()}) GROUP BY kind`,
    ageParams(age),
  );
  const found = (kind: string) => rows.find((row) => row.kind === kind)?.found ?? 0;
  return { messages: found('message'), people: found('person') };
}

/**
 * Drops the content and the personal fields of messages and people that are too old. The rows stay, with
 * their ids, times and counts. Rejected records and examples of drift may quote anything that was deleted since: they go by their
 * own age. Returns the rows by table; nothing is read of the documents while nothing is due.
 */
export async function expireOld(
  session: Session,
  models: Models,
  forgotten: Forgotten,
  age: Age,
  now: Date,
): Promise<RowCounts> {
  const due = await session.all<{ kind: 'person' | 'message'; id: string }>(expiredSql(), ageParams(age));
  const people = due.flatMap(({ kind, id }) => (kind === 'person' ? id : []));
  const messages = due.flatMap(({ kind, id }) => (kind === 'message' ? id : []));
  const which = { people, messages, ...entities().kindsOfPeople };
  const rows =
    due.length === 0 ? [] : await session.all<{ rid: number }>(sqlFile('forget/expired_documents'), which);
  const documents = await findDocuments(session, forgotten, {
    expired: { people: new Set(people), messages: new Set(messages) },
    rowIds: rows.map(({ rid }) => rid),
  });
  const stamp = await stampOf(session, now);
  return session.transaction(async (tx) => {
    if (due.length > 0) {
      await forgetMade(tx, 'derived');
      await forgetMade(tx, 'entities');
    }
    const held: Record<string, number> = { ...(await replaceDocuments(tx, models, documents, stamp)) };
    const versions = new Set(models.documents.map((model) => model.versions?.table));
    for (const { table, id, columns } of ownColumns('person')) {
      if (!versions.has(table)) continue;
      const names = columns.map(({ name }) => identifier(name));
      const changed = await tx.run(
        `UPDATE ${identifier(table)} SET ${names.map((name) => `${name} = NULL`).join(', ')}, run_id = ${runSql(stamp)}
          WHERE coalesce(${names.join(', ')}) IS NOT NULL AND ${identifier(id)} IN (SELECT unnest($people::VARCHAR[]))`,
        { people },
      );
      if (changed > 0) held[table] = changed;
    }
    const before = age.deleted;
    const rejected = await tx.run(sqlFile('forget/expired_rejected'), { ...which, before });
    if (rejected > 0) held['ops.rejected_records'] = rejected;
    const drift = await tx.run(
      'UPDATE ops.schema_drift SET example = NULL WHERE example IS NOT NULL AND first_seen_at < $before',
      { before },
    );
    if (drift > 0) held['ops.schema_drift'] = drift;
    if (Object.keys(held).length > 0) {
      const record = {
        id: timeId(now),
        at: now.toISOString(),
        action: 'expire' as const,
        entityType: null,
        entities: people.length + messages.length,
        requestedBy: null,
        reason: null,
        details: held,
      };
      await storeRecord(tx, record, []);
    }
    return held;
  });
}
