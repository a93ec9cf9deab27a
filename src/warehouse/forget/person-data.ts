import { groupBy } from '../../base/group-by.js';
import { isObject } from '../../base/json.js';
import { classOf, type Kind } from '../../contract/privacy.js';
import type { Models } from '../load/models.js';
import { kindsOfColumns } from '../privacy/policy.js';
import { identifier } from '../sql.js';
import type { Session } from '../store/session.js';
import { type HeldRow, type RowCounts, readFound, rowsAsJson, type StoredValues } from './apply.js';
import { entities, idColumn, recognizedBy, tablesOfEntities } from './entities.js';
import { Fingerprints, isPseudonym, removed } from './fingerprints.js';
import { addText, planForget } from './forget.js';
import { referringFields, stripJson } from './strip.js';

/**
 * Everything that is held about one person, without what is about others. Where the person is, is what `forget` would remove:
 * the same plan is read, so that the two cannot disagree. Of the person's own rows every column is shown; of a row of others that
 * names the person, only what names the person.
 */

/** A row of the person, or the parts of another row that name the person. */
interface ShownRow {
  readonly isOwn: boolean;
  /** Of a row that is not the person's own, what identifies it. */
  readonly values: StoredValues;
  /** What names the person in columns that are not shown as a whole: where it is, and what it is. */
  readonly named: readonly { readonly where: string; readonly what: unknown }[];
}

/** A column, or part of a table, that is not shown. */
interface LeftOut {
  readonly table: string;
  readonly column: string;
  readonly rows: number;
  readonly why: string;
}

export interface PersonData {
  /** The ids of the person, with those that were merged. */
  readonly ids: readonly string[];
  /** The accounts with the address, where nobody in the list of people has it. */
  readonly accounts: number;
  /** Rows by table, as `forget` counts them. */
  readonly held: RowCounts;
  readonly tables: Readonly<Record<string, readonly ShownRow[]>>;
  /** Rows about the person that have nothing to forget: ids, times and counts, which `forget` keeps. */
  readonly kept: Readonly<Record<string, readonly StoredValues[]>>;
  readonly leftOut: readonly LeftOut[];
  /** Recognizes the person in files. */
  readonly fingerprints: Fingerprints;
}

/** Collects it; null where nothing is held. `who` is an id or an e-mail address. Writes nothing but temporary tables. */
export async function collectPerson(
  session: Session,
  models: Models,
  forgotten: Fingerprints,
  who: string,
): Promise<PersonData | null> {
  const isAddress = who.includes('@');
  const plan = await planForget(session, models, forgotten, {
    type: 'person',
    ids: isAddress ? [] : [who],
    emails: isAddress ? [who] : [],
    inAdvance: false,
  });
  if (plan.ids.length + plan.accounts === 0) return null;
  // Only the person: what was forgotten before is in no row any more.
  const person = new Fingerprints(forgotten.salt, plan.fingerprints);
  const others = await othersThan(session, plan.ids, person);
  const showing = new Showing(person, others);
  const held = await readFound(session, models, plan.found);
  const bodies = new Map(plan.found.documents.map(({ rid, body }) => [rid, body]));
  const changed = groupBy(plan.found.others, ({ label }) => label);
  const tables: Record<string, ShownRow[]> = {};
  for (const [label, rows] of held) {
    const values = new Map((changed.get(label) ?? []).map((one) => [one.rid, one.values]));
    tables[label] = rows.map((one) =>
      label === 'raw.documents'
        ? showing.document(one, bodies.get(one.rid))
        : showing.row(label, one, values.get(one.rid)),
    );
  }
  return {
    ...{ ids: plan.ids, accounts: plan.accounts, held: plan.held, tables },
    kept: await keptRows(session, plan.ids, held, showing),
    leftOut: showing.leftOut(),
    fingerprints: person,
  };
}

/** The rows with the id of the person that are not among those that are held. */
async function keptRows(
  session: Session,
  ids: readonly string[],
  held: ReadonlyMap<string, readonly HeldRow[]>,
  showing: Showing,
): Promise<Record<string, StoredValues[]>> {
  const kept: Record<string, StoredValues[]> = {};
  for (const [table, kinds] of tablesOfEntities()) {
    const column = idColumn('person', kinds);
    if (column === undefined) continue;
    const known = new Set((held.get(table) ?? []).map(({ rid }) => rid));
    const where = `${identifier(column)} IN (SELECT unnest($ids::VARCHAR[]))`;
    const rows = await rowsAsJson(session, `main.${identifier(table)}`, where, { ids: [...ids] });
    const more = rows.filter(({ rid }) => !known.has(rid));
    if (more.length > 0) kept[table] = more.map((one) => showing.row(table, one).values);
  }
  return kept;
}

