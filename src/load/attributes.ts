import { portions } from '../base/group-by.js';
import type { Forgotten } from '../privacy/forgotten.js';
import { kindsOfColumns, type Policy } from '../privacy/policy.js';
import type { Session } from '../store/session.js';
import { identifier, literal } from '../store/sql.js';

/** What people know of companies and the API does not: a file of the data directory, as it was read. */
export interface AttributeFile {
  /** Its name, e.g. `attributes/companies.csv`. */
  readonly file: string;
  readonly columns: readonly AttributeColumn[];
  readonly rows: readonly AttributeRow[];
  readonly problems: readonly AttributeProblem[];
}

export interface AttributeColumn {
  /** In the form of a column: letters, digits and underscores. */
  readonly name: string;
  readonly type: 'DOUBLE' | 'BOOLEAN' | 'DATE' | 'VARCHAR';
}

export interface AttributeRow {
  /** As a spreadsheet program shows it. */
  readonly row: number;
  readonly company_id: string | null;
  /** In lower case, without `www.`. */
  readonly domain: string | null;
  /** In the order of the columns, as text that DuckDB can cast to their types. */
  readonly cells: readonly (string | null)[];
}

export interface AttributeProblem {
  /** Null where the whole file or a column is meant. */
  readonly row: number | null;
  readonly problem: string;
}

/** What is published of the file, with its rows in a temporary table. */
export type FileAttributes = Omit<AttributeFile, 'rows'>;

/** The outcome of the file in a publication. */
export interface PublishedAttributes extends FileAttributes {
  readonly companies: number;
}

/** Rows that one statement takes. */
const rowsAtOnce = 2_000;
/** This many domains without a company are compared with all others. */
const mostNearest = 200;
/** How similar a domain has to be to be named (0 to 1). */
const leastAlike = 0.85;

/**
 * Brings the rows of a file to the companies that they name, in temporary tables for the files to publish. Of two rows for
 * one company the first counts. Forgotten addresses are taken out of every text.
 */
export async function matchAttributes(
  session: Session,
  { file, columns, rows, problems }: AttributeFile,
  forgotten: Forgotten,
): Promise<PublishedAttributes> {
  await session.run(
    `CREATE OR REPLACE TEMP TABLE attribute_rows (row_number INTEGER, company_id VARCHAR, domain VARCHAR, cells VARCHAR[])`,
  );
  const clean = (text: string | null) => (text === null ? null : forgotten.redact(text));
  for (const portion of portions(rows, rowsAtOnce)) {
    const some = portion.map((row) => ({ ...row, cells: row.cells.map(clean) }));
    await session.run(
      `INSERT INTO attribute_rows
       SELECT unnest(from_json($rows, '[{"row": "INTEGER", "company_id": "VARCHAR", "domain": "VARCHAR", "cells": ["VARCHAR"]}]'), max_depth := 2)`,
      { rows: JSON.stringify(some) },
    );
  }
  await session.run(`
    CREATE OR REPLACE TEMP TABLE matched_attributes AS
    WITH domains AS (
      SELECT lower(primary_domain) AS domain, min(id) AS id, list(id ORDER BY id) AS ids
      FROM main.companies
      WHERE deleted_at IS NULL AND primary_domain IS NOT NULL
      GROUP BY ALL
    )
    SELECT
      given.*,
      found.id AS id_of_domain,
      found.ids AS ids_of_domain,
      found.id IS NOT NULL AND lower(named.primary_domain) IS DISTINCT FROM given.domain AS is_of_two,
      CASE
        WHEN given.company_id IS NULL THEN if(len(found.ids) = 1, found.id, NULL)
        WHEN NOT is_of_two THEN named.id
      END AS found_id,
      named.id AS named_id,
      gone.merged_into_id,
      row_number() OVER (PARTITION BY found_id ORDER BY row_number) AS place,
      min(row_number) OVER (PARTITION BY found_id) AS first_row
    FROM attribute_rows AS given
    LEFT JOIN main.companies AS named ON named.id = given.company_id AND named.deleted_at IS NULL
    LEFT JOIN main.companies AS gone ON gone.id = given.company_id AND gone.deleted_at IS NOT NULL
    LEFT JOIN domains AS found ON found.domain = given.domain`);
  await session.run(`
    CREATE OR REPLACE TEMP TABLE attributes_of_companies AS
    SELECT found_id AS company_id${columns
      .map(({ name, type }, at) => `, TRY_CAST(cells[${at + 1}] AS ${type}) AS ${identifier(name)}`)
      .join('')}
    FROM matched_attributes
    WHERE found_id IS NOT NULL AND place = 1
    ORDER BY row_number`);
  const unmatched = await session.all<{ row: number; problem: string }>(`
    WITH unknown AS (
      SELECT *, row_number() OVER (ORDER BY row_number) AS number FROM matched_attributes WHERE found_id IS NULL
    ),
    alike AS (
      SELECT row_number, arg_max(lower(primary_domain), jaro_winkler_similarity(domain, lower(primary_domain))) AS nearest
      FROM unknown
      JOIN main.companies ON deleted_at IS NULL AND primary_domain IS NOT NULL
      WHERE number <= ${mostNearest} AND company_id IS NULL
        AND jaro_winkler_similarity(domain, lower(primary_domain)) >= ${leastAlike}
      GROUP BY row_number
    )
    SELECT
      unknown.row_number AS row,
      CASE
        WHEN merged_into_id IS NOT NULL THEN 'company ' || company_id || ' was merged into ' || merged_into_id
        WHEN named_id IS NOT NULL THEN
          'names two companies: ' || domain || ' is the domain of ' || id_of_domain || ', not of ' || company_id
        WHEN company_id IS NOT NULL THEN 'no company has the id ' || company_id
        WHEN len(ids_of_domain) > 1 THEN
          domain || ' is the domain of the companies ' || array_to_string(ids_of_domain[:3], ', ') || ': name one of them by company_id'
        ELSE 'no company has the domain ' || domain || coalesce('; did you mean ' || nearest || '?', '')
      END AS problem
    FROM unknown
    LEFT JOIN alike USING (row_number)
    UNION ALL
    SELECT row_number, 'names the company of row ' || first_row || ' again, which counts'
    FROM matched_attributes
    WHERE found_id IS NOT NULL AND place > 1
    ORDER BY row`);
  const [{ companies } = { companies: 0 }] = await session.all<{ companies: number }>(
    'SELECT count(*)::INTEGER AS companies FROM attributes_of_companies',
  );
  const found = [...problems, ...columns.flatMap(takenBy), ...unmatched].map((one) => ({
    ...one,
    problem: forgotten.redact(one.problem),
  }));
  return { file, columns, companies, problems: found.sort((a, b) => (a.row ?? 0) - (b.row ?? 0)) };
}

