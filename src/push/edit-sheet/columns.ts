import type { SheetColumn } from '../../sheet/spec.js';
import { identifier } from '../../warehouse/sql.js';
import { type EntityType, type Field, fieldsOf } from '../fields.js';

/** A column of a sheet to edit, and the SQL expression that fills it. */
export interface QueryColumn extends SheetColumn {
  readonly sql: string;
}

/** The table that a sheet is about, and the columns that help to decide. */
export interface SheetTable {
  readonly entityType: EntityType;
  readonly table: 'topics' | 'companies';
  readonly id: 'topic_id' | 'company_id';
  /** The name of the sheet within a workbook. */
  readonly name: string;
  /** Columns that are not edited. */
  readonly context: readonly SheetColumn[];
}

const count = (key: string): SheetColumn => ({ key, type: 'number', width: 12 });

export const sheetTables: Readonly<Record<EntityType, SheetTable>> = {
  topic: {
    entityType: 'topic',
    table: 'topics',
    id: 'topic_id',
    name: 'Topics',
    context: [
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
    context: [...['people', 'messages'].map(count), { key: 'last_seen_at', type: 'time', width: 20 }],
  },
};

/** The id, which every sheet has. */
export function idColumn({ id }: SheetTable): QueryColumn {
  return { key: id, type: 'text', width: id === 'topic_id' ? 38 : 14, grey: true, sql: 'editable.id' };
}

export function contextColumn(column: SheetColumn): QueryColumn {
  return { ...column, sql: `editable.${identifier(column.key)}` };
}

/** A column to edit, and its base column, which keeps the value from when the sheet was written. */
export function editedColumns(field: Field): { readonly edited: QueryColumn; readonly base: QueryColumn } {
  const { name, kind, allowed } = field;
  const base = `base_${name}`;
  const sql = `editable.${identifier(name)}`;
  const width = allowed || kind === 'boolean' ? 14 : 26;
  return {
    edited: { key: name, type: kind, width, ...(allowed && { allowed }), edited: { base }, sql },
    base: { key: base, type: kind, width: 14, grey: true, sql },
  };
}

/** How old the base columns are. */
export const baseAtColumn: QueryColumn = {
  key: 'base_updated_at',
  type: 'time',
  width: 20,
  grey: true,
  sql: 'editable.base_updated_at',
};

/** Names that no other column of the sheet may have. */
export function reservedNames({ entityType, id }: SheetTable): Set<string> {
  const bases = fieldsOf[entityType].map(({ name }) => `base_${name}`);
  return new Set(['topic_id', 'company_id', 'id', ...bases, 'base_updated_at'].filter((name) => name !== id));
}

/** The type of a sheet's column for a DuckDB type. */
export function columnTypeOf(duckdb: string): SheetColumn['type'] {
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/.test(duckdb)) return 'number';
  if (duckdb === 'BOOLEAN') return 'boolean';
  return /^(DATE|TIMESTAMP.*)$/.test(duckdb) ? 'time' : 'text';
}
