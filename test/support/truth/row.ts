/** A value as both sides are compared: times as milliseconds since the epoch, JSON parsed, absent as null. */
export type Value = unknown;
export type Row = Record<string, Value>;

/** What a column may hold when its value cannot be known beforehand. */
export type Check = (value: Value) => boolean;

export const anything: Check = () => true;
export const something: Check = (value) => value !== null;

/** What one published table must hold. */
export interface ExpectedTable {
  readonly table: string;
  readonly key: readonly string[];
  /** Rows that must be there. A column that a row does not name is not compared in it. */
  readonly rows: readonly Row[];
  /** What a row that is not among `rows` must say; null when it must not be there. Default: it must not. */
  readonly beyond?: (row: Row) => Row | null;
  /** Columns that copy another thing or change in silence, and so may lag until the next sweep. */
  readonly lags?: readonly string[];
  /** Whole rows may lag: only what nothing betrays moves them. */
  readonly lagsWhole?: true;
}

/** Names of the wire that hold times. */
const times = /(At|Timestamp|timeRangeStart|timeRangeEnd)$/;

/** An object of the wire as columns: names in snake_case, nested objects not included, times as milliseconds. */
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

export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
