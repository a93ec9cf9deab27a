import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/schema.js';
import { makeOnce, viewDrops } from '../store/made.js';
import type { Session } from '../store/session.js';
import { literal } from '../store/sql.js';
import { type FileAttributes, withAttributes } from './attributes.js';
import { schemaSql } from './ddl.js';
import type { Models } from './models.js';

/** Where the views are, and what they take from the settings. */
export interface ViewParts {
  readonly viewsDir: string;
  /** The defaults of the views when absent. */
  readonly analysis: Analysis | undefined;
  /** What a file of the data directory says of companies. */
  readonly attributes?: FileAttributes | undefined;
}

/** What they are made of beside the tables. */
interface LiveParts extends ViewParts {
  readonly models: Models;
}

/** The settings of analysis, which some views show. */
export type Analysis = Settings['analysis'];

/**
 * Makes the views of the live file, which is in use, those of this program and its settings: publications copy them with
 * the tables. They are made again only where their text or that of the tables differs, because the 360 statements take 0.3 s
 * of CPU.
 */
export async function makeViews(session: Session, parts: LiveParts): Promise<void> {
  await makeOnce(session, 'views', schemaOf(parts), async () => {
    const drops = await viewDrops(session);
    await session.transaction((tx) => tx.run([...drops, ...viewsOf(parts)].join(';\n')));
    // A log with other views may not be read again after a kill.
    await session.run('CHECKPOINT');
  });
}

/** Creates the views in the database that is in use, which has every table, in place of those that it has. */
export async function createViews(session: Session, parts: ViewParts): Promise<void> {
  // In one transaction: with one for each of the 360 statements, DuckDB wrote the log to disk each time, for twice the CPU
  // time and 1 to 2 s instead of 0.3 s.
  await session.transaction((tx) => tx.run(viewsOf(parts).join(';\n')));
}

/**
 * Creates a view of ops, in the database that is in use, that lists the files of a publication: `columns` are the comments
 * of its columns, `rows` their values as SQL.
 */
export async function createList(
  session: Session,
  { view, comment, columns }: { view: string; comment: string; columns: Readonly<Record<string, string>> },
  rows: readonly (readonly string[])[],
): Promise<void> {
  const values = rows.map((row) => `(${row.join(', ')})`);
  const comments = Object.entries(columns).map(
    ([column, text]) => `COMMENT ON COLUMN ${view}.${column} IS ${literal(text)}`,
  );
  await session.run(`
    CREATE VIEW ${view} AS
      SELECT * FROM (VALUES ${values.join(', ')}) AS files (${Object.keys(columns).join(', ')});
    COMMENT ON VIEW ${view} IS ${literal(comment)};
    ${comments.join('; ')}`);
}

/** What makes the tables and views of a snapshot. */
export function schemaOf(parts: LiveParts): string[] {
  return [...schemaSql(parts.models, join(parts.viewsDir, '..')), ...viewsOf(parts)];
}

/** The statements that create the views and their comments, by file. */
export function viewsOf({ viewsDir, analysis, attributes }: ViewParts): string[] {
  return filesIn(viewsDir).map((path) => {
    const [, name = ''] = /_([a-z_]+)\.sql$/.exec(path) ?? [];
    const sql = textOf(path);
    if (attributes && Object.hasOwn(withAttributes, name))
      return withAttributes[name as keyof typeof withAttributes](sql, attributes);
    return analysis && isOfSettings(name) ? ofSettings[name](sql, analysis) : sql;
  });
}

function filesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.sql')) : [];
  return names.sort().map((name) => join(folder, name));
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The views that show settings, and how. Their files are SQL as it stands, with the defaults. */
export const ofSettings = {
  business_hours: (sql: string, { businessHours }: Analysis) => withBusinessHours(sql, businessHours),
  service_levels: (sql: string, { serviceLevels }: Analysis) =>
    withRows(
      sql,
      serviceLevels.map(({ name, vip, priority, firstReplyHours, nextReplyHours }, index) => ({
        position: String(index + 1),
        name: literal(name),
        is_vip: vip === undefined ? 'NULL' : String(vip),
        topic_priorities: priority ? `[${priority.map(literal).join(', ')}]` : 'NULL',
        first_reply_hours: String(firstReplyHours ?? 'NULL'),
        next_reply_hours: String(nextReplyHours ?? 'NULL'),
      })),
    ),
  teams: (sql: string, { teams }: Analysis) =>
    withRows(
      sql,
      Object.entries(teams).flatMap(([team, ids], index) =>
        ids.map((id) => ({ position: String(index + 1), team: literal(team), person_id: literal(id) })),
      ),
    ),
};

/** Whether a view shows settings: it reads no table. */
function isOfSettings(view: string): view is keyof typeof ofSettings {
  return Object.hasOwn(ofSettings, view);
}

/** The view with these rows in the place of its empty list. */
function withRows(sql: string, rows: readonly Readonly<Record<string, string>>[]): string {
  if (!sql.includes('[]::STRUCT')) throw new Error('the view of a list of settings has no empty list');
  const listed = rows.map(
    (row) =>
      `{${Object.entries(row)
        .map(([name, value]) => `'${name}': ${value}`)
        .join(', ')}}`,
  );
  return sql.replace('[]::STRUCT', () => `[${listed.join(', ')}]::STRUCT`);
}

const week = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** The view with other hours than the default ones. */
function withBusinessHours(
  sql: string,
  { timezone, days, opens, closes }: Analysis['businessHours'],
): string {
  const numbers = [...new Set(days)].map((day) => 1 + week.indexOf(day)).sort();
  const values = {
    timezone: literal(timezone),
    days: `[${numbers.join(', ')}]`,
    opens: `TIME ${literal(opens)}`,
    closes: `TIME ${literal(closes)}`,
  };
  return Object.entries(values).reduce((text, [name, value]) => {
    const column = new RegExp(`^  .* AS ${name}(?=[,;]$)`, 'm');
    if (!column.test(text)) throw new Error(`the view of the business hours has no line for ${name}`);
    return text.replace(column, () => `  ${value} AS ${name}`);
  }, sql);
}
