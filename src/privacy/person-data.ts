import { classOf, type Kind } from '../contract/privacy.js';
import type { Models } from '../load/models.js';
import type { Session } from '../store/session.js';
import { identifier } from '../store/sql.js';
import type { RowCounts } from './documents.js';
import { tablesOfEntities } from './entities.js';
import { type Found, planForget } from './forget.js';
import type { Forgotten } from './forgotten.js';

/**
 * What is held about one person: the rows that are the person's own, without the columns that say something about others.
 * Who the person is, and in how many rows of others something of the person is, is what `forget` would find.
 */

/** A stored row; JSON, lists and times as JSON has them. */
type Row = Readonly<Record<string, unknown>>;

export interface PersonData {
  /** The ids of the person, with those that were merged. */
  readonly ids: readonly string[];
  /** The accounts with the address, where no person who is listed has it. */
  readonly accounts: number;
  /** What has something of the person, also of others, as `forget` counts it. */
  readonly held: RowCounts;
  /** The person's own rows, by table. */
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  /** The columns of these that are not shown, because they say something about others: `people.company_name`. */
  readonly leftOut: readonly string[];
}

/** Collects it; null where nothing is held. `who` is an id or an e-mail address. Writes nothing. */
export async function collectPerson(
  session: Session,
  models: Models,
  forgotten: Forgotten,
  who: string,
): Promise<(PersonData & { readonly found: Found }) | null> {
  const isAddress = who.includes('@');
  const { ids, accounts, parts, held, found } = await planForget(session, models, forgotten, {
    type: 'person',
    ids: isAddress ? [] : [who],
    emails: isAddress ? [who] : [],
  });
  if (ids.length + accounts.length === 0) return null;
  const tables: Record<string, Row[]> = {};
  const leftOut = new Set<string>();
  for (const [table, kinds] of tablesOfEntities()) {
    const { part, isOwn } = ownership(kinds) ?? {};
    if (part === undefined) continue;
    const rows = await session.all<{ json: string }>(
      `SELECT to_json(own)::VARCHAR AS json FROM main.${identifier(table)} AS own WHERE ${isOwn}`,
      { own: parts.flatMap((one) => (one.part === part ? one.value : [])) },
    );
    if (rows.length > 0) tables[table] = rows.map(({ json }) => shown(table, kinds, json, leftOut));
  }
  return { ids, accounts: accounts.length, held, tables, leftOut: [...leftOut].sort(), found };
}

/** Whose rows those of a table are, by the kinds of its columns: what `$own` holds, and a condition (SQL). */
function ownership(kinds: Readonly<Record<string, Kind>>) {
  const isIn = (name: string) => `${identifier(name)} IN (SELECT unnest($own::VARCHAR[]))`;
  if (kinds.entity_type !== undefined) {
    const names = ['entity_id', 'source_id', 'target_id'].filter((name) => name in kinds);
    const isOwn = `entity_type = 'person' AND (${names.map(isIn).join(' OR ')})`;
    return names.length === 0 ? undefined : { part: 'person' as const, isOwn };
  }
  for (const part of ['person', 'author', 'message'] as const) {
    const name = ['id', `${part}_id`].find((one) => kinds[one] === `${part}_id`);
    if (name !== undefined) return { part, isOwn: isIn(name) };
  }
  return undefined;
}

/** A row without what is empty, and without the columns about others, which are added to `leftOut`. */
function shown(
  table: string,
  kinds: Readonly<Record<string, Kind>>,
  json: string,
  leftOut: Set<string>,
): Row {
  const row: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(JSON.parse(json) as Row)) {
    if (value === null) continue;
    if (isShown(kinds[name] ?? 'document', name)) row[name] = value;
    else leftOut.add(`${table}.${name}`);
  }
  return row;
}

/** Content that is the person's own in a row of the person. */
const ownContent: ReadonlySet<Kind> = new Set<Kind>([
  'message_text',
  'message_title',
  'history_values',
  'source_url',
]);

/** Whether a column of the person's own row is shown. A company in it is the employer; a user is another person. */
function isShown(kind: Kind, column: string): boolean {
  if (column.startsWith('user_') || kind === 'request_path') return false;
  // The message of another person that was answered.
  if (kind === 'source_id' && column !== 'source_message_id') return false;
  return classOf(kind) !== 'content' || ownContent.has(kind);
}
