import { literal, literals } from '../sql.js';

/** What the header of a model says about the documents that it reads. */
export interface DocumentHeader {
  readonly documents: readonly string[];
  /**
   * The column of a document that says whose rows these are, and the column of the table that holds it. With `idColumn`,
   * documents of another id have no part in a row, and the table has the id in that column.
   */
  readonly scope: {
    readonly document: 'id' | 'parent_id';
    readonly column: string;
    readonly idColumn?: string;
  };
  /** Whether documents of different kinds may describe the same entity. */
  readonly siblings: boolean;
  /** The table whose entity is the documents' parent, and with which they are removed. */
  readonly cascade?: string;
}

type Model = DocumentHeader & { readonly name: string; readonly table: string };

/**
 * A family is the kinds of documents that describe the same entities, such as the item of a list and the answer by id.
 * Of two documents of a family the later one wins, so the time at which a document was last seen matters as soon as a
 * sibling was seen after it (see `diff`).
 */
export interface Families {
  /** The name of a kind's family, its first kind, as an SQL expression over the column `endpoint`. */
  readonly familySql: string;
  /**
   * The part of a document's key beside family and id, as an SQL expression over `endpoint` and `parent_id`: '' where the id
   * alone identifies the entity, whatever parent it came with, otherwise the parent. The source `slack` of one person is not
   * that of another.
   */
  readonly withinSql: string;
  readonly cascades: readonly Cascade[];
}

/** Documents of `children` are removed when no document of `parents` has their parent's id any more. */
export interface Cascade {
  readonly parents: readonly string[];
  readonly children: readonly string[];
}

/**
 * Derives the families from the headers of the models. Kinds that one model reads together are a family, unless its
 * header says `-- siblings: none`. They are named by the id alone if a model with `-- scope: id -> …` reads them.
 * `-- cascade: <table>` removes a model's documents together with the entity in that table that is their parent.
 */
export function familiesOf(models: readonly Model[]): Families {
  const withSiblings = models.filter(({ siblings }) => siblings);
  const families = joined(withSiblings.map(({ documents }) => documents));
  const familyOf = (kind: string) => families.find((family) => family.includes(kind)) ?? [kind];
  const namedById = new Set(
    withSiblings.flatMap(({ scope, documents }) =>
      scope.document === 'id' ? documents.flatMap(familyOf) : [],
    ),
  );
  const cases = families
    .filter((family) => family.length > 1)
    .map((family) => `WHEN endpoint IN (${literals(family)}) THEN ${literal(family[0] ?? '')}`);
  return {
    familySql: cases.length === 0 ? 'endpoint' : `CASE ${cases.join(' ')} ELSE endpoint END`,
    withinSql:
      namedById.size === 0
        ? "coalesce(parent_id, '')"
        : `CASE WHEN endpoint IN (${literals([...namedById])}) THEN '' ELSE coalesce(parent_id, '') END`,
    cascades: cascadesOf(models),
  };
}

/** Lists with a kind in common become one, in the order of their first appearance. */
function joined(lists: readonly (readonly string[])[]): string[][] {
  const families: string[][] = [];
  // The longest list gives the order: the kind that a family is named after comes first in it.
  for (const kinds of [...lists].sort((a, b) => b.length - a.length)) {
    const touched = families.filter((family) => family.some((kind) => kinds.includes(kind)));
    const family = [...new Set([...touched.flat(), ...kinds])];
    for (const one of touched) families.splice(families.indexOf(one), 1);
    families.push(family);
  }
  return families;
}

function cascadesOf(models: readonly Model[]): Cascade[] {
  return models.flatMap(({ name, cascade, documents }) => {
    if (cascade === undefined) return [];
    const parent = models.find(({ table }) => table === cascade);
    if (!parent)
      throw new Error(`model ${name}: no model of documents fills ${cascade}, the table it cascades from`);
    return { parents: parent.documents, children: documents };
  });
}
