import { statementsIn } from '../base/sql-text.js';
import { attributesShown, writeAttributes } from '../load/attributes.js';
import { problemOf } from '../load/user-views.js';
import { createList, createViews, type ViewParts, viewsOf } from '../load/views.js';
import { copyTables, inDatabase, named, type Table, tablesOf } from '../store/copy.js';
import type { Session } from '../store/session.js';
import { identifier, listLiteral, literal, relationLabel } from '../store/sql.js';
import {
  dropNames,
  findNames,
  type MaskedColumn,
  type RedactText,
  saltOf,
  saltVariable,
  selectList,
  useSalt,
} from './masks.js';
import { columnsByName, type Policy } from './policy.js';

/** What a published file does not show, and the outcome of the views. */
export interface FileFacts {
  /** Its name, e.g. `signals.duckdb`. */
  readonly file: string;
  readonly profile: string;
  /** Schemas, tables and columns that it does not have. */
  readonly excluded: readonly string[];
  /** Columns whose values are masked, with the method: `people.primary_email: domain`. */
  readonly masked: readonly string[];
  /** Views that show a column that is left out as NULL. */
  readonly viewsAdapted: readonly string[];
  /** Views and macros that need something that is left out, and why. */
  readonly viewsLeftOut: readonly string[];
}

interface MaskedTable extends Table {
  /** As settings name it: `people`, `ops.requests`. */
  readonly label: string;
  /** Its columns in the file, none where it is left out. */
  readonly kept: readonly MaskedColumn[];
  /** The columns that are left out. */
  readonly dropped: Table['columns'];
}

/**
 * Makes the empty attached database `target` what a policy leaves of `source`: its tables and rows, and the views of `parts`.
 * Nothing that is masked is ever written to it. `source` is the live file, or a published one with everything in it.
 */
export async function writeMasked(
  session: Session,
  source: string,
  target: string,
  policy: Policy,
  { dataDir, ...parts }: ViewParts & { readonly dataDir: string },
): Promise<{ readonly tables: number } & Omit<FileFacts, 'file'>> {
  const { analysis, attributes } = parts;
  // The ids of the settings are as they are, and so fit no row whose ids are masked.
  const hasTeams = policy.methodOfKind('person_id') === undefined;
  const shown = {
    ...parts,
    analysis: analysis && { ...analysis, teams: hasTeams ? analysis.teams : {} },
    attributes: attributes && attributesShown(attributes, policy),
  };
  await session.run(`COPY FROM DATABASE ${identifier(source)} TO ${target} (SCHEMA)`);
  // What is not merged yet is in no snapshot.
  await session.run(`DROP SCHEMA IF EXISTS ${target}.appended CASCADE`);
  return inDatabase(session, target, async () => {
    await writeAttributes(session, shown.attributes);
    await createViews(session, shown);
    return fillMasked(session, source, target, policy, saltOf(dataDir), viewsOf(shown));
  });
}

/** Fills `target`, which has every table and view of a snapshot and no rows. `sources` are the statements of its views. */
async function fillMasked(
  session: Session,
  source: string,
  target: string,
  policy: Policy,
  salt: string,
  sources: readonly string[],
): Promise<{ readonly tables: number } & Omit<FileFacts, 'file'>> {
  const all = (await tablesOf(session, source)).filter(
    ({ schema }) => schema !== 'appended' && schema !== 'attributes',
  );
  await session.run(useSalt(salt, policy));
  try {
    const redact = await findNames(session, source, policy, all);
    const tables = all.map((table) => maskedTable(policy, table, redact));
    await removeExcluded(session, target, tables, policy);
    const { viewsExcluded, ...views } = await fitViews(session, definitionsIn(sources), tables, policy);
    const filled = tables.filter(({ kept }) => kept.length > 0);
    const selects = new Map(filled.map((table) => [table, table.kept.map(({ expression }) => expression)]));
    // The order of the rows would join them to those of another file.
    await copyTables(session, source, target, selects, { sorted: policy.profile === 'strict' });
    const excluded = tables.flatMap(({ schema, label, kept, dropped }) =>
      kept.length === 0
        ? [policy.excludesRelation(schema) ? schema : label]
        : dropped.map(({ name }) => `${label}.${name}`),
    );
    const masked = filled.flatMap(({ label, kept }) =>
      kept.flatMap(({ name, isMasked }) =>
        isMasked ? [`${label}.${name}: ${policy.methodOf(label, name) ?? 'by row'}`] : [],
      ),
    );
    return {
      tables: filled.length,
      profile: policy.profile,
      masked,
      ...views,
      excluded: [...new Set(excluded), ...viewsExcluded],
    };
  } finally {
    // Fails when an error has invalidated the whole database.
    await session.run(`RESET VARIABLE ${saltVariable}`).catch(() => undefined);
    await dropNames(session).catch(() => undefined);
  }
}

