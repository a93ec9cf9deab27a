import {
  DuckDBBlobValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  type DuckDBValueConverter,
  JSDuckDBValueConverter,
  JsonDuckDBValueConverter,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import type { Json } from '../../base/json.js';

/** What can be bound to a statement. A list binds as VARCHAR[]. */
export type Value = string | number | bigint | boolean | null | Date | readonly string[];
/** Bound to `$1, $2 …` (array) or to `$name` (object). */
export type Params = readonly Value[] | Readonly<Record<string, Value>>;

/** A point in time as DuckDB stores it: microseconds, of which JavaScript knows the first thousand. */
export function timestampOf(date: Date): DuckDBTimestampTZValue {
  return new DuckDBTimestampTZValue(BigInt(date.getTime()) * 1000n);
}

/** The values and types that a statement is bound to. */
export function bindings(params: Params): {
  values: DuckDBValue[] | Record<string, DuckDBValue>;
  types: DuckDBType[] | Record<string, DuckDBType>;
} {
  if (isList(params)) {
    const bound = params.map(bind);
    return {
      values: bound.map(({ value }) => value),
      // node-api works out the types that are left out; its list type would be the first item's, and none when empty.
      types: bound.map(({ type }) => type) as DuckDBType[],
    };
  }
  const values: Record<string, DuckDBValue> = {};
  const types: Record<string, DuckDBType> = {};
  for (const [name, given] of Object.entries(params)) {
    const { value, type } = bind(given);
    values[name] = value;
    if (type) types[name] = type;
  }
  return { values, types };
}

function isList(params: Params): params is readonly Value[] {
  return Array.isArray(params);
}

function bind(value: Value): { value: DuckDBValue; type?: DuckDBType } {
  if (value instanceof Date) return { value: timestampOf(value), type: TIMESTAMPTZ };
  if (typeof value === 'object' && value !== null)
    return { value: listValue([...value]), type: LIST(VARCHAR) };
  return { value };
}

/**
 * For the program's own queries: TIMESTAMPTZ and TIMESTAMP are Dates, every integer and DECIMAL is a number (a bigint
 * where a number would lose digits), LIST an array, STRUCT an object; JSON stays text.
 */
export const forProgram: DuckDBValueConverter<unknown> = (value, type, convert) => {
  if (typeof value === 'bigint') return exactNumber(value);
  return (JSDuckDBValueConverter as DuckDBValueConverter<unknown>)(value, type, convert);
};

/**
 * For results that are shown or exported as JSON: timestamps as ISO 8601 in UTC, integers as numbers where a number
 * holds them exactly and as text where not, DECIMAL as text, LIST, STRUCT, MAP and JSON as the JSON they are.
 */
export const forPeople: DuckDBValueConverter<Json> = (value, type, convert) => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') {
    const number = exactNumber(value);
    return typeof number === 'bigint' ? number.toString() : number;
  }
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return isoOf(value);
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (type.typeId === DuckDBTypeId.VARCHAR && type.alias === 'JSON') return parsedJson(String(value));
  return JsonDuckDBValueConverter(
    value,
    type,
    convert as unknown as Parameters<typeof JsonDuckDBValueConverter>[2],
  ) as Json;
};

function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function isoOf(value: DuckDBTimestampTZValue | DuckDBTimestampValue): string {
  // 'infinity' is a timestamp to DuckDB, and years beyond what a Date holds are, too: shown as DuckDB does.
  if (!value.isFinite) return value.toString();
  const date = new Date(Number(value.micros / 1000n));
  if (Number.isNaN(date.getTime())) return value.toString();
  const beyond = Number(((value.micros % 1000n) + 1000n) % 1000n);
  const floor = beyond === 0 || value.micros >= 0n ? date : new Date(date.getTime() - 1);
  return beyond === 0
    ? floor.toISOString()
    : floor.toISOString().replace('Z', `${String(beyond).padStart(3, '0')}Z`);
}

/** The value of a JSON column; text that is not JSON after all stays text. */
export function parsedJson(value: Json): Json {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}
