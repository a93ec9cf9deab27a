import { classOf, type Kind } from '../../contract/privacy.js';
import { kindsOfColumns } from '../privacy/classes.js';
import { identifier, listLiteral } from '../sql.js';
import type { Part } from './fingerprints.js';

/**
 * The columns that say who a person or a company is, in every table that has them beside the id: from the kinds of columns, so
 * that a table or column that comes later is searched, emptied and recognized as well.
 */

const named = ['person', 'company'] as const;
type Named = (typeof named)[number];

export interface OwnColumns {
  /** Whose columns they are. */
  readonly of: Named;
  readonly table: string;
  /** The column with the id of the person or company. */
  readonly id: string;
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
}

/** What a column stands for, by its kind, where somebody can be recognized by it. */
const partsOfKind: Readonly<Record<Named, Partial<Record<Kind, readonly Part[]>>>> = {
  person: {
    person_name: ['name'],
    person_email: ['email', 'text'],
    person_contact: ['text'],
    person_picture: ['text'],
    account_name: ['name'],
  },
  company: {
    company_name: ['name'],
    company_domain: ['text'],
    company_logo: ['text'],
    company_contact: ['text'],
    account_name: ['text'],
  },
};

/** The personal columns of the tables that have a person or company by its id. */
export function ownColumns(type: Named): OwnColumns[] {
  const { tables } = kindsOfColumns();
  return Object.entries(tables).flatMap(([table, kinds]) => {
    const id = ['id', `${type}_id`].find((name) => kinds[name] === `${type}_id`);
    const columns = Object.entries(kinds).flatMap(([name, kind]) =>
      classOf(kind) === 'personal' && (kind.startsWith(`${type}_`) || kind === 'account_name')
        ? { name, kind }
        : [],
    );
    return id === undefined || table.includes('.') || columns.length === 0
      ? []
      : { of: type, table, id, columns };
  });
}

/** Those of one table of the schema main: of people, of companies, or of both. */
export function ownColumnsIn(name: string): OwnColumns[] {
  return named.flatMap(ownColumns).filter(({ table }) => table === name);
}

/** By what people or companies are recognized, as SQL: rows of `id`, `part` and `value`, which may be NULL. */
export function recognizedBy(type: Named): string {
  const selects = ownColumns(type).flatMap(({ table, id, columns }) => {
    const found = columns.flatMap(({ name, kind }) =>
      (partsOfKind[type][kind] ?? []).map((part) => ({ name: identifier(name), part })),
    );
    if (found.length === 0) return [];
    const values = found.map(({ name }) => name).join(', ');
    const parts = listLiteral(found.map(({ part }) => part));
    return `SELECT ${identifier(id)} AS id, unnest(${parts}) AS part, unnest([${values}]) AS value FROM ${identifier(table)}`;
  });
  return selects.join('\nUNION ALL\n');
}

/** Of whom something personal is stored, as SQL: rows of `id`. */
export function storedOf(type: Named): string {
  const selects = ownColumns(type).map(({ table, id, columns }) => {
    const isStored = columns.map(({ name }) => `${identifier(name)} IS NOT NULL`).join(' OR ');
    return `SELECT ${identifier(id)} AS id FROM ${identifier(table)} WHERE ${isStored}`;
  });
  return selects.join('\nUNION ALL\n');
}