/** The names and addresses of everybody else, by which they are recognized in what the person wrote. */
async function othersThan(
  session: Session,
  ids: readonly string[],
  person: Fingerprints,
): Promise<Fingerprints> {
  const others = new Fingerprints(`not ${person.salt}`);
  const own = await session.all<{ value: string }>(
    `SELECT DISTINCT lower(value) AS value FROM (${recognizedBy('person')}) WHERE id IN (SELECT unnest($ids::VARCHAR[])) AND value IS NOT NULL`,
    { ids: [...ids] },
  );
  const known = new Set(own.map(({ value }) => value));
  for (const [table, kinds] of tablesOfEntities()) {
    for (const column of Object.keys(kinds).filter((name) => namesPeople.has(kinds[name] as Kind))) {
      const rows = await session.all<{ value: string }>(
        `SELECT DISTINCT ${identifier(column)}::VARCHAR AS value FROM main.${identifier(table)} WHERE ${identifier(column)} IS NOT NULL`,
      );
      for (const { value } of rows) {
        const isTheirs = known.has(value.toLowerCase()) || person.redact(value) !== value;
        if (!isTheirs && value.trim().length > 1)
          addText(others, value.includes('@') ? 'text' : 'name', value);
      }
    }
  }
  return others;
}

const namesPeople: ReadonlySet<Kind> = new Set<Kind>([
  'person_name',
  'person_email',
  'account_name',
  'account_id',
]);

/** Content that is the person's own in a row of the person. */
const ownContent: ReadonlySet<Kind> = new Set<Kind>([
  'message_text',
  'message_title',
  'history_values',
  'source_url',
]);

/** What is said of what is not shown. */
const reasons = {
  content: 'what others wrote, or what may hold data of others; what names the person in it is shown',
  user: 'who did it: another person',
  reference: 'the message of another person that was answered',
  row: 'a row about something or somebody else; what names the person in it is shown',
  document: 'the rest of the document, which the tables show where it is about the person',
  mention: 'names and addresses of others in texts of the person, shown as [left out]',
} as const;

const hiddenMark = '[left out]';

class Showing {
  readonly #left = new Map<string, LeftOut>();

  constructor(
    private readonly person: Fingerprints,
    private readonly others: Fingerprints,
  ) {}

  leftOut(): LeftOut[] {
    return [...this.#left.values()].sort((a, b) =>
      `${a.table} ${a.column}` < `${b.table} ${b.column}` ? -1 : 1,
    );
  }

  /** A row of a table; `stripped` has the values that forgetting would leave, where they are known. */
  row(label: string, { row }: HeldRow, stripped: Readonly<Record<string, string | null>> = {}): ShownRow {
    const kinds = kindsOfColumns().tables[label] ?? {};
    const isOwn = this.#isOwn(kinds, row);
    const values: Record<string, unknown> = {};
    const named: { where: string; what: unknown }[] = [];
    for (const [column, value] of Object.entries(row)) {
      if (value === null) continue;
      const kind = kinds[column] ?? 'document';
      const isReference = kind === 'source_id' && column !== 'source_message_id';
      const isUser = kind === 'user_id' || column.startsWith('user_');
      if (isOwn && isReference && !this.person.has('source_id', value))
        this.#leave(label, column, reasons.reference);
      else if (isOwn ? isShown(kind, column) : isKey(kind, column))
        values[column] =
          ownContent.has(kind) || kind === 'person_about' ? this.#withoutOthers(label, column, value) : value;
      else {
        named.push(...this.#namedIn(column, value, stripped[column]));
        if (isOwn) this.#leave(label, column, isUser ? reasons.user : reasons.content);
      }
    }
    if (!isOwn) this.#leave(label, '(all others)', reasons.row);
    return { isOwn, values, named };
  }

  /** A document of the API: of whom it is, and what forgetting would remove of it. */
  document({ row }: HeldRow, stripped: string | undefined): ShownRow {
    const { endpoint, id, parent_id: parentId, fetched_at: fetchedAt } = row;
    const about = entities().about.get(String(endpoint)) ?? {};
    const isOf = (entity: string | undefined, value: unknown) =>
      (entity === 'person' || entity === 'author' || entity === 'message') && this.person.has(entity, value);
    const isOwn = isOf(about.entity, id) || isOf(about.parent, parentId);
    const after: unknown = stripped === undefined ? null : JSON.parse(stripped);
    const named = this.#removed('', row.body, after);
    this.#leave('raw.documents', 'body', reasons.document);
    const key = this.person.redactId(String(id)) === id ? id : null;
    return {
      isOwn,
      values: { endpoint, id: isOwn ? id : key, parent_id: parentId, fetched_at: fetchedAt },
      named,
    };
  }

  /** Whose row it is, by the columns with ids. */
  #isOwn(kinds: Readonly<Record<string, Kind>>, row: StoredValues): boolean {
    const column = idColumn('person', kinds);
    if (column !== undefined) return this.person.has('person', row[column]);
    // What the worker keeps of its own about a person, such as when it was fetched.
    if (row.entity_type === undefined && kinds.entity_id === 'entity_id')
      return this.person.has('person', row.entity_id);
    if (row.entity_type === 'person')
      return ['entity_id', 'source_id', 'target_id'].some((name) => this.person.has('person', row[name]));
    if (kinds.author_id === 'author_id') return this.person.has('author', row.author_id);
    if (kinds.id === 'author_id') return this.person.has('author', row.id);
    return kinds.message_id === 'message_id' && this.person.has('message', row.message_id);
  }

