import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../base/errors.js';
import { dropViews } from './made.js';
import type { Session, Statements } from './session.js';
import { sqlDir } from './sql.js';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

/** The migrations of a folder in order. Raises when two have the same number, or when a number is missing. */
export function readMigrations(folder: string = join(sqlDir, 'migrations')): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => /^\d{4}_.+\.sql$/.test(name))
    .sort();
  return names.map((name, index) => {
    const version = Number(name.slice(0, 4));
    if (version !== index + 1) throw new Error(`migration ${name} should have number ${index + 1}`);
    const sql = readFileSync(join(folder, name), 'utf8');
    return { version, name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
  });
}

/** The migrations to apply. Raises StorageError when the tables are newer than this program or were made differently. */
export async function pendingMigrations(
  statements: Pick<Statements, 'all'>,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const exists = await statements.all(
    "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'ops' AND table_name = 'migrations' AND database_name = current_database()",
  );
  if (exists.length === 0) return [...migrations];
  const applied = await statements.all<{ version: number; name: string; checksum: string }>(
    'SELECT version, name, checksum FROM ops.migrations WHERE version IS NOT NULL ORDER BY version',
  );
  for (const { version, name, checksum } of applied) {
    const ours = migrations.find((migration) => migration.version === version);
    if (!ours) {
      throw new StorageError(`the warehouse was written by a newer program: it has migration ${name}`, {
        hint: 'Run the newer version of signalhouse. To go back to this version, restore the signals.duckdb that was saved before the upgrade (docs/operations.md, Go back).',
      });
    }
    if (ours.checksum !== checksum) {
      throw new StorageError(`migration ${name} differs from the one that this warehouse was made with`, {
        hint: 'Run the version of signalhouse that made the warehouse. One of before the first release cannot be upgraded: start with an empty data directory.',
      });
    }
  }
  const done = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !done.has(version));
}

/** Raises StorageError for a file that is only read and that another version of this program made. */
export async function refuseOtherVersion(statements: Pick<Statements, 'all'>): Promise<void> {
  const pending = await pendingMigrations(statements, readMigrations());
  if (pending.length > 0) throw ofOtherVersion(pending.map(({ name }) => name));
}

/** What is said of a file that lacks these migrations or tables. */
export function ofOtherVersion(missing: readonly string[]): StorageError {
  return new StorageError(
    `the warehouse was made by another version of the program, which has other tables: ${missing.join(', ')}`,
    { hint: 'Run signalhouse sync or signalhouse rebuild once; it brings the tables up to date.' },
  );
}

/**
 * Applies the migrations that are missing. Each migration is one transaction, which
 * records itself first and is followed by a checkpoint: kills between DDL and checkpoint have left databases that DuckDB
 * could not open again.
 *
 * A new file gets all of them, and what `makeTables` adds, in one transaction: a checkpoint for each took 0.4 s, in which no
 * request could leave. A kill before its checkpoint leaves a file without tables, or one whose log has them all; there are no data
 * yet that could be lost.
 */
export async function migrate(
  session: Session,
  migrations: readonly Migration[],
  makeTables: (tx: Statements) => Promise<void>,
): Promise<void> {
  const pending = await pendingMigrations(session, migrations);
  const [first] = pending;
  if (first === undefined) return;
  // A new table may have the name of a view; the next publication makes all of them again.
  const isNew = first.version === 1;
  if (!isNew) await dropViews(session);
  const steps = isNew ? [pending] : pending.map((migration) => [migration]);
  for (const step of steps) {
    await session.transaction(async (tx) => {
      for (const migration of step) await apply(tx, migration);
      if (isNew) await makeTables(tx);
    });
    await session.run('CHECKPOINT');
  }
}

async function apply(tx: Statements, { version, name, checksum, sql }: Migration): Promise<void> {
  await tx.run('CREATE SCHEMA IF NOT EXISTS ops');
  await tx.run(
    'CREATE TABLE IF NOT EXISTS ops.migrations (version INTEGER, name VARCHAR, checksum VARCHAR, applied_at TIMESTAMPTZ)',
  );
  await tx.run('INSERT INTO ops.migrations VALUES ($1, $2, $3, now())', [version, name, checksum]);
  await tx.run(sql);
}