/** Removes what `matchAttributes` made. */
export async function dropMatched(session: Session): Promise<void> {
  for (const name of ['attribute_rows', 'matched_attributes', 'attributes_of_companies'])
    await session.run(`DROP TABLE IF EXISTS temp.${name}`);
}

/**
 * The columns that a file with this policy may have. A text may hold anything, also a name: it is only for files that show
 * names. None where ids of companies are masked, which the rows are joined by.
 */
export function attributesShown(attributes: FileAttributes, policy: Policy): FileAttributes | undefined {
  if (policy.excludesRelation(schema) || policy.methodOfKind('company_id')) return undefined;
  if (policy.profile === 'none') return attributes;
  const columns = attributes.columns.filter(({ type }) => type !== 'VARCHAR');
  return { ...attributes, columns, problems: [] };
}

const schema = 'attributes';

/** The empty table, for trying views on it. */
export function attributesSchema(attributes: PublishedAttributes | null): string[] {
  if (!attributes) return [];
  const list = attributes.columns.map(({ name, type }) => `, ${identifier(name)} ${type}`).join('');
  return [`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.companies (company_id VARCHAR${list})`];
}

/** Writes attributes.companies and attributes.problems into the snapshot that is in use, in place of those of an earlier one. */
export async function writeAttributes(
  session: Session,
  attributes: FileAttributes | undefined,
): Promise<void> {
  await session.run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  if (!attributes) return;
  const { file, columns, problems } = attributes;
  const names = ['company_id', ...columns.map(({ name }) => identifier(name))].join(', ');
  const comment = (what: string, text: string) => `COMMENT ON ${what} IS ${literal(text)}`;
  const statements = [
    `CREATE SCHEMA ${schema}`,
    `CREATE TABLE ${schema}.companies AS SELECT ${names} FROM temp.attributes_of_companies`,
    comment(`TABLE ${schema}.companies`, `What ${file} says of companies. Key: company_id.`),
    comment(`COLUMN ${schema}.companies.company_id`, 'The company (companies.id).'),
    ...columns.map(({ name }) =>
      comment(`COLUMN ${schema}.companies.${identifier(name)}`, `The column ${name} of ${file}.`),
    ),
    `CREATE TABLE ${schema}.problems ("row" INTEGER, problem VARCHAR)`,
    comment(`TABLE ${schema}.problems`, `The rows and cells of ${file} that were left out, and why.`),
    comment(
      `COLUMN ${schema}.problems."row"`,
      'The row, as a spreadsheet program shows it. NULL for a column or the whole file.',
    ),
    comment(`COLUMN ${schema}.problems.problem`, 'What is wrong with it.'),
  ];
  for (const statement of statements) await session.run(statement);
  await session.run(
    `INSERT INTO ${schema}.problems SELECT unnest(from_json($problems, '[{"row": "INTEGER", "problem": "VARCHAR"}]'), max_depth := 2)`,
    { problems: JSON.stringify(problems) },
  );
}

