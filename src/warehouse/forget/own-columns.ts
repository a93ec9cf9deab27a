import { classOf, type Kind } from '../../contract/privacy.js';
import { classesFile } from '../privacy/classes.js';
import { identifier } from '../sql.js';

/**
 * The columns that say who a person or a company is, in every table that has them beside the id: from the kinds of columns, so
 * that a table or column that comes later is searched, emptied and recognized as well.
 */

type Named = 'person' | 'company';

interface OwnColumns {
  /** Whose columns they are. */
  readonly of: Named;
  readonly table: string;
  /** The column with the id of the person or company. */
  readonly id: string;
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
}

/** The personal columns of the tables that have a person or company by its id. */
export function ownColumns(type: Named): OwnColumns[] {
  const { tables } = classesFile();
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

/** Of whom something personal is stored, as SQL: rows of `id`. */
export function storedOf(type: Named): string {
  const selects = ownColumns(type).map(({ table, id, columns }) => {
    const isStored = columns.map(({ name }) => `${identifier(name)} IS NOT NULL`).join(' OR ');
    return `SELECT ${identifier(id)} AS id FROM ${identifier(table)} WHERE ${isStored}`;
  });
  return selects.join('\nUNION ALL\n');
}
