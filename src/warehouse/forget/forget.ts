import { timeId } from '../../base/clock.js';
import type { Models } from '../load/models.js';
import { identifier, sqlFile, substitute } from '../sql.js';
import type { Session, Statements } from '../store/session.js';
import {
  countFound,
  type Found,
  findDocuments,
  findOtherRows,
  type RowCounts,
  replaceDocuments,
  replaceOtherRows,
} from './apply.js';
import { entities, ownColumns, recognizedBy, storedOf } from './entities.js';
import { type Fingerprint, Fingerprints, noBlanks, type Part, wordsOf } from './fingerprints.js';
import { type AuditRecord, type Step, settleLearned, storeFingerprints, storeRecord } from './records.js';

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
  /** How many people are held whom only an account with the address shows: they wrote, and are in no list of people. */
  readonly accounts: number;
  /** How many of `ids` were not named, but merged with one that was. */
  readonly merged: number;
  /** The ids and addresses of which nothing is held. */
  readonly unknown: readonly string[];
  /** How many of these are forgotten all the same, in case they come. */
  readonly inAdvance: number;
  /** Rows by table that have something to remove. */
  readonly held: RowCounts;
  /** How many names and addresses somebody else has too: they are only removed where it is clear whose they are. */
  readonly shared: number;
  readonly fingerprints: readonly Fingerprint[];
  readonly found: Found;
}

