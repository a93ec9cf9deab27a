import type { SheetColumn } from '../../sheet/spec.js';
import { identifier } from '../../warehouse/sql.js';
import { archivedReason, type EntityType, type Field, fieldsOf } from '../fields.js';

/** A column of a sheet to edit, and the SQL expression that fills it. */
export interface QueryColumn extends SheetColumn {
  readonly sql: string;
}

/** The table that a sheet is about, and its columns. */
export interface SheetTable {
  readonly entityType: EntityType;
  readonly table: 'topics' | 'companies';
  readonly id: 'topic_id' | 'company_id';
  /** The name of the sheet within a workbook. */
  readonly name: string;
  /** Columns that are not edited: they help to decide. */
  readonly context: readonly SheetColumn[];
  /** The columns beside the id, with what is decided most often. The first of them stays in view. */
  readonly first: readonly string[];
  /** The other columns, after those that the user asked for. */
  readonly rest: readonly string[];
}

const count = (key: string): SheetColumn => ({ key, type: 'count', width: 10 });

export const sheetTables: Readonly<Record<EntityType, SheetTable>> = {
  topic: {
    entityType: 'topic',
    table: 'topics',
    id: 'topic_id',
    name: 'Topics',
    context: [
      { key: 'title', type: 'text', width: 36, wrap: true },
      { key: 'summary', type: 'text', width: 46, wrap: true },
      { key: 'issue_type', type: 'text', width: 18 },
      ...['companies', 'vip_companies', 'people', 'conversations', 'messages'].map(count),
    ],
    first: ['title', 'priority', 'lifecycle_state', 'archived', 'archived_reason'],
    rest: ['companies', 'vip_companies', 'summary', 'issue_type', 'people', 'conversations', 'messages'],
  },
  company: {
    entityType: 'company',
    table: 'companies',
    id: 'company_id',
    name: 'Companies',
    context: [...['people', 'messages'].map(count), { key: 'last_seen_at', type: 'time', width: 20 }],
    first: ['name', 'is_vip'],
    rest: [
      ...['people', 'messages', 'last_seen_at', 'primary_domain', 'logo_url'],
      ...['email', 'github', 'linkedin', 'phone', 'twitter'].map((name) => `connections_${name}`),
    ],
  },
};

/** The id, which every sheet has. It is narrow: programs need all of it, people only see which row is which. */
export function idColumn({ id }: SheetTable): QueryColumn {
  return { key: id, type: 'text', width: 10, faint: true, sql: 'editable.id' };
}

/** A column to read, beside those to edit. */
export function contextColumn(column: SheetColumn): QueryColumn {
  return { ...column, sql: `editable.${identifier(column.key)}` };
}

/** A column to edit, and its base column, which keeps the value from when the sheet was written and is hidden. */
export function editedColumns(field: Field): { readonly edited: QueryColumn; readonly base: QueryColumn } {
  const { name, kind, allowed } = field;
  const base = `base_${name}`;
  const sql = `editable.${identifier(name)}`;
  const chosen = allowed !== undefined || kind === 'boolean';
  const width = chosen ? 12 : name === archivedReason ? 18 : 26;
  return {
    edited: {
      key: name,
      type: kind,
      width,
      wrap: !chosen,
      ...(allowed && { allowed }),
      edited: { base },
      sql,
    },
    base: { key: base, type: kind, width, hidden: true, sql },
  };
}

/** How old the base columns are. */
export const baseAtColumn: QueryColumn = {
  key: 'base_updated_at',
  type: 'time',
  width: 20,
  hidden: true,
  sql: 'editable.base_updated_at',
};

/** Names that no other column of the sheet may have. */
export function reservedNames({ entityType, id }: SheetTable): Set<string> {
  const bases = fieldsOf[entityType].map(({ name }) => `base_${name}`);
  return new Set(['topic_id', 'company_id', 'id', ...bases, 'base_updated_at'].filter((name) => name !== id));
}
