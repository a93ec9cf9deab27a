/**
 * @typedef {import('../src/contract/privacy.js').Field} Field
 * @typedef {import('../src/load/models.js').Models} Models
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
 * @property {Record<string, string[]>} profiles
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
export function kindsOfColumns({ relations, columns }, sources) {
  const { models, kinds } = sources;
  /** @type {Map<string | undefined, string | undefined>} the table whose rows have versions, by the table with these */
  const currentOf = new Map(models.documents.map(({ table, versions }) => [versions?.table, table]));
  /** @type {Map<string | undefined, string>} */
  const labels = new Map(relations.map((one) => [one.name, labelOf(one)]));
  /** @param {Record<string, string>} relation */
  const rank = ({ of, name }) => (of === 'views' ? 2 : currentOf.has(name) ? 1 : 0);
  const found = { tables: /** @type {Kinds} */ ({}), views: /** @type {Kinds} */ ({}) };
  /** @type {string[]} */
  const problems = [];
  // Tables of versions come behind those whose rows they keep, and views behind what they read.
  for (const one of relations.filter(({ of }) => of !== 'macros').sort((a, b) => rank(a) - rank(b))) {
    const label = labelOf(one);
    const declared = models.tables.find(({ name }) => name === one.name)?.all ?? [];
    const listed = Object.entries(sources.columns[label] ?? {});
    const read = [...(one.sql ?? '').matchAll(/\b(?:FROM|JOIN)\s+\(*(?:\w+\.)?(\w+)/g)].map(
      ([, name]) => name,
    );
    const sameName = [...read, currentOf.get(one.name)].flatMap((name) => labels.get(name) ?? []);
    /** @type {Record<string, string>} */
    const own = {};
    for (const { name = '', type = '' } of columns.filter(
      (it) => it.schema === one.schema && it.table_name === one.name,
    )) {
      const taken = new Set(
        sameName.flatMap((from) => (found.tables[from] ?? found.views[from])?.[name] ?? []),
      );
      const kind =
        listed.find(([, names]) => names.includes(name))?.[0] ??
        declared.find((column) => column.name === name)?.kind ??
        (taken.size === 1 && name !== 'run_id'
          ? [...taken][0]
          : kindByType(name, type, one.schema !== 'main', kinds));
      if (kind !== undefined && kinds.includes(kind)) own[name] = kind;
      else if (kind !== undefined) problems.push(`${label}.${name}: there is no kind ${kind}`);
      else {
        const where = declared.some((column) => column.name === name)
          ? 'in its schema in src/contract'
          : 'under columns in sql/privacy.yaml';
        problems.push(`${label}.${name}: nothing says what it holds. Name its kind ${where}`);
      }
    }
    found[one.of === 'views' ? 'views' : 'tables'][label] = own;
  }
  for (const [documents, fields] of sources.documents)
    for (const path of unclearIn(fields))
      problems.push(`${documents}: the schema in src/contract names no kind for ${path}`);
  const all = Object.entries({ ...found.tables, ...found.views });
  const names = new Set(
    all.flatMap(([label, own]) => [label, ...Object.keys(own).map((name) => `${label}.${name}`)]),
  );
  for (const name of namedIn(sources))
    if (!names.has(name))
      problems.push(`${name} is in sql/privacy.yaml, and there is no such table or column`);
  if (problems.length > 0) throw new UnclearColumns(problems);
  return found;
}

/**
 * The tables and columns that sql/privacy.yaml names.
 * @param {Sources} sources
 */
function namedIn({ columns, mixed, ordered, profiles }) {
  const listed = Object.entries(columns).flatMap(([label, byKind]) =>
    Object.values(byKind).flatMap((names) => names.map((name) => `${label}.${name}`)),
  );
  const left = Object.values(profiles).flat();
  return [...listed, ...[mixed, ordered].flatMap(Object.keys), ...left.filter((name) => name !== 'raw')];
}

/**
 * What a column holds that nothing else tells: a number, a flag, a time, or what its name says.
 * @param {string} name
 * @param {string} type
 * @param {boolean} isOfWorker whether its table says what the worker did
 * @param {readonly string[]} kinds
 */
function kindByType(name, type, isOfWorker, kinds) {
  if (name === 'run_id' || /^(?:BOOLEAN|BIGINT|INTEGER|DOUBLE|DATE)/.test(type)) return 'none';
  if (type === 'TIMESTAMPTZ') return isOfWorker ? 'none' : 'time';
  const like = name === 'group_id' ? 'conversation_id' : name;
  return kinds.includes(like) ? like : undefined;
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
