import { createHash, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../base/atomic-file.js';
import { messageOf, StorageError } from '../base/errors.js';
import type { Kind } from '../contract/privacy.js';
import { keyed, listedKey } from '../contract/tables.js';
import { named, type Table } from '../store/copy.js';
import { unfinished } from '../store/engine.js';
import type { Session } from '../store/session.js';
import { identifier, literal, relationLabel } from '../store/sql.js';
import {
  classesFile,
  columnClasses,
  columnsByName,
  type Method,
  type Policy,
  type RowKinds,
} from './policy.js';

/** A column of a masked table. */
export interface MaskedColumn {
  readonly name: string;
  /** What to select for it from the table with all columns. */
  readonly expression: string;
  readonly isMasked: boolean;
}

/** What replaces more than e-mail addresses in a text that is redacted: an expression for `value`; `otherwise` replaces them alone. */
export type RedactText = (value: string, otherwise: string) => string;

/**
 * The variable with the salt of hashes, which a connection sets before it runs an expression: without it, hashes are NULL.
 * A variable keeps the salt out of statements, and so out of error messages. See `saltOf`.
 */
export const saltVariable = 'signalhouse_salt';

/**
 * What to select for each column of a table so that its rows obey a policy: `SELECT e1 AS c1, e2 AS c2 … FROM table`.
 * Columns that are left out are missing. Null when the whole table is left out: also a table that sql/privacy.yaml does
 * not have. An expression names columns without their table. `redact` replaces more in the texts that stay (see `findNames`).
 */
export function selectList(
  policy: Policy,
  relation: string,
  columns: Table['columns'],
  redact?: RedactText,
): MaskedColumn[] | null {
  if (policy.isFull)
    return columns.map(({ name }) => ({ name, expression: identifier(name), isMasked: false }));
  if (policy.excludesRelation(relation) || !(relation in classesFile().tables)) return null;
  return columns
    .filter(({ name }) => !policy.excludesColumn(relation, name))
    .map((column) => maskedColumn(policy, relation, column, redact));
}

function maskedColumn(
  policy: Policy,
  relation: string,
  { name, type }: Table['columns'][number],
  redact: RedactText | undefined,
): MaskedColumn {
  const plain = identifier(name);
  const label = `${relation}.${name}`;
  const { mixed, ordered } = classesFile();
  const method = policy.methodOf(relation, name);
  const masked = (method: Method | undefined) => maskExpression(method, plain, type, redact);
  let expression = masked(method);
  if (method === undefined && mixed[label])
    expression = byRow(mixed[label], (kind) => masked(policy.methodOfKind(kind)), plain);
  if (method === 'fields')
    expression = allowedFields(policy, columnsByName().get(label)?.kind ?? 'document', plain, redact);
  if (method === 'day') expression += inOrder(ordered[label], plain);
  if (label === 'ops.removed_rows.key') expression = removedKey(policy, plain);
  return { name, expression, isMasked: expression !== plain };
}

/** A key of ops.removed_rows, each part masked as in its table; NULL for a table that the file does not have. */
function removedKey(policy: Policy, plain: string): string {
  const whens = keyed()
    .filter(({ name }) => !policy.excludesRelation(name))
    .map((table) => {
      const parts = listedKey(table).map((column, index) => {
        const value = `${plain}[${index + 1}]`;
        const kind = columnsByName().get(`${table.name}.${column}`)?.kind ?? 'document';
        const masked = (one: Kind) =>
          one === 'time'
            ? `${maskExpression(policy.methodOfKind(one), `${value}::TIMESTAMPTZ`, 'TIMESTAMPTZ')}::VARCHAR`
            : maskExpression(policy.methodOfKind(one), value, 'VARCHAR');
        const mixed = table.mixed?.[column];
        return mixed ? byRow({ ...mixed, by: `${plain}[1]` }, masked, value) : masked(kind);
      });
      return `WHEN ${literal(table.name)} THEN [${parts.join(', ')}]`;
    });
  return `CASE table_name ${whens.join(' ')} END`;
}

/** What is added to the day of a time so that rows with the same value of the first column keep their order. */
function inOrder(columns: readonly [string, string] | undefined, plain: string): string {
  if (columns === undefined) return '';
  const [within, then] = columns.map(identifier);
  const rows = `PARTITION BY ${within}, ${dayOf(plain)} ORDER BY ${plain}, ${then}, id`;
  return ` + to_milliseconds(row_number() OVER (${rows}) - 1)`;
}

/** The day in UTC, whatever the zone of the session is. */
function dayOf(time: string): string {
  return `time_bucket(INTERVAL 1 DAY, ${time})`;
}

/** One expression for each value of `by`, or `plain` alone where none of them masks. */
function byRow(
  { by, otherwise, rows }: RowKinds,
  expressionOf: (kind: Kind) => string,
  plain: string,
): string {
  const others = expressionOf(otherwise);
  const cases = Object.entries(rows).map(([value, kind]) => [value, expressionOf(kind)] as const);
  if (cases.every(([, expression]) => expression === plain) && others === plain) return plain;
  const whens = cases.map(([value, expression]) => `WHEN ${literal(value)} THEN ${expression}`);
  return `CASE ${by} ${whens.join(' ')} ELSE ${others} END`;
}

/** Of a JSON object, the fields that sql/privacy.yaml names for the kind of the row, each masked like a column of its kind. */
function allowedFields(policy: Policy, kind: Kind, plain: string, redact: RedactText | undefined): string {
  const { by = 'NULL', rows = {} } = classesFile().fields[kind] ?? {};
  const whens = Object.entries(rows).map(([value, fields]) => {
    const parts = Object.entries(fields).map(([field, ofField]) => {
      const path = literal(`$.${field}`);
      const method = policy.methodOfKind(ofField);
      const kept =
        method === undefined
          ? `json_extract(${plain}, ${path})`
          : `coalesce(to_json(${maskExpression(method, `(${plain} ->> ${path})`, 'VARCHAR', redact)})::VARCHAR, 'null')`;
      return `CASE WHEN json_exists(${plain}, ${path}) THEN concat(${literal(`"${field}":`)}, ${kept}) END`;
    });
    return `WHEN ${literal(value)} THEN concat('{', concat_ws(',', ${parts.join(', ')}), '}')::JSON`;
  });
  return `CASE WHEN json_type(${plain}) = 'OBJECT' THEN CASE ${by} ${whens.join(' ')} END END`;
}

/** The expression that masks a value; of a list, each of its elements. */
export function maskExpression(
  method: Method | undefined,
  value: string,
  type: string,
  redact?: RedactText,
): string {
  if (method === undefined) return value;
  if (method === 'day' && type.startsWith('TIMESTAMP')) return dayOf(value);
  const element = /^(.*)\[\]$/.exec(type)?.[1];
  if (method === 'null' || method === 'fields' || (element ?? type) !== 'VARCHAR')
    return `CAST(NULL AS ${type})`;
  if (method === 'redact' && redact) {
    const named = (text: string) => redact(text, ofText('redact', text));
    if (element === undefined) return named(value);
    // What replaces names reads a table, which a lambda cannot: as one text, with a blank that no name and no address has.
    const text = `array_to_string(${value}, chr(12))`;
    return `CASE WHEN len(${value}) > 0 THEN string_split(${named(text)}, chr(12)) ELSE ${value} END`;
  }
  return element === undefined
    ? ofText(method, value)
    : `list_transform(${value}, lambda x: ${ofText(method, 'x')})`;
}

/** Anything with an @ inside that could be an e-mail address; in a link, it may be written as %40. */
const address = String.raw`[^\s@<>()\[\],;:"]+(?:@|%40)[^\s@<>()\[\],;:|"]+`;

/** A word of a name; an apostrophe or a hyphen does not end it. */
const word = String.raw`[\p{L}\p{N}][\p{L}\p{N}\p{M}''’-]*`;

function ofText(method: Exclude<Method, 'null' | 'fields'>, value: string): string {
  switch (method) {
    case 'hash':
      // In letters only: a number that is an id stands in no hash by chance.
      return `translate(left(sha256(getvariable(${literal(saltVariable)}) || ${value}), 32), '0123456789', 'ghijklmnop')`;
    case 'domain':
      // What stands behind the last @, or the host of a URL. Anything else may be a name, and has no domain.
      return `CASE WHEN contains(${value}, '@') AND NOT contains(${value}, '://')
        THEN nullif(regexp_extract(${value}, '@([^@\\s<>]+)[^@]*$', 1), '')
        ELSE nullif(regexp_extract(${value}, '://(?:[^/@]*@)?([^/:?#@\\s]+)', 1), '') END`;
    case 'initials': {
      const initials = `array_to_string(list_transform(regexp_extract_all(${value}, '${word}'), lambda w: upper(left(w, 1)) || '.'), '')`;
      // Who is called J.R. has no shorter form.
      return `CASE WHEN NOT contains(lower(${initials}), lower(${value})) THEN nullif(${initials}, '') END`;
    }
    case 'day':
      return `regexp_extract(${value}, '^\\d{4}-\\d\\d-\\d\\d') || 'T00:00:00Z'`;
    case 'redact':
      return `regexp_replace(${value}, '${address}', '[e-mail]', 'g')`;
    default:
      return `left(${value}, ${Number(method.slice('truncate:'.length))})`;
  }
}

type SourceTable = Pick<Table, 'schema' | 'table' | 'columns'>;

/** Scripts that put no blank between words: two neighbouring characters stand for a word. */
const dense = String.raw`\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}`;
const plainWord = String.raw`[\p{L}\p{N}]+`;

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
    SELECT name, lower(name) AS folded, regexp_matches(name, '^${plainWord}$') AS one_word,
           coalesce(nullif(regexp_extract(name, '^[${dense}]{2}'), ''), regexp_extract(lower(name), '${plainWord}')) AS key
      FROM (${namesIn(source, tables, kinds).join(' UNION ')}) AS names (name)
     WHERE length(name) >= ${shortestName} OR regexp_matches(name, '^[${dense}]{2}')`);
  await session.run(`
    CREATE OR REPLACE TEMP TABLE masked_texts AS
    SELECT text, list(DISTINCT name ORDER BY length(name) DESC, name) AS names
      FROM (
        SELECT text, folded AS folded_text, unnest(list_distinct(list_concat(
            regexp_extract_all(folded, '${plainWord}'),
            flatten(list_transform(regexp_extract_all(text, '[${dense}]{2,}'), lambda run:
              list_transform(range(1, length(run)), lambda i: substr(run, i, 2))))
          ))) AS key
          FROM (SELECT text, lower(text) AS folded FROM (${texts.join(' UNION ALL ')}) AS texts (text))
         WHERE text IS NOT NULL)
      JOIN masked_names USING (key)
     WHERE CASE WHEN one_word THEN contains(text, name) ELSE contains(folded_text, folded) END
     GROUP BY text`);
  const [found] = await session.all<{ n: number }>('SELECT count(*) AS n FROM masked_texts');
  if (!found || Number(found.n) === 0) return undefined;
  // A name of one word is replaced only where it is a whole word, as it is written: mark is not Mark. One of several words is also
  // replaced in other letters where it is whole: ruth walter. Twice, because neighbours share what is between them. Addresses go
  // first: without the name in it, one is not recognized.
  const alone = `'(^|[^\\p{L}\\p{N}])' || regexp_escape(n) || '([^\\p{L}\\p{N}]|$)'`;
  const once = (text: string, flags = 'g') =>
    `regexp_replace(${text}, ${alone}, '\\1${mark}\\2', '${flags}')`;
  await session.run(`
    CREATE OR REPLACE TEMP TABLE redacted_texts AS
    SELECT text AS original, list_reduce(list_prepend(${ofText('redact', 'text')}, names), lambda t, n:
        CASE WHEN regexp_matches(n, '^${plainWord}$') AND NOT regexp_matches(n, '^[${dense}]')
             THEN ${once(once('t'))} ELSE ${once(once(`replace(t, n, '${mark}')`, 'gi'), 'gi')} END) AS redacted
      FROM masked_texts`);
  return (value, otherwise) =>
    `coalesce((SELECT redacted FROM temp.main.redacted_texts WHERE original = ${value}), ${otherwise})`;
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
      return otherwise;
    });
    return [...values].map((value) => `SELECT ${value} FROM ${named(source, { schema, table })}`);
  });
}

/** A query for every column with such names. */
function namesIn(source: string, tables: readonly SourceTable[], kinds: readonly Kind[]): string[] {
  const { mixed } = classesFile();
  return tables.flatMap(({ schema, table, columns }) => {
    const relation = relationLabel(schema, table);
    const has = (name: string) => columns.some((column) => column.name === name);
    const from = `FROM ${named(source, { schema, table })}`;
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

/**
 * The salt of the hashes in masked files: made once, so that the same value has the same hash on every day. Anyone who has
 * it can find out which value a hash stands for.
 */
export function saltOf(dataDir: string): string {
  // Only its user may read it.
  const path = join(dataDir, 'publish.salt');
  const found = readSalt(path);
  if (found !== undefined) return found;
  const fresh = join(dataDir, `${unfinished}salt-${process.pid}`);
  try {
    writeFileSync(fresh, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    syncFile(fresh);
    // Unlike a rename, it fails when another process was faster; then the salt is the other's.
    linkSync(fresh, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
  const made = readSalt(path);
  if (made === undefined) throw new StorageError(`${path} was removed while it was made`);
  return made;
}

function readSalt(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError(`${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Give this user access to it. Without it, the hashes of masked files would not match those of earlier files.',
      cause: error,
    });
  }
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new StorageError(`${path} is not a salt that signalhouse made`, {
    hint: 'Restore it from a backup. If there is none, delete it: a new one is made, and the hashes in masked files change.',
  });
}

/**
 * The statement after which a connection can run the expressions of `selectList`. Files of different profiles have different
 * hashes: one that is plain in the one file, or that a person can guess there, is not known in the other.
 */
export function useSalt(salt: string, { profile }: Pick<Policy, 'profile'>): string {
  const own = createHash('sha256').update(`${salt}\n${profile}`).digest('hex');
  return `SET VARIABLE ${saltVariable} = ${literal(own)}`;
}
