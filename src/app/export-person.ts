import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFolder, writeAtomicallySync } from '../base/atomic-file.js';
import { iso, systemClock } from '../base/clock.js';
import { ExitCode, UsageError } from '../base/errors.js';
import type { PersonData } from '../warehouse/forget/person-data.js';
import { recordExport } from './audit.js';
import { cleanFiles } from './forget-files.js';
import type { Setup } from './setup.js';
import { type WorkerOptions, withWarehouse } from './worker.js';

/** `signalhouse export --person`: everything that is held about one person, for a person who asks for it. */

export interface PersonReport {
  readonly outcome: 'written' | 'nothing_held';
  readonly who: string;
  readonly ids: readonly string[];
  /** Documents by kind and rows by other table, as `forget --dry-run` counts them. */
  readonly held: PersonData['held'];
  readonly leftOut: PersonData['leftOut'];
  /** The folder, and the files in it; null and none where nothing is held. */
  readonly out: string | null;
  readonly written: readonly string[];
  readonly exitCode: ExitCode;
}

/** What is in data.json. */
export interface PersonFile extends PersonData {
  readonly who: string;
  readonly organization: string | null;
  readonly madeAt: string;
  /** The meaning of each table, by its name. */
  readonly comments: Readonly<Record<string, string>>;
  /** Files of the data directory that have something of the person. */
  readonly files: readonly string[];
  /** Exports that may have had the person in them: what each wrote, not for whom. */
  readonly exports: readonly { readonly at: string; readonly details: unknown }[];
}

/**
 * Writes data.json into a folder that this user alone can read. It reads the live file, as `forget` does, so
 * that it shows what that would remove now; the export is recorded in the audit. Throws UsageError where the folder has
 * something and `force` is not set.
 */
export async function exportPerson(
  setup: Setup,
  who: string,
  { out, force, ...options }: WorkerOptions & { readonly out: string; readonly force: boolean },
): Promise<PersonReport> {
  const { config, log, clock = systemClock } = setup;
  const dir = resolve(out);
  if (!force && existsSync(dir) && readdirSync(dir).length > 0)
    throw new UsageError(`${dir} is not empty`, [], { hint: 'Name another folder, or pass --force.' });
  const report = { who, written: [], ids: [], held: {}, leftOut: [], out: null };
  return withWarehouse(setup, options, async (warehouse): Promise<PersonReport> => {
    const found = await warehouse.collectPerson(who);
    if (found === null) return { ...report, outcome: 'nothing_held', exitCode: ExitCode.failed };
    const { found: places, ...data } = found;
    const comments = await warehouse.all<{ name: string; comment: string }>(
      `SELECT if(schema_name = 'main', table_name, schema_name || '.' || table_name) AS name, comment FROM duckdb_tables()
        WHERE database_name = current_database() AND comment IS NOT NULL`,
    );
    const tables = new Set([...Object.keys(data.tables), ...Object.keys(data.held)]);
    const base = new Set(comments.map(({ name }) => name));
    const earlier = await warehouse.all<{ at: Date; details: string }>(
      'SELECT "at", details::VARCHAR AS details FROM ops.audit WHERE action = \'export\' ORDER BY "at"',
    );
    const file: PersonFile = {
      ...{ who, organization: (await warehouse.organization())?.name ?? null, madeAt: iso(clock.now()) },
      ...data,
      comments: Object.fromEntries(
        comments.flatMap(({ name, comment }) => (tables.has(name) ? [[name, comment]] : [])),
      ),
      files: await cleanFiles(config, places, log, { dryRun: true }),
      exports: earlier.flatMap(({ at, details }) => {
        const one = JSON.parse(details) as { tables?: readonly string[] } | null;
        // A view or a query may show any table.
        const isAbout = (one?.tables ?? []).some((name) => tables.has(name) || !base.has(name));
        return isAbout ? [{ at: at.toISOString(), details: one }] : [];
      }),
    };
    makeFolder(dir);
    chmodSync(dir, 0o700);
    writeAtomicallySync(join(dir, 'data.json'), `${JSON.stringify(file, null, 2)}\n`);
    const rows = Object.values(data.tables).reduce((sum, { length }) => sum + length, 0);
    recordExport(setup, { tables: [...tables].sort(), format: 'person', rows, file: dir });
    return {
      outcome: 'written',
      who,
      ids: data.ids,
      held: data.held,
      leftOut: data.leftOut,
      out: dir,
      written: ['data.json'],
      exitCode: ExitCode.done,
    };
  });
}
