import type { Json } from '../base/json.js';
import type { Cell } from './grid.js';
import type { SheetColumn } from './spec.js';

/** The type of a sheet's column for a DuckDB type. */
export function columnTypeOf(duckdb: string): SheetColumn['type'] {
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/.test(duckdb)) return 'number';
  if (duckdb === 'BOOLEAN') return 'boolean';
  if (duckdb === 'DATE') return 'date';
  return /^TIMESTAMP/.test(duckdb) ? 'time' : 'text';
}

/**
 * A value of a DuckDB result, as a snapshot returns it, as a cell: times as dates, lists and structs as JSON, and an
 * integer or DECIMAL that a spreadsheet program cannot hold exactly as text.
 */
export function cellOf(value: Json, type: SheetColumn['type']): Cell {
  if (value === null) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  if (type === 'time' || type === 'date') {
    const at = new Date(String(value));
    return Number.isNaN(at.getTime()) ? String(value) : at;
  }
  // DECIMAL and large integers come as text.
  if ((type === 'number' || type === 'count') && typeof value === 'string') return numberOf(value) ?? value;
  return value;
}

function numberOf(text: string): number | undefined {
  const digits = /\.\d*0$/.test(text) ? text.replace(/\.?0+$/, '') : text;
  return String(Number(digits)) === digits && Math.abs(Number(digits)) <= Number.MAX_SAFE_INTEGER
    ? Number(digits)
    : undefined;
}
