/**
 * @typedef {import('../src/contract/privacy.js').Field} Field
 * @typedef {import('../src/warehouse/load/models.js').Models} Models
 * @typedef {Awaited<ReturnType<typeof import('./read-schema.mjs').readSchema>>} Schema
 * @typedef {Record<string, Record<string, string>>} Kinds by relation and column
 *
 * What kinds are derived from.
 * @typedef {object} Sources
 * @property {Models} models
 * @property {readonly string[]} kinds every kind
 * @property {ReadonlyMap<string, readonly Field[]>} documents the fields of each kind of documents
 * @property {Record<string, Record<string, string[]>>} columns of sql/privacy.yaml, as the rest
 * @property {object} mixed
 * @property {object} ordered
 * @property {object} kept
 * @property {Record<string, string[]>} profiles
 *
 * A table or view.
 * @typedef {object} Relation
 * @property {string} label its name, with the schema in front for `raw` and `ops`
 * @property {{ name: string, type: string }[]} columns
 * @property {Record<string, string | undefined>} declared the kinds of a declared table's columns
 * @property {string[]} reads what it takes columns from under the same name
 * @property {boolean} isOfWorker whether it says what the worker did
 */

/** What some columns say about people is not clear; the message names each of them. */
export class UnclearColumns extends Error {
  /** @param {readonly string[]} problems */
  constructor(problems) {
    super(`What columns say about people is not clear:\n${problems.join('\n')}`);
  }
}

/**
 * What each column of every table and view says about people, as the declarations of tables (src/contract) and `columns` of
 * sql/privacy.yaml have it. Throws an error that names every column whose kind is not clear.
 * @param {Schema} schema
 * @param {Sources} sources
 * @returns {{ tables: Kinds, views: Kinds }}
 */
export function kindsOfColumns(schema, sources) {
  /** @type {Kinds} */
  const found = {};
  /** @type {string[]} */
  const problems = [];
  const relations = relationsOf(schema, sources.models);
  for (const relation of relations) {
    const { label, columns } = relation;
    /** @type {Record<string, string>} */
    const own = {};
    for (const { name, type } of columns) {
      const kind = kindOf(name, type, relation, sources, found);
      if (kind !== undefined && sources.kinds.includes(kind)) own[name] = kind;
      else if (kind !== undefined) problems.push(`${label}.${name}: there is no kind ${kind}`);
      else
        problems.push(
          `${label}.${name}: nothing says what it holds. Name its kind under columns in sql/privacy.yaml`,
        );
    }
    found[label] = own;
  }
  for (const [documents, fields] of sources.documents)
    for (const path of unclearIn(fields))
      problems.push(`${documents}: the schema in src/contract names no kind for ${path}`);
  for (const name of namedIn(sources))
    if (
      !relations.some(
        ({ label, columns }) => name === label || columns.some((one) => name === `${label}.${one.name}`),
      )
    )
      problems.push(`${name} is in sql/privacy.yaml, and there is no such table or column`);
  if (problems.length > 0) throw new UnclearColumns(problems);
  const isTable = new Set(schema.relations.filter(({ of }) => of === 'tables').map(labelOf));
  const all = Object.entries(found);
  return {
    tables: Object.fromEntries(all.filter(([label]) => isTable.has(label))),
    views: Object.fromEntries(all.filter(([label]) => !isTable.has(label))),
  };
}

/**
 * The tables and columns that sql/privacy.yaml names.
 * @param {Sources} sources
 */
function namedIn({ columns, mixed, ordered, profiles, kept }) {
  const declared = Object.entries(columns).flatMap(([label, byKind]) =>
    Object.values(byKind).flatMap((names) => names.map((name) => `${label}.${name}`)),
  );
  const left = Object.values(profiles).flat();
  return [
    ...declared,
    ...[mixed, ordered, kept].flatMap(Object.keys),
    ...left.filter((name) => name !== 'raw'),
  ];
}

/**
 * @param {string} column
 * @param {string} type
 * @param {Relation} relation
 * @param {Sources} sources
 * @param {Kinds} found the kinds of relations that come before
 * @returns {string | undefined}
 */
function kindOf(column, type, { label, declared, reads, isOfWorker }, sources, found) {
  const [listed] = Object.entries(sources.columns[label] ?? {}).find(([, all]) => all.includes(column)) ?? [];
  const own = listed ?? declared[column];
  if (own !== undefined) return own;
  if (column === 'run_id') return 'none';
  const ofTables = new Set(reads.flatMap((one) => found[one]?.[column] ?? []));
  if (ofTables.size === 1) return [...ofTables][0];
  if (/^(?:BOOLEAN|BIGINT|INTEGER|DOUBLE|DATE)/.test(type)) return 'none';
  if (type === 'TIMESTAMPTZ') return isOfWorker ? 'none' : 'time';
  const like = column === 'group_id' ? 'conversation_id' : column;
  return sources.kinds.includes(like) ? like : undefined;
}

/**
 * Tables of versions come behind those whose rows they keep, and views behind what they read.
 * @param {Schema} schema
 * @param {Models} models
 * @returns {Relation[]}
 */
function relationsOf({ relations, columns }, models) {
  const labels = new Map(relations.map((one) => [one.name ?? '', labelOf(one)]));
  /** @param {{ name?: string }} one */
  const currentOf = ({ name }) => models.documents.find(({ versions }) => versions?.table === name)?.table;
  /** @param {Record<string, string>} one */
  const rank = (one) => (one.of === 'views' ? 2 : currentOf(one) === undefined ? 0 : 1);
  return relations
    .filter(({ of }) => of !== 'macros')
    .sort((a, b) => rank(a) - rank(b))
    .map((one) => {
      const read = [...(one.sql ?? '').matchAll(/\b(?:FROM|JOIN)\s+\(*(?:\w+\.)?(\w+)/g)].map(
        ([, name]) => name ?? '',
      );
      const current = currentOf(one);
      return {
        label: labelOf(one),
        columns: columns
          .filter((it) => it.schema === one.schema && it.table_name === one.name)
          .map(({ name = '', type = '' }) => ({ name, type })),
        reads:
          one.of === 'views'
            ? read.flatMap((name) => labels.get(name) ?? [])
            : current === undefined
              ? []
              : [current],
        declared: Object.fromEntries(
          (models.tables.find(({ name }) => name === one.name)?.all ?? []).map(({ name, kind }) => [
            name,
            kind,
          ]),
        ),
        isOfWorker: one.schema !== 'main',
      };
    });
}

/** @param {Record<string, string>} relation */
function labelOf({ schema, name = '' }) {
  return schema === 'main' ? name : `${schema}.${name}`;
}

/**
 * The paths of the fields that have text and no kind.
 * @param {readonly Field[]} fields
 * @param {string} [above]
 * @returns {string[]}
 */
function unclearIn(fields, above = '') {
  return fields.flatMap(({ name, kind, fields: inside }) =>
    kind === undefined ? [`${above}${name}`] : unclearIn(inside, `${above}${name}.`),
  );
}
