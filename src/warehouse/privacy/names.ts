import type { Kind } from '../../contract/privacy.js';
import { identifier, literal, relationLabel } from '../sql.js';
import type { Session } from '../store/session.js';
import { classesFile, columnClasses } from './classes.js';
import { type RedactText, selectList, type TableColumn } from './masks.js';
import type { Policy } from './policy.js';

/** A table with the columns that a masked file takes from it. */
interface SourceTable {
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly TableColumn[];
}

/** Scripts that put no blank between words: two neighbouring characters stand for a word. */
const dense = String.raw`\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}`;
const word = String.raw`[\p{L}\p{N}]+`;

/** The kinds of columns whose values are names, by the kind that is masked. */
const namesOf: readonly { readonly masked: Kind; readonly names: readonly Kind[] }[] = [
  { masked: 'person_name', names: ['person_name', 'account_name'] },
  { masked: 'company_name', names: ['company_name'] },
];

/** A shorter name stands in too many words. */
const shortestName = 4;

/** What stands in place of a name. */
const mark = '[name]';

/**
 * Finds the names of people and companies in the texts that a masked file keeps. Returns what replaces them in an expression, or undefined
 * where names are not masked or no text has one. Names of programs stay. Drop what it made with `dropNames`.
 *
 * Texts that have a name are few: they are found by the first words of the names, without comparing every text with every
 * name, and looked up when the rows are copied.
 */
export async function findNames(
  session: Session,
  source: string,
  policy: Policy,
  tables: readonly SourceTable[],
): Promise<RedactText | undefined> {
  const kinds = namesOf.flatMap(({ masked, names }) =>
    policy.methodOfKind(masked) === undefined ? [] : names,
  );
  if (kinds.length === 0) return undefined;
  const texts = textsIn(source, policy, tables);
  if (texts.length === 0) return undefined;
  await session.run(`
    CREATE OR REPLACE TEMP TABLE masked_names AS
    SELECT name, coalesce(nullif(regexp_extract(name, '^[${dense}]{2}'), ''), regexp_extract(name, '${word}')) AS key
      FROM (${namesIn(source, tables, kinds).join(' UNION ')}) AS names (name)
     WHERE length(name) >= ${shortestName} OR regexp_matches(name, '^[${dense}]{2}')`);
  await session.run(`
    CREATE OR REPLACE TEMP TABLE masked_texts AS
    SELECT text, list(DISTINCT name ORDER BY length(name) DESC, name) AS names
      FROM (
        SELECT text, unnest(list_distinct(list_concat(
            regexp_extract_all(text, '${word}'),
            flatten(list_transform(regexp_extract_all(text, '[${dense}]{2,}'), lambda run:
              list_transform(range(1, length(run)), lambda i: substr(run, i, 2))))
          ))) AS key
          FROM (${texts.join(' UNION ALL ')}) AS texts (text)
         WHERE text IS NOT NULL)
      JOIN masked_names USING (key)
     WHERE contains(text, name)
     GROUP BY text`);
  const [found] = await session.all<{ n: number }>('SELECT count(*) AS n FROM masked_texts');
  if (!found || Number(found.n) === 0) return undefined;
  // A name of one word is replaced only where it is a whole word; twice, because neighbours share what is between them.
  const alone = `'(^|[^\\p{L}\\p{N}])' || regexp_escape(n) || '([^\\p{L}\\p{N}]|$)'`;
  const once = (text: string) => `regexp_replace(${text}, ${alone}, '\\1${mark}\\2', 'g')`;
  await session.run(`
    CREATE OR REPLACE TEMP TABLE redacted_texts AS
    SELECT text AS original, list_reduce(list_prepend(text, names), lambda t, n:
        CASE WHEN regexp_matches(n, '^${word}$') AND NOT regexp_matches(n, '^[${dense}]')
             THEN ${once(once('t'))} ELSE replace(t, n, '${mark}') END) AS redacted
      FROM masked_texts`);
  return (value, otherwise) =>
    `coalesce((SELECT ${otherwise('redacted')} FROM temp.main.redacted_texts WHERE original = ${value}), ${otherwise(value)})`;
}

/** Removes what `findNames` made. */
export async function dropNames(session: Session): Promise<void> {
  for (const table of ['masked_names', 'masked_texts', 'redacted_texts'])
    await session.run(`DROP TABLE IF EXISTS temp.main.${table}`);
}

/** A query for every expression whose value is redacted. */
function textsIn(source: string, policy: Policy, tables: readonly SourceTable[]): string[] {
  return tables.flatMap(({ schema, table, columns }) => {
    const values = new Set<string>();
    selectList(policy, relationLabel(schema, table), columns, (value, otherwise) => {
      values.add(value);
      return otherwise(value);
    });
    return [...values].map((value) => `SELECT ${value} FROM ${nameOf(source, schema, table)}`);
  });
}

/** A query for every column with such names. */
function namesIn(source: string, tables: readonly SourceTable[], kinds: readonly Kind[]): string[] {
  const { mixed } = classesFile();
  return tables.flatMap(({ schema, table, columns }) => {
    const relation = relationLabel(schema, table);
    const has = (name: string) => columns.some((column) => column.name === name);
    const from = `FROM ${nameOf(source, schema, table)}`;
    const own = columnClasses().filter((one) => one.relation === relation && kinds.includes(one.kind));
    const ofPeople = own.map(
      ({ column }) =>
        `SELECT ${identifier(column)} ${from} ${has('is_bot') ? 'WHERE NOT coalesce(is_bot, false)' : ''}`,
    );
    const byRow = columns.flatMap(({ name }) => {
      const { by = '', rows = {} } = mixed[`${relation}.${name}`] ?? {};
      const values = Object.entries(rows).filter(([, kind]) => kinds.includes(kind));
      const list = values.map(([value]) => literal(value)).join(', ');
      return values.length === 0 ? [] : [`SELECT ${identifier(name)} ${from} WHERE ${by} IN (${list})`];
    });
    return [...ofPeople, ...byRow];
  });
}

function nameOf(source: string, schema: string, table: string): string {
  return [source, schema, table].map(identifier).join('.');
}