  /** What names the person in a value that is not shown as a whole. */
  #namedIn(column: string, value: unknown, stripped: string | null | undefined): ShownRow['named'] {
    if (typeof value === 'string')
      return this.#removed(column, value, stripped === undefined ? this.person.redact(value) : stripped);
    const json = stripped ?? stripJson(this.person, JSON.stringify(value));
    return this.#removed(column, value, JSON.parse(json));
  }

  /** What is in `before` and not in `after`, without what is about another entity. */
  #removed(where: string, before: unknown, after: unknown): { where: string; what: unknown }[] {
    if (before === null || before === undefined || before === after) return [];
    if (typeof before === 'string') {
      const isWhole = typeof after !== 'string' || isPseudonym(after);
      const parts = isWhole ? [this.#plain(before)] : cutOut(before, after);
      return parts.filter((what) => what !== '').map((what) => ({ where, what }));
    }
    const inside = (name: string) => (where === '' ? name : `${where}.${name}`);
    if (Array.isArray(before)) {
      const rest: readonly unknown[] = Array.isArray(after) ? after : [];
      return before.flatMap((one, at) => this.#removed(`${where}[${at}]`, one, rest[at]));
    }
    if (!isObject(before)) return after === undefined || after === null ? [{ where, what: before }] : [];
    const rest = isObject(after) ? after : {};
    return Object.entries(before).flatMap(([name, value]) => {
      const isGone = !(name in rest);
      return isGone && this.#isOfAnother(name, value) ? [] : this.#removed(inside(name), value, rest[name]);
    });
  }

  /** Whether a member that would go as a whole holds another entity, or anything: a message that was answered, for example. */
  #isOfAnother(name: string, value: unknown): boolean {
    if (referringFields.has(name)) return !this.person.has('source_id', value);
    if (name === 'metadata' || Array.isArray(value))
      return Array.isArray(value) ? value.some(isObject) : true;
    if (!isObject(value)) return false;
    const entity = entities().ofMember.get(name);
    if (entity === 'person' || entity === 'author' || entity === 'message')
      return !this.person.has(entity, value.id);
    return !entityless.has(name);
  }

  #withoutOthers(label: string, column: string, value: unknown): unknown {
    const json = JSON.stringify(value);
    const plain: unknown = JSON.parse(json, (_, one) => (typeof one === 'string' ? this.#plain(one) : one));
    if (JSON.stringify(plain) !== json) this.#leave(label, column, reasons.mention);
    return plain;
  }

  #plain(text: string): string {
    return this.others.redact(text).replaceAll(removed, hiddenMark);
  }

  #leave(table: string, column: string, why: string): void {
    const key = `${table} ${column} ${why}`;
    const known = this.#left.get(key) ?? { table, column, rows: 0, why };
    this.#left.set(key, { ...known, rows: known.rows + 1 });
  }
}

/** Objects that belong to what they are in. */
const entityless: ReadonlySet<string> = new Set(['connections', 'changes', 'previousValues']);

/** Whether a column of the person's own row is shown as it is. A company in it is the employer. */
function isShown(kind: Kind, column: string): boolean {
  if (column.startsWith('user_') || kind === 'request_path') return false;
  return classOf(kind) !== 'content' || ownContent.has(kind);
}

/** Whether a column says which row of others it is. */
function isKey(kind: Kind, column: string): boolean {
  return (
    ['topic_id', 'conversation_id', 'message_id', 'record_id', 'story_slug'].includes(kind) ||
    ['endpoint', 'entity_type', 'at', 'run_id', 'action', 'status'].includes(column) ||
    kind === 'time'
  );
}

/** What was cut out of a text: the parts that marks stand for, or else what differs. */
function cutOut(before: string, after: string): string[] {
  const kept = after.split(removed);
  if (kept.length > 1) {
    const parts: string[] = [];
    let from = (kept[0] ?? '').length;
    for (const next of kept.slice(1)) {
      const to = next === '' ? before.length : before.indexOf(next, from);
      if (to < 0) break;
      parts.push(before.slice(from, to));
      from = to + next.length;
    }
    return parts;
  }
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  return [before.slice(start, before.length - end)];
}
