import { relationLabel, sqlFile } from '../store/sql.js';
import type { Snapshot } from './query.js';

/** A table, view or table macro of the published file, as people write it. */
export interface Relation {
  /** With the schema in front for `raw` and `ops`; a macro with its parameters: `backlog_as_of(day)`. */
  readonly label: string;
  readonly schema: string;
  /** Without schema and parameters. */
  readonly name: string;
  readonly kind: 'view' | 'macro' | 'table';
  readonly comment: string | null;
}

export interface RelationColumn {
  readonly name: string;
  readonly type: string;
  readonly comment: string | null;
}

/** Every table, view and table macro, the views first: they answer most questions. */
export async function relationsOf(snapshot: Snapshot): Promise<Relation[]> {
  type Row = Pick<Relation, 'name' | 'kind' | 'comment'> & { schema_name: string };
  const rows = await snapshot.rows<Row>(sqlFile('catalog/tables'));
  return rows.map(({ schema_name: schema, name, kind, comment }) => ({
    label: relationLabel(schema, name),
    schema,
    name: name.replace(/\(.*$/s, ''),
    kind,
    comment,
  }));
}

/** The relation that a user means: in any case, with or without schema and parameters. */
export function relationCalled(relations: readonly Relation[], wanted: string): Relation | undefined {
  const bare = (text: string) =>
    text
      .toLowerCase()
      .replace(/\(.*$/s, '')
      .replace(/^main\./, '');
  const searched = bare(wanted.replaceAll('"', '').trim());
  return relations.find(({ label }) => bare(label) === searched);
}

/** The columns of a table or view in their order; a macro has none here. */
export function columnsOf(
  snapshot: Snapshot,
  { schema, name }: Pick<Relation, 'schema' | 'name'>,
): Promise<RelationColumn[]> {
  return snapshot.rows<RelationColumn>(sqlFile('catalog/columns'), { schema, name });
}

/** The columns of every table and view, by label. */
export async function allColumns(snapshot: Snapshot): Promise<Map<string, readonly string[]>> {
  type Row = { schema_name: string; name: string; columns: string[] };
  const rows = await snapshot.rows<Row>(sqlFile('catalog/all_columns'));
  return new Map(
    rows.map(({ schema_name: schema, name, columns }) => [relationLabel(schema, name), columns]),
  );
}

/** The first sentence of a comment: what a table answers or holds. */
export function firstSentence(comment: string | null): string {
  return /^.*?[.?!](?=\s|$)/s.exec(comment ?? '')?.[0] ?? comment ?? '';
}
