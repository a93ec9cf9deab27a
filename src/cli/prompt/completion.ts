import { splitSql } from '../../base/sql-text.js';

export interface Completable {
  /** Tables, views and macros by label (`backlog`, `raw.documents`, `backlog_as_of(day)`), each with its columns. */
  readonly relations: ReadonlyMap<string, readonly string[]>;
  /** Commands of the prompt; those that take a table. */
  readonly commands: readonly string[];
  readonly commandsOnTables: readonly string[];
  readonly formats: readonly string[];
}

const keywords =
  `ALL ANALYZE AND ANY_VALUE( AS ASC ASOF BETWEEN BY CASE CAST( COALESCE( COUNT(*) CROSS DATE DESC DESCRIBE DISTINCT ELSE
  END EXCLUDE EXISTS EXPLAIN FALSE FILTER FROM FULL GROUP HAVING ILIKE IN INNER INTERVAL IS JOIN LEFT LIKE LIMIT NATURAL
  NOT NULL NULLS LAST OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT POSITIONAL QUALIFY RECURSIVE REPLACE RIGHT SELECT SHOW
  SUMMARIZE TABLES THEN TRUE UNION UNNEST( UNPIVOT USING VALUES WHEN WHERE WINDOW WITH WITHIN`.split(/\s+/);

/**
 * What the word before the cursor may become, and that word. `before` are the lines of the statement that were entered
 * already, `line` is the current one up to the cursor, and `after` its rest. After FROM and the like only tables; behind a
 * dot the columns of a table or alias, or the tables of a schema; elsewhere columns of the tables that the statement names
 * (of any table, when it names none yet), and keywords.
 */
export function completions(
  before: string,
  line: string,
  after: string,
  what: Completable,
): [found: string[], word: string] {
  if (before === '' && /^[\\.]/.test(line)) return ofCommand(line, what);
  const text = `${before}\n${line}`;
  const { rest, open } = splitSql(text);
  if (open && open !== '"') return [[], line];
  const [word = ''] = /[\p{L}\p{N}_."]*$/u.exec(line) ?? [];
  const statement = rest.endsWith(word) ? rest.slice(0, rest.length - word.length) : rest;
  const dot = word.lastIndexOf('.');
  if (dot >= 0) {
    const owner = word.slice(0, dot);
    const members = membersOf(owner, `${statement} ${after}`, what).map((name) => `${owner}.${name}`);
    return [matching(members, word), word];
  }
  const relations = namesOf(what).filter((label) => word !== '' || !label.startsWith('ops.'));
  if (expectsTable(statement)) return [matching([...relations, ...ctesIn(statement)], word), word];
  const named = columnsIn(`${statement} ${after}`, what);
  if (word === '') return [named, word];
  const columns =
    named.length > 0 ? named : [...what.relations.keys()].flatMap((label) => columnsOf(label, what) ?? []);
  const isLower = word === word.toLowerCase();
  const words = keywords.map((one) => (isLower ? one.toLowerCase() : one));
  return [matching([...columns, ...relations, ...ctesIn(statement), ...words], word), word];
}

function ofCommand(line: string, what: Completable): [string[], string] {
  const [, name = '', argument] = /^(\S+)(?:\s+(.*))?$/.exec(line) ?? [];
  if (argument === undefined && !/\s$/.test(line)) return [matching(what.commands, name), name];
  const word = argument ?? '';
  if (name === '.mode') return [matching(what.formats, word), word];
  if (what.commandsOnTables.includes(name)) return [matching(namesOf(what), word), word];
  return [[], word];
}

/** Without the parameters of macros, of which the bracket stays. */
function namesOf({ relations }: Completable): string[] {
  return [...relations.keys()].map((label) => label.replace(/\(.*$/s, '('));
}

function matching(candidates: readonly string[], word: string): string[] {
  const start = word.toLowerCase();
  return [...new Set(candidates)].filter((one) => one.toLowerCase().startsWith(start)).sort();
}

/** Whether a name of a table comes next. */
function expectsTable(statement: string): boolean {
  return /(?:\b(?:FROM|JOIN|DESCRIBE|SUMMARIZE|PIVOT|UNPIVOT|TABLE)|\bFROM\s[\w\s.,"]*,)\s*$/i.test(
    statement,
  );
}

/** The names that WITH gives to queries. */
function ctesIn(statement: string): string[] {
  return [
    ...statement.matchAll(/(?:\bWITH(?:\s+RECURSIVE)?|,)\s+(\w+)\s+AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/gi),
  ].map(([, name = '']) => name);
}

function membersOf(owner: string, statement: string, what: Completable): readonly string[] {
  const inSchema = namesOf(what).filter((label) => label.startsWith(`${owner.toLowerCase()}.`));
  if (inSchema.length > 0) return inSchema.map((label) => label.slice(owner.length + 1));
  const alias = owner.replaceAll(/[^\p{L}\p{N}_]/gu, '');
  const named = new RegExp(`([\\w.]+)(?:\\([^)]*\\))?\\s+(?:AS\\s+)?${alias}\\b`, 'giu');
  for (const [, label = ''] of statement.matchAll(named)) {
    const columns = columnsOf(label, what);
    if (columns) return columns;
  }
  return columnsOf(owner, what) ?? [];
}

/** The columns of the tables that a statement names. */
function columnsIn(statement: string, what: Completable): string[] {
  const named = statement.match(/[\w.]+/g) ?? [];
  return [...new Set(named.flatMap((label) => columnsOf(label, what) ?? []))];
}

function columnsOf(label: string, { relations }: Completable): readonly string[] | undefined {
  const columns = relations.get(label.toLowerCase().replace(/^main\./, ''));
  return columns?.map((name) =>
    /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`,
  );
}
