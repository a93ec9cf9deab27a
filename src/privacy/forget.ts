import { countBy } from '../base/group-by.js';
import type { Models } from '../load/models.js';
import type { Stamp } from '../load/stamp.js';
import { forgetMade } from '../store/made.js';
import type { Session, Statements } from '../store/session.js';
import { sqlFile, substitute } from '../store/sql.js';
import { findDocuments, type RowCounts, replaceDocuments, type StrippedRow } from './documents.js';
import { namesInColumns } from './entities.js';
import { Forgotten, type Part, Texts } from './forgotten.js';
import { findOtherRows, type OtherRow, replaceOtherRows } from './other-rows.js';
import { type JournalLine, steps, storeForgotten, storeRecord } from './records.js';

/** Forgetting people, companies and conversations: who is meant, what is held, and its removal in one transaction. */

type Forgettable = 'person' | 'conversation' | 'company';

/** Who is to be forgotten. */
export interface Selection {
  readonly type: Forgettable;
  readonly ids: readonly string[];
  /** Addresses of people. */
  readonly emails: readonly string[];
}

/** What is to be removed, as it was found; it holds until something else is written. */
export interface Found {
  /** Recognizes it: what was forgotten before, what is forgotten now, and the names of that. */
  readonly forgotten: Forgotten;
  /** What was written by those people or in those conversations. */
  readonly written: readonly string[];
  readonly documents: readonly StrippedRow[];
  readonly others: readonly OtherRow[];
}

/** What forgetting would do. */
export interface ForgetPlan {
  readonly type: Forgettable;
  /** The entities that are held, with those that were merged with them. */
  readonly ids: readonly string[];
  /** The accounts with one of the addresses that belong to no person who is listed. */
  readonly accounts: readonly string[];
  /** How many of `ids` were not named, but merged with one that was. */
  readonly merged: number;
  /** The ids and addresses of which nothing is held. */
  readonly unknown: readonly string[];
  /** What has something to remove: documents by kind, and rows by other table. */
  readonly held: RowCounts;
  /** The ids and addresses by which it is recognized. */
  readonly parts: readonly { readonly part: Part; readonly value: string }[];
  readonly found: Found;
}

/** Finds who is meant and what is held of them. Writes nothing. */
export async function planForget(
  session: Session,
  models: Models,
  forgotten: Forgotten,
  selection: Selection,
): Promise<ForgetPlan> {
  const { type } = selection;
  const { ids: named, unknown: notFound } = await findEntities(session, selection);
  const ids = type === 'conversation' ? named : await withMerged(session, type, named);
  const accounts = type === 'person' ? await accountsWith(session, notFound) : [];
  const parts = await session.all<{ part: Part; value: string }>(sqlFile(`forget/${type}`), {
    ids,
    ...(type === 'person' && { emails: accounts }),
  });
  const trial = new Forgotten(forgotten.salt, [...forgotten.rows(), ...forgotten.allOf(parts)]);
  const found = await findEverywhere(session, models, trial);
  return {
    type,
    ids,
    accounts,
    merged: ids.length - named.length,
    unknown: notFound.filter((one) => !accounts.includes(one)),
    held: {
      ...countBy(found.documents, ({ endpoint }) => endpoint),
      ...countBy(found.others, ({ label }) => label),
    } as RowCounts,
    parts,
    found,
  };
}

/** The named entities that are held, and the names of those that are not. */
async function findEntities(
  session: Statements,
  { type, ids, emails }: Selection,
): Promise<{ ids: string[]; unknown: string[] }> {
  const addresses = emails.map((one) => one.trim().toLowerCase());
  const table = type === 'company' ? 'companies' : 'groups';
  const rows =
    type === 'person'
      ? await session.all<{ id: string; email: string | null }>(sqlFile('forget/find_person'), {
          ids,
          emails: addresses,
        })
      : await session.all<{ id: string; email: null }>(
          `SELECT id, NULL AS email FROM main.${table} WHERE id IN (SELECT unnest($ids::VARCHAR[]))`,
          { ids },
        );
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

/** These entities, and those that were merged with them. */
async function withMerged(session: Statements, type: Forgettable, ids: readonly string[]): Promise<string[]> {
  const rows = await session.all<{ id: string }>(sqlFile('forget/merged'), { type, ids });
  return rows.map(({ id }) => id);
}

/** Those of some addresses with which accounts wrote. */
async function accountsWith(session: Statements, addresses: readonly string[]): Promise<string[]> {
  const rows = await session.all<{ address: string }>(
    `SELECT DISTINCT lower(source_author_id) AS address FROM authors
      WHERE contains(source_author_id, '@') AND lower(source_author_id) IN (SELECT unnest($addresses::VARCHAR[]))`,
    { addresses },
  );
  return rows.map(({ address }) => address);
}

/** Finds every row with something of what was forgotten, and with the names that are still stored of it. */
export async function findEverywhere(
  session: Statements,
  models: Models,
  forgotten: Forgotten,
): Promise<Found> {
  const names = substitute(sqlFile('forget/names'), { columns: namesInColumns() });
  const named = await keysOf(session, forgotten, `SELECT DISTINCT part, id FROM (${names})`);
  const own = await session.all<{ value: string }>(substitute(sqlFile('forget/own_names'), { names }), {
    own: named,
  });
  const texts = new Texts(own.map(({ value }) => value));
  const recognized = new Forgotten(forgotten.salt, forgotten.rows(), texts);
  return {
    forgotten: recognized,
    written: await writtenBy(session, forgotten),
    documents: await findDocuments(session, recognized),
    others: await findOtherRows(session, models, recognized),
  };
}

async function writtenBy(session: Statements, forgotten: Forgotten): Promise<string[]> {
  const all = `SELECT DISTINCT 'author' AS part, author_id AS id FROM messages
    UNION ALL SELECT DISTINCT 'conversation', group_id FROM messages`;
  const own = await keysOf(session, forgotten, all);
  const rows = await session.all<{ text: string | null }>(sqlFile('forget/written'), { own });
  return rows.flatMap(({ text }) => text ?? []);
}

/** Those of the rows of `part` and `id` that a query has and that were forgotten, as `part:id`. */
async function keysOf(session: Statements, forgotten: Forgotten, sql: string): Promise<string[]> {
  const rows = await session.all<{ part: Part; id: string | null }>(sql);
  return rows.flatMap(({ part, id }) => (forgotten.has(part, id) ? `${part}:${id}` : []));
}

/**
 * Removes what was found from every table, in one transaction, with the records of the requests and what has to follow them
 * (`steps`). Returns what was changed, by table.
 */
export async function removeFound(
  session: Session,
  models: Models,
  { documents, others }: Found,
  requests: readonly JournalLine[],
  stamp: Stamp,
): Promise<RowCounts> {
  return session.transaction(async (tx) => {
    await forgetMade(tx, 'derived');
    await forgetMade(tx, 'entities');
    const held = {
      ...(await replaceDocuments(tx, models, documents, stamp)),
      ...(await replaceOtherRows(tx, others, stamp)),
    };
    for (const line of requests) {
      await storeForgotten(tx, line);
      await storeRecord(tx, { ...line.record, details: held }, steps);
    }
    return held;
  });
}
