import { countBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import type { Models } from '../load/models.js';
import type { Stamp } from '../load/stamp.js';
import type { Statements } from '../store/session.js';
import { identifier, relationLabel, sqlFile } from '../store/sql.js';
import { portionsOf, type RowCounts } from './documents.js';
import { type OwnColumns, ownColumns } from './entities.js';
import type { Forgotten } from './forgotten.js';
import { documentId, isForgottenParent, stripJson } from './strip.js';

/** Removes what is being forgotten from the tables that are not computed from documents: versions, and the worker's own. */

export interface OtherRow {
  /** The table, as people name it: `ops.requests`, `topic_versions`. */
  readonly label: string;
  /** The same, as SQL. */
  readonly from: string;
  readonly rid: number;
  /** The new values, by column; text, or null. */
  readonly values: Values;
}

type Values = Readonly<Record<string, string | null>>;

/** These hold hashes only. */
const withoutTexts: ReadonlySet<string> = new Set(['ops.forgotten', 'ops.migrations']);

/** Searches every column with text, whatever it is called: a table or column that comes later is searched as well. */
export async function findOtherRows(
  session: Statements,
  models: Models,
  forgotten: Forgotten,
): Promise<OtherRow[]> {
  const projected = new Set([...models.documents, ...models.derived].map(({ table }) => table));
  const relations = await session.all<{ schema: string; table: string; names: string[]; json: string[] }>(
    sqlFile('forget/columns_with_text'),
  );
  const found: OtherRow[] = [];
  for (const { schema, table, names, json } of relations) {
    const label = relationLabel(schema, table);
    if (projected.has(label) || withoutTexts.has(label)) continue;
    const texts = names.map((name) => `${identifier(name)}::VARCHAR AS ${identifier(name)}`).join(', ');
    const from = `${identifier(schema)}.${identifier(table)}`;
    const own = (['person', 'company'] as const).flatMap(ownColumns).filter((one) => one.table === label);
    for await (const rows of portionsOf<Values>(session, texts, from)) {
      for (const row of rows) {
        const left = leftOf(forgotten, { label, json, own }, row);
        const changed = Object.keys(left).filter((name) => left[name] !== row[name]);
        const values = Object.fromEntries(changed.map((name) => [name, left[name] ?? null]));
        if (changed.length > 0) found.push({ label, from, rid: Number(row.rid), values });
      }
    }
  }
  return found;
}

interface Searched {
  readonly label: string;
  /** Its columns with JSON. */
  readonly json: readonly string[];
  /** Its columns that say who a person or a company is. */
  readonly own: readonly OwnColumns[];
}

/** What stays of a row, by column. */
function leftOf(forgotten: Forgotten, { label, json, own }: Searched, row: Values): Values {
  const left: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== 'string') continue;
    if (json.includes(name)) left[name] = stripJson(forgotten, value);
    else if (/(?:^|_)id$/.test(name)) left[name] = forgotten.redactAddresses(value);
    else left[name] = forgotten.redact(value);
  }
  // The rows of versions that are about the entity itself.
  for (const { of, id, columns } of own)
    if (forgotten.has(of, row[id])) for (const { name } of columns) left[name] = null;
  if (label === 'ops.rejected_records') {
    const key = { endpoint: row.endpoint ?? '', id: row.id ?? '', parentId: row.parent_id ?? null };
    if (row.id) left.id = documentId(forgotten, key);
    left.body = 'null';
  }
  // Both may quote anyone: what does not have the documented form does not say whose text it is.
  if (label === 'ops.schema_drift') left.example = null;
  // A short hash of a name is in there.
  if (label === 'ops.coverage' && isForgottenParent(forgotten, row.entity_id)) left.counters = null;
  if (label === 'ops.entities' && isForgottenParent(forgotten, row.entity_id)) {
    left.fields = null;
    left.item_hash = null;
  }
  return label === 'ops.changes' ? { ...left, ...changeLeft(forgotten, row, left) } : left;
}

/** What else goes of a change: what is wanted of a forgotten company or person, and the change itself where it asks for what is gone. */
function changeLeft(forgotten: Forgotten, row: Values, left: Values): Values {
  const gone: Record<string, string | null> = {};
  const isOfForgotten = forgotten.has('company', row.company_id) || forgotten.has('person', row.person_id);
  if (isOfForgotten) {
    gone.body = null;
    for (const name of ['wanted', 'base', 'remote_before', 'remote_after'])
      if (row[name]) gone[name] = JSON.stringify(withoutStrings(JSON.parse(row[name])));
  }
  const wantsOther = (left.wanted ?? null) !== (row.wanted ?? null);
  const ended = isOfForgotten || wantsOther ? endedChange(String(row.status)) : null;
  if (ended) Object.assign(gone, { status: ended.status, error: ended.error, settled_at: ended.settledAt });
  return gone;
}

/**
 * What becomes of a change of a forgotten company, or of one that wanted a text with a part that was forgotten: what it wanted is
 * gone, so that it must not be sent. Null for one that has come to its end.
 */
export function endedChange(status: string) {
  if (!['sending', 'queued', 'conflict', 'failed'].includes(status)) return null;
  return {
    status: status === 'sending' ? 'failed' : 'cancelled',
    settledAt: new Date().toISOString(),
    error: 'A part of it was forgotten.',
  };
}

/** An object whose values that are text are null; anything else as it is. */
export function withoutStrings(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, typeof one === 'string' ? null : one]),
  );
}

/** Writes the new values; returns how many rows of each table. */
export async function replaceOtherRows(
  tx: Statements,
  rows: readonly OtherRow[],
  { runId }: Stamp,
): Promise<RowCounts> {
  for (const { label, from, rid, values: left } of rows) {
    // Those of schema main are versions.
    const values = label.includes('.') ? left : { ...left, run_id: runId };
    const names = Object.keys(values);
    const set = names.map((column, index) => `${identifier(column)} = $${index + 1}`).join(', ');
    await tx.run(
      `UPDATE ${from} SET ${set} WHERE rowid = ${rid}`,
      names.map((column) => values[column] ?? null),
    );
  }
  return countBy(rows, ({ label }) => label) as RowCounts;
}
