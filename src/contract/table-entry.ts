import type { z } from 'zod';
import type { ColumnType } from './columns.js';
import type { Kind } from './privacy.js';

/** One entry of the tables (tables.ts). Everything about a table is derived from it. */

/** The kind of a value by another column of its row, as SQL, and otherwise. */
export interface MixedKind {
  readonly by: string;
  readonly rows: Readonly<Record<string, Kind>>;
  readonly otherwise: Kind;
}

/** The ids of topics, companies and people, where the column `entity_type` says which. */
export const idByType = {
  by: 'entity_type',
  rows: { topic: 'topic_id', company: 'company_id', person: 'person_id' },
  otherwise: 'account_id',
} as const satisfies MixedKind;

/** A column that is no field of the item, or not under its name. */
export interface OwnColumn {
  readonly comment: string;
  readonly kind: Kind;
  /** VARCHAR where absent. */
  readonly type?: ColumnType;
  /** The column that it stands before. Otherwise it is among the first where it is a part of the key, and among the last. */
  readonly before?: string;
  /** Where it is in the document, member by member with dots; absent where the model computes it. */
  readonly path?: string;
  /** The kind of documents beside those of the table, about the same entity, that has it. */
  readonly document?: string;
  /** The value where the document has none. */
  readonly absent?: number;
  /** The value in place of a member, as SQL: `position` (the place in the list of `rows`), `document` (all of it), or over `item`. */
  readonly is?: string;
}

interface Entry {
  /** The meaning of a row. The comment of the table names its key as well. */
  readonly comment: string;
  readonly key: readonly [string, ...string[]];
  /** The items whose described fields are its columns; what a later one has alone stands behind the field that it follows there. */
  readonly fields?: readonly z.ZodObject[];
  readonly columns?: Readonly<Record<string, OwnColumn>>;
  /** Columns whose kind depends on the row. */
  readonly mixed?: Readonly<Record<string, MixedKind>>;
}

/**
 * A table of what documents say. Where the file of its
 * name in sql/models joins documents in another way, that is what its rows are; `rows`, `whole` and the rest are left out then.
 */
export interface DocumentTable extends Entry {
  /**
   * The kinds of documents whose members are its columns. Several describe the same entities: each field is that of the newest
   * that has it. A row exists where one of the first two does.
   */
  readonly documents: readonly [string, ...string[]];
  /** The columns that have the document's own id and that of its parent. Without the parent, a row is about the document alone. */
  readonly ids: { readonly id?: string; readonly parent_id?: string };
  /** The list in the document, members joined by dots, each object of which is a row. One without its key is none. */
  readonly rows?: string;
  /** Rows with the same key: the sum of their numbers, or the first of them. */
  readonly repeated?: 'sum' | 'first';
  /** Members that are taken whole from the newest document that has them: two versions of them must not be mixed. */
  readonly whole?: readonly string[];
  /** The same item may come with several parents until each is read again: that of the latest answer counts. */
  readonly moves?: true;
  /** Columns with copies of other rows, each with the column of their id: NULL where these are stored, or in ops.removed_rows. */
  readonly copies?: Readonly<Record<string, string>>;
  /** The table whose entity is the documents' parent, and with which they are removed. */
  readonly cascade?: string;
  /** Documents of its kinds with the same id are not about the same entity. */
  readonly siblings?: false;
  /** The table that keeps versions of its rows, and its column with the row's id. */
  readonly versions?: { readonly table: string; readonly key: string };
}

/**
 * A table that the file of its name in sql/models computes whole from other tables. Without a comment it is made by the migration,
 * because its rows go on from those before and cannot be made again.
 */
export interface DerivedTable extends Omit<Entry, 'comment'> {
  readonly comment?: string;
  /** The source of the value. */
  readonly derived: readonly [string, ...string[]];
}

export type TableEntry = DocumentTable | DerivedTable;

/** Whether an entity still exists: the columns of the tables whose lists have documents of its presence, and of merges. */
export function presenceColumns(
  from: { readonly presence: string; readonly kind: Kind },
  comments: Readonly<
    Record<'deletedAt' | 'deletedReason' | 'mergedIntoId' | 'detailUnavailableReason', string>
  >,
): Readonly<Record<string, OwnColumn>> {
  const { presence: document, kind } = from;
  return {
    deleted_at: {
      document,
      path: 'deletedAt',
      type: 'TIMESTAMPTZ',
      kind: 'time',
      comment: comments.deletedAt,
    },
    deleted_reason: { document, path: 'deletedReason', kind: 'none', comment: comments.deletedReason },
    merged_into_id: {
      document,
      path: 'mergedIntoId',
      kind,
      comment: comments.mergedIntoId,
    },
    detail_unavailable_reason: {
      document,
      path: 'detailUnavailableReason',
      kind: 'none',
      comment: comments.detailUnavailableReason,
    },
  };
}
