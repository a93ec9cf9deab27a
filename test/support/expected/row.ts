import type { EntityType, World } from '../../../src/sandbox/world/types.js';

/** A value in the form in which both sides are compared: times as milliseconds since the epoch, JSON parsed, absent as null. */
export type Value = unknown;
export type Row = Record<string, Value>;

/** Checks a column whose exact value cannot be predicted. */
export type Check = (value: Value) => boolean;

export const anything: Check = () => true;
const notNull: Check = (value) => value !== null;

/** The rows that one published table must hold. */
export interface ExpectedTable {
  readonly table: string;
  readonly key: readonly string[];
  /** The rows that must exist. Columns that a row does not name are not compared. */
  readonly rows: readonly Row[];
  /** The expected columns of a row that is not among `rows`; null when it must not exist. Default: null. */
  readonly otherRow?: (row: Row) => Row | null;
  /** Columns that copy another entity, or whose change no list shows, so that they may lag until the next sweep. */
  readonly lagging?: readonly string[];
  /** Whole rows may lag, because no list shows their changes. */
  readonly rowsLag?: true;
}

/** Fields of the API that hold times. */
const times = /(At|Timestamp|timeRangeStart|timeRangeEnd)$/;

/** An object of the API as columns: names in snake_case, nested objects not included, times as milliseconds. */
export function columns(wire: object, without: readonly string[] = []): Row {
  const row: Row = {};
  for (const [name, value] of Object.entries(wire)) {
    if (without.includes(name)) continue;
    row[snake(name)] = times.test(name) && typeof value === 'string' ? Date.parse(value) : value;
  }
  return row;
}

/** The named fields of an object that may be missing, as columns behind a prefix. */
export function nested(prefix: string, names: readonly string[], wire: unknown): Row {
  const from = (wire ?? {}) as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [`${prefix}_${snake(name)}`, from[name] ?? null]));
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The deletion columns of an entity that exists. */
export const notDeleted: Row = { deleted_at: null, deleted_reason: null, merged_into_id: null };

/** The deletion columns of an entity that no longer exists: merged into another, or not found. */
export function deletedColumns(world: World, type: EntityType, id: string): Row {
  const { mergedInto = null } = world.deleted.get(`${type}:${id}`) ?? {};
  return {
    deleted_at: notNull,
    deleted_reason: mergedInto === null ? 'not_found' : 'merged',
    merged_into_id: mergedInto,
  };
}
