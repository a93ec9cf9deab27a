import { folded } from '../../base/closest.js';
import { groupBy } from '../../base/group-by.js';
import {
  archivedReason,
  type Change,
  type EntityType,
  type Field,
  kinds,
  type Value,
  type Values,
} from '../change.js';
import { isSame } from '../compare.js';
import { blockedReason, type StoredEntity } from '../stored.js';
import type { ImportProblem } from './preview.js';
import { type Edit, type EntityEdits, type ParsedRow, problemOf } from './rows.js';

/** The problem of rows whose topic or company cannot be changed; none when it can. */
export function blockedProblems(
  stored: StoredEntity | undefined,
  column: string,
  value: string,
  rows: readonly number[],
): ImportProblem[] {
  const problem = blockedReason(stored);
  if (problem === null) return [];
  return rows.map((row) => ({ row, column, value, problem }));
}

/**
 * Matches rows with the warehouse. An id that it does not have is matched in any case, if only one id fits. A value that
 * cannot be set is unchanged, and no problem, when it equals the stored one.
 */
export function matchRows(
  parsed: readonly ParsedRow[],
  stored: ReadonlyMap<string, StoredEntity>,
  entityType: EntityType,
): ParsedRow[] {
  const sameLetters = groupBy([...stored.keys()], (id) => id.toLowerCase());
  const storedId = (id: string): string => {
    const [only, second] = stored.has(id) ? [id] : (sameLetters.get(id.toLowerCase()) ?? []);
    return only !== undefined && second === undefined ? only : id;
  };
  return parsed.map((row) => {
    const id = row.id === null ? null : storedId(row.id);
    const values = id === null ? undefined : stored.get(id)?.values;
    const problems = row.problems.flatMap(({ cell, ...problem }) =>
      cell && values && isStoredText(cell.field, cell.text, values) ? [] : [problem],
    );
    // What is stored in another form than ours, and only repeated here, is not a change.
    const edits = Object.fromEntries(
      Object.entries(row.edits).map(([name, edit]): [string, Edit] => {
        const own = values?.[name];
        const isRepeated = typeof own === 'string' && own.trim() === edit.text;
        return [name, isRepeated ? { ...edit, value: edit.text } : edit];
      }),
    );
    const readAs = kinds[entityType].fields.flatMap(({ name, format }) => {
      const edit = edits[name];
      return format && edit && edit.value !== edit.text ? [`${edit.header} was read as ${edit.value}`] : [];
    });
    return { ...row, id, edits, problems, texts: [...row.texts, ...readAs] };
  });
}

/** Whether a stored value is the one of a cell, which is read without the spaces around it. */
function isSameCell(stored: Value | undefined, cell: Value | undefined): boolean {
  return isSame(typeof stored === 'string' ? stored.trim() : stored, cell);
}

/** Whether the text of a cell is that of the stored value. A boolean that can be read is compared as a value. */
function isStoredText({ name, kind, allowed }: Field, text: string | null, stored: Values): boolean {
  const value = stored[name];
  if (kind === 'boolean' || typeof value === 'boolean' || value === undefined) return false;
  const [one, other] = [text ?? '', (value ?? '').trim()];
  return one === other || (allowed !== undefined && folded(one) !== '' && folded(one) === folded(other));
}

/** The change that the rows about one topic or company ask for, compared with its values in the warehouse. */
export interface RequestedChange extends Pick<Change, 'wanted' | 'base' | 'baseFrom' | 'baseAt'> {
  /** Everything that the rows set; `wanted` is only what is not up to date. `base` leaves out what nobody knows. */
  readonly requested: Values;
}

/** Compares the rows about one topic or company with the warehouse; a problem when it cannot be changed, or not like this. */
export function compareWithWarehouse(
  entity: EntityEdits,
  stored: StoredEntity | undefined,
  idHeader: string,
): RequestedChange | { readonly problems: readonly ImportProblem[] } {
  const { id, rows } = entity;
  let { edits } = entity;
  if (Object.keys(edits).length === 0)
    return { wanted: {}, requested: {}, base: {}, baseFrom: 'file', baseAt: entity.baseAt };
  const blocked = blockedProblems(stored, idHeader, id, rows);
  if (!stored || blocked.length > 0) return { problems: blocked };

  const baseOf = (name: string): Value | undefined => {
    const edit = edits[name];
    if (edit?.fromFile) return edit.base;
    return name in entity.baseValues ? entity.baseValues[name] : stored.values[name];
  };
  const { [archivedReason]: reason, ...others } = edits;
  // The API would silently ignore a reason without an archiving.
  if (reason && (edits.archived?.value ?? baseOf('archived')) !== true) {
    const isStored = !reason.fromFile && isSameCell(stored.values[archivedReason], reason.value);
    const problem = 'is only used when archived is TRUE: set archived to TRUE, or delete the reason';
    if (!isStored) return { problems: [problemOf(reason, problem)] };
    edits = others;
  }

  const requested: Record<string, Value> = {};
  for (const [name, edit] of Object.entries(edits)) requested[name] = edit.value;
  // The API reads a reason only together with the archiving itself.
  if (requested[archivedReason] !== undefined) requested.archived = true;
  // When a sheet is edited further after its push, the warehouse already has the values that were pushed.
  const isStoredNewer = entity.baseAt === null || (stored.syncedAt ?? '') >= entity.baseAt;
  const differs = (name: string) => {
    if (isStoredNewer && name in stored.values && isSameCell(stored.values[name], requested[name]))
      return false;
    const base = baseOf(name);
    return base === undefined || !isSameCell(base, requested[name]);
  };
  const names = new Set(Object.keys(requested).filter(differs));
  if (names.has('archived') || names.has(archivedReason))
    for (const name of ['archived', archivedReason]) if (requested[name] !== undefined) names.add(name);

  const wanted = Object.fromEntries([...names].map((name) => [name, requested[name] ?? null]));
  const base = Object.fromEntries(
    Object.keys(requested).flatMap((name) => {
      const value = baseOf(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const isFromFile = Object.keys(edits).every((name) => edits[name]?.fromFile);
  return {
    wanted,
    requested,
    base,
    baseFrom: isFromFile ? 'file' : 'warehouse',
    baseAt: isFromFile ? entity.baseAt : stored.syncedAt,
  };
}