function maskedTable(policy: Policy, table: Table, redact: RedactText | undefined): MaskedTable {
  const label = relationLabel(table.schema, table.table);
  const kept = selectList(policy, label, table.columns, redact) ?? [];
  const names = new Set(kept.map(({ name }) => name));
  return { ...table, label, kept, dropped: table.columns.filter(({ name }) => !names.has(name)) };
}

/** A view or table macro of a snapshot. */
interface Definition {
  readonly name: string;
  readonly kind: 'VIEW' | 'MACRO TABLE';
  /** What stands between its name and its query: the parameters of a macro. */
  readonly head: string;
  readonly query: string;
  /** A query that fails when it does not fit the tables. */
  readonly probe: string;
}

/** The macro of the raw schema that views use; a masked file has it in the schema main. */
const moment = 'raw.moment';

/** Removes what a policy leaves out from an empty copy of a snapshot, whose views then may not fit. */
async function removeExcluded(
  session: Session,
  target: string,
  tables: readonly MaskedTable[],
  policy: Policy,
): Promise<void> {
  const [macro] = await session.all<{ parameter: string; definition: string }>(
    `SELECT parameters[1] AS parameter, macro_definition AS definition FROM duckdb_functions()
      WHERE database_name = $1 AND schema_name = 'raw' AND function_name = 'moment'`,
    [target],
  );
  for (const { kept, dropped, ...table } of tables) {
    const name = named(target, table);
    if (kept.length === 0) await session.run(`DROP TABLE ${name}`);
    else
      for (const one of dropped) await session.run(`ALTER TABLE ${name} DROP COLUMN ${identifier(one.name)}`);
  }
  await session.run(`DROP SCHEMA ${target}.raw CASCADE`);
  if (policy.excludesRelation('ops')) await session.run(`DROP SCHEMA ${target}.ops CASCADE`);
  if (macro) await session.run(`CREATE MACRO moment(${identifier(macro.parameter)}) AS ${macro.definition}`);
}

/** The outcome of the views. */
interface FittedViews extends Pick<FileFacts, 'viewsAdapted' | 'viewsLeftOut'> {
  readonly viewsExcluded: readonly string[];
}

/** Adapts every view to the tables that are left, or removes it. */
async function fitViews(
  session: Session,
  definitions: readonly Definition[],
  tables: readonly MaskedTable[],
  policy: Policy,
): Promise<FittedViews> {
  const viewsAdapted: string[] = [];
  const drop = ({ kind, name }: Definition) => session.run(`DROP ${kind} ${identifier(name)}`);
  const excluded = definitions.filter(({ name }) => policy.excludesRelation(name));
  for (const one of excluded) await drop(one);
  const viewsExcluded = excluded.map(({ name }) => name);
  let pending = definitions.flatMap((one) => (excluded.includes(one) ? [] : { one, reason: '' }));
  // A view that reads others fits when these do: they are in no particular order.
  for (let before = -1; pending.length !== before; ) {
    before = pending.length;
    const failed: typeof pending = [];
    for (const { one } of pending) {
      const reason = await adapt(session, one, tables);
      if (reason === 'adapted') viewsAdapted.push(one.name);
      else if (reason !== 'fits') failed.push({ one, reason });
    }
    pending = failed;
  }
  for (const { one } of pending) await drop(one);
  const missing = [
    ...tables.flatMap(({ label, kept, dropped }) =>
      kept.length === 0 ? [label] : dropped.map(({ name }) => name),
    ),
    ...viewsExcluded,
    ...pending.map(({ one }) => one.name),
  ];
  const viewsLeftOut = pending.map(({ one, reason }) => {
    const needed = missing.filter(
      (name) =>
        name !== one.name && new RegExp(`(?<![\\w.])${name.replace('.', '\\.')}(?!\\w)`).test(one.query),
    );
    return `${one.name}: ${needed.length > 0 ? `needs ${needed.join(', ')}` : reason}`;
  });
  return { viewsAdapted, viewsLeftOut, viewsExcluded };
}

/** Makes a view fit the tables that are left; returns why it does not, where that is not possible. */
async function adapt(
  session: Session,
  one: Definition,
  tables: readonly MaskedTable[],
): Promise<'fits' | 'adapted' | string> {
  const query = one.query.replaceAll(`${moment}(`, 'moment(');
  const plain =
    query === one.query ? await misfit(() => session.run(one.probe)) : await replaced(session, one, query);
  if (plain === undefined) return 'fits';
  const adapted = withNulls(query, tables);
  if (adapted === query) return plain;
  return (await replaced(session, one, adapted)) === undefined ? 'adapted' : plain;
}

/** Runs `work`; returns the error of a view that does not fit the tables. */
async function misfit(work: () => Promise<unknown>): Promise<string | undefined> {
  return (await problemOf(work))?.replace(/^[A-Z]\w+ Error: /, '');
}

