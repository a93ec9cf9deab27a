import type { Kind } from '../../contract/privacy.js';
import { identifier, literal } from '../sql.js';
import { classesFile, columnsByName, type Method, type RowKinds } from './classes.js';
import type { Policy } from './policy.js';

/** A column of a table, as duckdb_columns() describes it. */
export interface TableColumn {
  readonly name: string;
  /** In DuckDB's form: `VARCHAR`, `VARCHAR[]`, `JSON`. */
  readonly type: string;
}

/** A column of a masked table. */
export interface MaskedColumn {
  readonly name: string;
  /** What to select for it from the table with all columns. */
  readonly expression: string;
  readonly isMasked: boolean;
}

/**
 * What replaces more than e-mail addresses in a text that is redacted: an expression for `value`, where `otherwise` is what
 * replaces the addresses in an expression.
 */
export type RedactText = (value: string, otherwise: (value: string) => string) => string;

/**
 * The variable with the salt of hashes, which a connection sets before it runs an expression: without it, hashes are NULL.
 * A variable keeps the salt out of statements, and so out of error messages. See `saltOf`.
 */
export const saltVariable = 'signalhouse_salt';

/**
 * What to select for each column of a table so that its rows obey a policy: `SELECT e1 AS c1, e2 AS c2 … FROM table`.
 * Columns that are left out are missing. Null when the whole table is left out: also a table that sql/privacy.yaml does
 * not have. An expression names columns without their table. `redact` replaces more in the texts that stay (see names.ts).
 */
export function selectList(
  policy: Policy,
  relation: string,
  columns: readonly TableColumn[],
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
  column: TableColumn,
  redact: RedactText | undefined,
): MaskedColumn {
  const { name, type } = column;
  const plain = identifier(name);
  const method = policy.methodOf(relation, name);
  const mixed = classesFile().mixed[`${relation}.${name}`];
  const expression =
    method === undefined && mixed
      ? byRow(mixed, (kind) => maskExpression(policy.methodOfKind(kind), plain, type, redact), plain)
      : method === 'fields'
        ? allowedFields(policy, columnsByName().get(`${relation}.${name}`)?.kind ?? 'document', plain, redact)
        : maskExpression(method, plain, type, redact) +
          (method === 'day' ? inOrder(classesFile().ordered[`${relation}.${name}`], plain) : '');
  return { name, expression, isMasked: expression !== plain };
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
  return element === undefined
    ? method === 'redact' && redact
      ? redact(value, (one) => ofText('redact', one))
      : ofText(method, value)
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
