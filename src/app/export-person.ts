import { resolve } from 'node:path';
import { iso, systemClock } from '../base/clock.js';
import { ExitCode } from '../base/errors.js';
import type { PersonData } from '../privacy/person-data.js';
import { refuseExisting, writeSheetFile } from '../sheet/write.js';
import { recordExport, refuseUnrecorded } from './audit.js';
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
  /** The file; null where nothing is held. */
  readonly out: string | null;
  readonly exitCode: ExitCode;
}

/** What is in the file. */
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
 * Writes a JSON file that this user alone can read. It reads the live file, as `forget` does, so that it shows what that would
 * remove now; the export is recorded in the audit. Throws UsageError where the file exists and `force` is not set.
 */
export async function exportPerson(
  setup: Setup,
  who: string,
  { out, force, ...options }: WorkerOptions & { readonly out: string; readonly force: boolean },
): Promise<PersonReport> {
  const { config, log, clock = systemClock } = setup;
  const path = resolve(out);
  refuseExisting(path, { overwrite: force });
  refuseUnrecorded(setup);
  const report = { who, ids: [], held: {}, leftOut: [], out: null };
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
      who,
      organization: (await warehouse.organization())?.name ?? null,
      madeAt: iso(clock.now()),
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
    await writeSheetFile(path, { overwrite: force }, (target) =>
      target.writeFile(`${JSON.stringify(file, null, 2)}\n`),
    );
    const rows = Object.values(data.tables).reduce((sum, { length }) => sum + length, 0);
    recordExport(setup, { tables: [...tables].sort(), format: 'person', rows, file: path });
    return {
      outcome: 'written',
      who,
      ids: data.ids,
      held: data.held,
      leftOut: data.leftOut,
      out: path,
      exitCode: ExitCode.done,
    };
  });
}