/** What a publication wrote into an attached snapshot, ready to be written into another one; undefined where it wrote none. */
export async function publishedAttributes(
  session: Session,
  snapshot: string,
): Promise<FileAttributes | undefined> {
  const [found] = await session.all<{ comment: string; columns: AttributeColumn[] }>(
    `SELECT t.comment, list({ name: column_name, type: data_type } ORDER BY column_index)[2:] AS columns
       FROM duckdb_tables() AS t JOIN duckdb_columns() USING (database_name, schema_name, table_name)
      WHERE database_name = $1 AND schema_name = '${schema}' AND table_name = 'companies' GROUP BY ALL`,
    [snapshot],
  );
  if (!found) return undefined;
  const from = `${identifier(snapshot)}.${schema}`;
  await session.run(`CREATE OR REPLACE TEMP TABLE attributes_of_companies AS FROM ${from}.companies`);
  const problems = await session.all<AttributeProblem>(`FROM ${from}.problems`);
  const [, file = ''] = /^What (.*) says of companies/.exec(found.comment) ?? [];
  return { file, columns: found.columns, problems };
}

/** The views that carry attributes, which stand in sql/views without any. */
export const withAttributes = {
  company_attributes: (sql: string, { file, columns }: FileAttributes) => {
    const own = columns.filter(({ name }) => !takerOf('company', name));
    const list = own.map(({ name }) => `, ${identifier(name)}`).join('');
    const said = own.map(
      ({ name }) =>
        `COMMENT ON COLUMN company_attributes.${identifier(name)} IS ${literal(`The column ${name} of ${file}.`)};`,
    );
    return `${sql.replace(/AS\nSELECT[\s\S]*?;/, () => `AS\nSELECT company_id${list} FROM ${schema}.companies;`)}\n${said.join('\n')}`;
  },
  topic_attributes: (sql: string, { file, columns }: FileAttributes) => {
    const own = columns.filter(({ name, type }) => type === 'DOUBLE' && !takerOf('topic', name));
    const list = own.map(({ name }) => `, sum(own.${identifier(name)}) AS ${identifier(name)}`).join('');
    const said = own.map(
      ({ name }) =>
        `COMMENT ON COLUMN topic_attributes.${identifier(name)} IS ${literal(`The sum of ${name} (${file}) of these companies. NULL when it is known of none.`)};`,
    );
    const body = `AS
SELECT part.topic_id${list}
FROM (
  SELECT DISTINCT topic_people.topic_id, person_roles.company_id
  FROM topic_people
  LEFT JOIN final_ids ON final_ids.entity_type = 'person' AND final_ids.id = topic_people.person_id
  JOIN person_roles ON person_roles.person_id = coalesce(final_ids.final_id, topic_people.person_id)
  WHERE NOT person_roles.is_staff AND NOT person_roles.is_bot
) AS part
JOIN ${schema}.companies AS own ON own.company_id = part.company_id
GROUP BY part.topic_id;`;
    return `${sql.replace(/AS\nSELECT[\s\S]*?;/, () => body)}\n${said.join('\n')}`;
  },
};

/** The table or view beside whose columns these are shown that has one of that name itself. */
function takerOf(kind: keyof typeof relationsWith, column: string): string | undefined {
  const { tables, views } = kindsOfColumns();
  return relationsWith[kind].find((name) => Object.hasOwn(tables[name] ?? views[name] ?? {}, column));
}

/** What is wrong with a column of the name of another one: no view can show both. A name is there for who reads the file. */
function takenBy({ name, type }: AttributeColumn): AttributeProblem[] {
  if (name === 'name') return [];
  return (['company', 'topic'] as const).flatMap((kind) => {
    const taker = kind === 'company' || type === 'DOUBLE' ? takerOf(kind, name) : undefined;
    if (taker === undefined) return [];
    const view = kind === 'company' ? 'company_health' : 'backlog';
    return [{ row: null, problem: `the column ${name} is not in ${view}: ${taker} has one of that name` }];
  });
}

/** What shows attributes beside columns of its own, or computes with columns whose names would have two meanings. */
const relationsWith = {
  company: ['companies', 'company_health', 'companies_at_risk', 'data_as_of'],
  topic: ['topics', 'backlog', 'data_as_of'],
} as const;

const mostTold = 5;

/** What a person reads about what is wrong with the file. */
export function attributeTexts(attributes: PublishedAttributes | null): string[] {
  if (!attributes || attributes.problems.length === 0) return [];
  const { file, problems } = attributes;
  const told = problems
    .slice(0, mostTold)
    .map(({ row, problem }) => (row === null ? problem : `row ${row}: ${problem}`));
  const more = problems.length - told.length;
  return [`${file}: ${told.join('; ')}${more > 0 ? `; and ${more} more (attributes.problems)` : ''}`];
}