/** Replaces the query of a view, if it then works; returns the error. */
async function replaced(session: Session, one: Definition, query: string): Promise<string | undefined> {
  const comments = await session.all<{ what: string; comment: string }>(
    `SELECT format('COLUMN {}."{}"', $1, column_name) AS what, comment FROM duckdb_columns()
      WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1 AND comment IS NOT NULL
     UNION ALL
     SELECT format('VIEW {}', $1), comment FROM duckdb_views()
      WHERE database_name = current_database() AND schema_name = 'main' AND view_name = $1 AND comment IS NOT NULL
     UNION ALL
     SELECT format('MACRO TABLE {}', $1), comment FROM duckdb_functions()
      WHERE database_name = current_database() AND schema_name = 'main' AND function_name = $1 AND comment IS NOT NULL`,
    [one.name],
  );
  const name = identifier(one.name);
  const what = one.kind === 'VIEW' ? `VIEW ${name} AS` : `MACRO ${name}${one.head} AS TABLE`;
  const statements = [
    `CREATE OR REPLACE ${what} ${query}`,
    ...comments.map(({ what, comment }) => `COMMENT ON ${what} IS ${literal(comment)}`),
    one.probe,
  ];
  return misfit(() =>
    session.transaction(async (tx) => {
      for (const statement of statements) await tx.run(statement);
    }),
  );
}

/**
 * The query with tables that have the columns that are left out, as NULL. Only names and texts: what views show and do not
 * count, so that every number stays right. When the last sync ran, and what it left, is shown as unknown too, because all
 * views that count back from data_as_of depend on it.
 */
function withNulls(query: string, tables: readonly MaskedTable[]): string {
  const shadows = tables.flatMap(({ schema, table, label, kept, dropped }) => {
    const shown = dropped.filter(({ name }) => {
      const ofClass = columnsByName().get(`${label}.${name}`)?.class;
      return (ofClass === 'personal' || ofClass === 'content') && query.includes(name);
    });
    if (schema !== 'main' || kept.length === 0 || shown.length === 0) return [];
    const nulls = shown.map(({ name, type }) => `CAST(NULL AS ${type}) AS ${identifier(name)}`);
    return [`${identifier(table)} AS (SELECT *, ${nulls.join(', ')} FROM main.${identifier(table)})`];
  });
  const hasRuns = tables.some(({ label, kept }) => label === 'ops.runs' && kept.length > 0);
  const runs = /\(SELECT [^\n]* FROM ops\.runs WHERE command = 'sync'\)/g;
  const unknown = (found: string) =>
    `CAST(NULL AS ${found.includes('started_at') ? 'TIMESTAMPTZ' : 'BIGINT'})`;
  const bare = hasRuns ? query : query.replace(runs, unknown);
  if (shadows.length === 0) return bare;
  const [, recursive = '', ctes] = /^WITH\s+(RECURSIVE\s+)?(.*)$/s.exec(bare) ?? [];
  return ctes === undefined
    ? `WITH ${shadows.join(', ')} ${bare}`
    : `WITH ${recursive}${shadows.join(', ')}, ${ctes}`;
}

/**
 * The views and table macros, in the order of their files. Their text comes from there: what DuckDB makes of it in
 * duckdb_views() does not always mean the same (`CROSS JOIN` becomes a comma, which binds less than a JOIN behind it).
 */
function definitionsIn(sources: readonly string[]): Definition[] {
  return sources.flatMap(statementsIn).flatMap((statement): Definition[] => {
    const [, kind, name = '', head = '', rest = ''] =
      /^(?:\s|--[^\n]*\n)*CREATE OR REPLACE (VIEW|MACRO) (\w+)(\([^)]*\))? AS(.*)$/s.exec(statement) ?? [];
    const query = rest.replace(/^(?:\s|TABLE\b|--[^\n]*\n)*/, '').replace(/;\s*$/, '');
    const read = `SELECT * FROM ${identifier(name)}`;
    if (kind === 'VIEW') return [{ name, kind, head, query, probe: `${read} LIMIT 0` }];
    if (kind === undefined) return [];
    const values = head.split(',').map(() => 'NULL');
    return [{ name, kind: 'MACRO TABLE', head, query, probe: `${read}(${values.join(', ')}) LIMIT 0` }];
  });
}

/** Creates the view ops.published_files in the database that is in use. */
export async function listFiles(session: Session, files: readonly FileFacts[]): Promise<void> {
  const rows = files.map(({ file, profile, excluded, masked, viewsAdapted, viewsLeftOut }) => [
    ...[file, profile].map(literal),
    ...[excluded, masked, viewsAdapted, viewsLeftOut].map((texts) => `${listLiteral(texts)}::VARCHAR[]`),
  ]);
  await createList(session, listed, rows);
}

const listed = {
  view: 'ops.published_files',
  comment: 'What do the published files leave out and mask? One row per file.',
  columns: {
    file: 'The file in the data directory.',
    profile:
      'Its profile: none, analysts or strict. With any of them, people are pseudonymous and not anonymous: other data about the same people can tell who they are.',
    excluded: 'Schemas, tables and columns that it does not have.',
    masked: 'Columns whose values are masked, with the method.',
    views_adapted: 'Views that show a column that is left out as NULL.',
    views_left_out: 'Views that need something that is left out, and why.',
  },
};
