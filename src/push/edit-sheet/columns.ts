import type { SheetColumn } from '../../sheet/spec.js';
import { type EntityType, type Field, fieldsOf } from '../fields.js';

/** A column of a sheet for editing, and the SQL that fills it. */
export interface ListColumn extends SheetColumn {
  readonly sql: string;
}

/** Of what a list is made: its tables, and what it shows beside what can be edited. */
export interface Form {
  readonly entityType: EntityType;
  readonly table: 'topics' | 'companies';
  readonly id: 'topic_id' | 'company_id';
  /** The name of the sheet within a workbook. */
  readonly name: string;
  readonly shown: readonly SheetColumn[];
}

const count = (key: string): SheetColumn => ({ key, type: 'number', width: 12 });

export const forms: Readonly<Record<EntityType, Form>> = {
  topic: {
    entityType: 'topic',
    table: 'topics',
    id: 'topic_id',
    name: 'Topics',
    shown: [
      { key: 'title', type: 'text', width: 36, wrap: true },
      { key: 'summary', type: 'text', width: 60, wrap: true },
      { key: 'issue_type', type: 'text', width: 16 },
      ...['companies', 'vip_companies', 'people', 'conversations', 'messages'].map(count),
    ],
  },
  company: {
    entityType: 'company',
    table: 'companies',
    id: 'company_id',
    name: 'Companies',
    shown: [...['people', 'messages'].map(count), { key: 'last_seen_at', type: 'time', width: 20 }],
  },
};

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The column of the id, which every list has. */
export function idColumn({ id }: Form): ListColumn {
  return { key: id, type: 'text', width: id === 'topic_id' ? 38 : 14, grey: true, sql: 'laid.id' };
}

/** A column that is only looked at. */
export function shownColumn(column: SheetColumn): ListColumn {
  return { ...column, sql: `laid.${quoted(column.key)}` };
}

/** A column to edit, and the one at the right that keeps what was there. */
export function editedColumns(field: Field): { readonly edited: ListColumn; readonly base: ListColumn } {
  const { name, kind, allowed } = field;
  const base = `base_${name}`;
  const sql = `laid.${quoted(name)}`;
  const width = allowed || kind === 'boolean' ? 14 : 26;
  return {
    edited: { key: name, type: kind, width, ...(allowed && { allowed }), edited: { base }, sql },
    base: { key: base, type: kind, width: 14, grey: true, sql },
  };
}

/** As of when the base columns are known. */
export const baseAtColumn: ListColumn = {
  key: 'base_updated_at',
  type: 'time',
  width: 20,
  grey: true,
  sql: 'laid.base_updated_at',
};

/** Names that a sheet keeps for itself: another column may not have them. */
export function keptNames({ entityType, id }: Form): Set<string> {
  const bases = fieldsOf[entityType].map(({ name }) => `base_${name}`);
  return new Set(['topic_id', 'company_id', 'id', ...bases, 'base_updated_at'].filter((name) => name !== id));
}

/** How cells of a type of DuckDB are shown. */
export function typeOf(duckdb: string): SheetColumn['type'] {
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/.test(duckdb)) return 'number';
  if (duckdb === 'BOOLEAN') return 'boolean';
  return /^(DATE|TIMESTAMP.*)$/.test(duckdb) ? 'time' : 'text';
}