/** Finds who is meant and what is held of them. Writes nothing. */
export async function planForget(
  session: Session,
  models: Models,
  forgotten: Fingerprints,
  selection: Selection,
): Promise<ForgetPlan> {
  const { type, inAdvance } = selection;
  const { ids: named, unknown: notFound } = await findEntities(session, selection);
  const authors = type === 'person' ? await authorsWith(session, notFound) : [];
  const unknown = notFound.filter((one) => !authors.some(({ address }) => address === one));
  const ids = type === 'conversation' ? named : await withMerged(session, type, named);
  const trial = new Fingerprints(forgotten.salt, forgotten.rows());
  const accounts = authors.map(({ id }) => id);
  const shared =
    (await addFingerprints(session, trial, type, ids)) +
    (await addFingerprints(session, trial, 'account', accounts));
  if (inAdvance) {
    for (const value of unknown) {
      const parts: Part[] = value.includes('@') ? [type, 'email', 'text'] : [type];
      for (const part of parts) addPart(trial, part, value);
      if (value.includes('@')) addPart(trial, 'identity', `email:${value}`);
    }
  }
  const found = await findEverywhere(session, models, trial);
  return {
    type,
    ids,
    accounts: notFound.length - unknown.length,
    merged: ids.length - named.length,
    unknown,
    inAdvance: inAdvance ? unknown.length : 0,
    held: await countFound(session, models, found),
    shared,
    fingerprints: trial.rows().slice(forgotten.rows().length),
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

/** The accounts with one of these addresses. */
async function authorsWith(
  session: Statements,
  addresses: readonly string[],
): Promise<{ id: string; address: string }[]> {
  const emails = addresses.filter((one) => one.includes('@'));
  if (emails.length === 0) return [];
  return session.all(
    `SELECT id, lower(source_author_id) AS address FROM authors
      WHERE lower(source_author_id) IN (SELECT unnest($emails::VARCHAR[]))`,
    { emails },
  );
}

/**
 * Finds the documents and other rows with something to remove. Documents may show that others are the same people or
 * companies: then the names and addresses of these are looked for, too.
 */
async function findEverywhere(session: Statements, models: Models, forgotten: Fingerprints): Promise<Found> {
  const learned = await addStored(session, forgotten);
  let found = await findDocuments(session, forgotten);
  while (found.learned.length > 0) {
    learned.push(...found.learned, ...(await addStored(session, forgotten)));
    found = await findDocuments(session, forgotten);
  }
  return { documents: found.documents, learned, others: await findOtherRows(session, models, forgotten) };
}

/** Adds the fingerprints of those that were forgotten by their ids and are still stored with anything personal. Returns the new ones. */
async function addStored(session: Statements, forgotten: Fingerprints): Promise<Fingerprint[]> {
  const before = forgotten.rows().length;
  for (const type of ['person', 'company'] as const) {
    const rows = await session.all<{ id: string }>(`SELECT DISTINCT id FROM (${storedOf(type)})`);
    const ids = rows.flatMap(({ id }) => (forgotten.mayTouch(id) && forgotten.has(type, id) ? id : []));
    if (ids.length > 0) await addFingerprints(session, forgotten, type, ids);
  }
  return forgotten.rows().slice(before);
}

/** The shortest text that is looked for in others' texts: shorter ones are parts of too many words. */
const shortest = 4;

/** A line of a message must have so many words, and characters, to be recognized as a quote. */
const fewestQuoted = 4;
const shortestQuoted = 8;
const mostQuoted = 20_000;
/** A sentence of it must have more words: short ones are said by everybody. */
const fewestInSentence = 6;

/** Adds the fingerprints of the entities; returns how many names and addresses somebody else has as well. */
async function addFingerprints(
  session: Statements,
  forgotten: Fingerprints,
  type: Forgettable | 'account',
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const [person, company] = [recognizedBy('person'), recognizedBy('company')];
  const query = substitute(sqlFile(`forget/${type}`), { recognized: type === 'company' ? company : person });
  const rows = await session.all<{ part: Part; value: string }>(query, { ids });
  const authors = rows.flatMap(({ part, value }) => (part === 'author' ? value : []));
  const texts = rows.filter(({ part }) => ownTexts.has(part));
  const others =
    type === 'conversation'
      ? []
      : await session.all<{ value: string }>(substitute(sqlFile('forget/shared'), { person, company }), {
          type: type === 'account' ? 'person' : type,
          ids,
          authors,
          values: [...new Set(texts.map(({ value }) => value.toLowerCase()))],
        });
  const shared = new Set(others.map(({ value }) => value));
  for (const { part, value } of rows) {
    if (!ownTexts.has(part)) addPart(forgotten, part, value);
    else if (isLongEnough(value) && !shared.has(value.toLowerCase())) addText(forgotten, part, value);
  }
  const written = await session.all<{ conversation: string; content: string | null; title: string | null }>(
    sqlFile('forget/written'),
    { authors, conversations: type === 'conversation' ? ids : [] },
  );
  for (const { conversation, content, title } of written) {
    const lines = (content ?? '').split('\n');
    const sentences = lines.flatMap((line) => line.split(/(?<=[.!?…])\s+|(?<=[。！？])/u));
    for (const line of new Set([title ?? '', content ?? '', ...lines])) {
      if (!isLong(line, fewestQuoted)) continue;
      addPart(forgotten, 'quote', line, conversation);
      addPart(forgotten, 'line', line);
    }
    // Elsewhere, somebody else may have written the same sentence.
    for (const sentence of sentences.filter((one) => isLong(one, fewestInSentence)))
      addPart(forgotten, 'quote', sentence, conversation);
  }
  return shared.size;
}

/** Whether others would hardly write the same text of their own accord. */
function isLong(text: string, fewestWords: number): boolean {
  const words = wordsOf(text).length;
  return words >= fewestWords && words <= mostQuoted && text.trim().length >= shortestQuoted;
}

/** Two characters make a name in scripts that put no blank between words. */
function isLongEnough(value: string): boolean {
  return value.length >= shortest || (value.length > 1 && [...value].every((one) => noBlanks.test(one)));
}

/** The parts that somebody else may have as well. */
const ownTexts: ReadonlySet<Part> = new Set(['name', 'text', 'source_id']);

/**
 * Adds a name, an address or an id in a source, which may be an address. One word without a digit may be a common word: it is treated as a name. A letter with an
 * accent has two forms in Unicode, and programs differ in which they write.
 */
export function addText(forgotten: Fingerprints, part: Part, value: string): void {
  if (part === 'source_id' && !value.includes('@')) {
    addPart(forgotten, part, value);
    return;
  }
  const isHandle = /\d/.test(value) && value.length > 4;
  const isOneWord = wordsOf(value).length === 1;
  const found = isOneWord ? (isHandle ? 'text' : 'name') : part;
  for (const form of new Set([value, value.normalize('NFC'), value.normalize('NFD')]))
    addPart(forgotten, found, form);
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
    /** What follows; without a record, of the latest request, and only where something was changed. */
    readonly pending: readonly Step[];
    /** Fingerprints that are not stored yet. */
    readonly added?: readonly Fingerprint[];
    /** What was found just before; otherwise everything is read. */
    readonly found?: Found | undefined;
  },
): Promise<RowCounts> {
  const { record, pending, added = [] } = options;
  const found = options.found ?? (await findEverywhere(session, models, forgotten));
  return session.transaction(async (tx) => {
    const held = {
      ...(await replaceDocuments(tx, models, found.documents)),
      ...(await replaceOtherRows(tx, found.others)),
    };
    await storeFingerprints(tx, forgotten.salt, [...added, ...found.learned], record?.id ?? null);
    if (record) await storeRecord(tx, { ...record, details: record.details ?? held }, pending);
    await settleLearned(tx, record || Object.keys(held).length === 0 ? [] : pending);
    return held;
  });
}

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
  return substitute(sqlFile('forget/expired'), { stored: storedOf('person') });
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
 * their ids, times and counts. Returns the rows by table; nothing is read of the documents while nothing is due.
 */
export async function expireOld(
  session: Session,
  models: Models,
  forgotten: Fingerprints,
  age: Age,
  now: Date,
): Promise<RowCounts> {
  const due = await session.all<{ kind: 'person' | 'message'; id: string }>(expiredSql(), ageParams(age));
  if (due.length === 0) return {};
  const people = due.flatMap(({ kind, id }) => (kind === 'person' ? id : []));
  const messages = due.flatMap(({ kind, id }) => (kind === 'message' ? id : []));
  const expired = { people: new Set(people), messages: new Set(messages) };
  const rows = await session.all<{ rid: number }>(sqlFile('forget/expired_documents'), {
    people,
    messages,
    ...entities().kindsOfPeople,
  });
  const rowIds = rows.map(({ rid }) => rid);
  let found = await findDocuments(session, forgotten, { expired, rowIds });
  while (found.learned.length > 0) found = await findDocuments(session, forgotten, { expired, rowIds });
  return session.transaction(async (tx) => {
    const held: Record<string, number> = { ...(await replaceDocuments(tx, models, found.documents)) };
    const versions = new Set(models.documents.map((model) => model.versions?.table));
    for (const { table, id, columns } of ownColumns('person')) {
      if (!versions.has(table)) continue;
      const names = columns.map(({ name }) => identifier(name));
      const changed = await tx.run(
        `UPDATE ${identifier(table)} SET ${names.map((name) => `${name} = NULL`).join(', ')}
          WHERE coalesce(${names.join(', ')}) IS NOT NULL AND ${identifier(id)} IN (SELECT unnest($people::VARCHAR[]))`,
        { people },
      );
      if (changed > 0) held[table] = changed;
    }
    const rejected = await tx.run(
      `UPDATE ops.rejected_records SET body = 'null'::JSON
        WHERE body::VARCHAR <> 'null' AND (endpoint = 'messages' AND id IN (SELECT unnest($messages::VARCHAR[]))
           OR endpoint IN (SELECT unnest($own::VARCHAR[])) AND id IN (SELECT unnest($people::VARCHAR[]))
           OR endpoint IN (SELECT unnest($within::VARCHAR[])) AND parent_id IN (SELECT unnest($people::VARCHAR[])))`,
      { people, messages, ...entities().kindsOfPeople },
    );
    if (rejected > 0) held['ops.rejected_records'] = rejected;
    if (Object.keys(held).length > 0) {
      const record = {
        ...({ id: timeId(now), at: now.toISOString(), action: 'expire', entityType: null } as const),
        ...{ entities: people.length + messages.length, requestedBy: null, reason: null, details: held },
      };
      await storeRecord(tx, record, []);
    }
    return held;
  });
}
