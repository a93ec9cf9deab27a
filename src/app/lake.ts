import { existsSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { ExitCode, LakeError, LockedError, SignalhouseError, UsageError } from '../base/errors.js';
import { runTask } from '../base/processes.js';
import { count } from '../base/units.js';
import type { LakeSecrets } from '../config/secrets.js';
import type { LakeNote } from '../lake/open.js';
import type { LakeCommands, LakeTask } from '../lake/process.js';
import type { LakeReport, TableChanges } from '../lake/publish.js';
import { lakePlace } from '../lake/settings.js';
import { forgottenJournalPath } from '../privacy/records.js';
import type { SyncReport } from '../sync/report.js';
import { recordRun } from './metrics-file.js';
import { limitsOf, type Setup, type Signals } from './setup.js';
import { withFullSnapshot } from './snapshot.js';
import { withWarehouse } from './worker.js';

/** The commands of the lake: settings in, a process that does the work, and its report. */

export type { LakeStatus } from '../lake/publications.js';
export type { LakeReport } from '../lake/publish.js';
export type { LakeDropped } from '../lake/remove.js';
export { lakeProblems } from '../lake/settings.js';

export interface LakeAccess extends Setup {
  readonly lake: LakeSecrets;
}

/**
 * Runs one command of the lake in a process of its own, and returns its report. `stop` rolls back what is not committed yet;
 * `kill` ends the process at once, which the lake survives as well. Secrets are sent to it, and stand neither in its
 * arguments nor its environment.
 */
export function runOnLake<N extends keyof LakeCommands>(
  { config, log, lake }: LakeAccess,
  command: N,
  { stop, kill }: Signals,
): Promise<Awaited<ReturnType<LakeCommands[N]>>> {
  const place = lakePlace(config.lake);
  if (place === null)
    throw new UsageError('no lake is set', [], { hint: 'Set lake.catalog and lake.warehouse.' });
  const { dataDir, memoryLimit, threads } = limitsOf(config);
  const task: LakeTask = {
    command,
    parts: {
      dataDir,
      place,
      secrets: lake,
      extensionDirectory: config.duckdb.extensionDirectory,
      analysis: config.analysis,
      limits: { memoryLimit, threads },
    },
  };
  return runTask<Awaited<ReturnType<LakeCommands[N]>>, LakeNote>('lake/process.js', task, {
    stop,
    kill,
    stderr: 'inherit',
    onNote: ({ level, text }) => log[level](text),
    ended: (how) =>
      new LakeError(`the process that writes the lake ${how} before it was done`, 'unknown', {
        hint: 'The lake has the publication whole or not at all: run signalhouse lake publish again. If it was ended for its memory, lower warehouse.memoryLimit or give it more.',
      }),
  });
}

/** `lake publish`, alone, after a sync, or as a job, with what a request to forget has left to do there. */
export async function publishLake(access: LakeAccess, signals: Signals): Promise<LakeReport> {
  const done = await runOnLake(access, 'publish', signals);
  await finishForgettingInLake(access, signals);
  return done;
}

/** Makes the lake equal to the published file; returns what is left to do there, as a sentence. */
export async function forgetInLake(access: LakeAccess, signals: Signals): Promise<string> {
  const { namespace } = await runOnLake(access, 'publish', signals);
  return `Earlier snapshots of ${namespace} in the lake still have the rows: compact the tables (rewrite-all) and expire their snapshots with Spark, or with the catalog's own collector (docs/lake.md).`;
}

/**
 * After a publication: does what a request to forget has left to do there, because the lake could not be reached then. A
 * warehouse that another process holds leaves it to the next publication.
 */
async function finishForgettingInLake(access: LakeAccess, signals: Signals): Promise<void> {
  const { config, log, clock = systemClock } = access;
  if (!existsSync(forgottenJournalPath(config.dataDir))) return;
  const [waiting] = await withFullSnapshot(access, (snapshot) =>
    snapshot.all(`SELECT 1 FROM ops.audit WHERE list_contains(pending, 'lake') LIMIT 1`),
  );
  if (!waiting) return;
  try {
    await withWarehouse(access, {}, async (warehouse) => {
      if (!(await warehouse.pendingSteps()).includes('lake')) return;
      log.warn(await forgetInLake(access, signals));
      await warehouse.completeStep('lake', new Date(clock.now()));
    });
  } catch (error) {
    if (!(error instanceof LockedError)) throw error;
    log.warn(
      'the lake still has what was forgotten: another process holds the warehouse. Run signalhouse lake publish again.',
    );
  }
}

/** The lake after a sync. One of the three is set. */
export interface LakeAfterSync {
  readonly report: LakeReport | null;
  /** Why it failed. The local warehouse is published all the same. */
  readonly failure: { readonly message: string; readonly hint: string | null } | null;
  /** Why nothing was tried. */
  readonly skipped: string | null;
}

/**
 * `sync --lake`: publishes to the lake what a sync has published. A failure leaves the sync as it is, and makes its exit code
 * 3 where it would be 0: the sync is done, and something did not go through.
 */
export async function publishAfterSync<R extends Pick<SyncReport, 'exitCode' | 'published'>>(
  access: LakeAccess,
  report: R,
  signals: Signals,
): Promise<R & { readonly lake: LakeAfterSync }> {
  const none = { report: null, failure: null, skipped: null };
  if (signals.stop?.aborted)
    return {
      ...report,
      lake: { ...none, skipped: 'the sync was stopped; the next publication includes it' },
    };
  if (report.published === null)
    return { ...report, lake: { ...none, skipped: 'the sync published nothing' } };
  try {
    const done = await publishLake(access, signals);
    await recordRun(access, 'lake', ExitCode.done);
    return { ...report, lake: { ...none, report: done } };
  } catch (error) {
    if (!(error instanceof SignalhouseError)) throw error;
    access.log.warn(`the lake is not published: ${error.message}`);
    await recordRun(access, 'lake', error.exitCode);
    const exitCode = report.exitCode === ExitCode.done ? ExitCode.incomplete : report.exitCode;
    const failure = { message: error.message, hint: error.hint ?? null };
    return { ...report, exitCode, lake: { ...none, failure } };
  }
}

/** What a publication did, in one line. */
export function lakeText({ namespace, tables, views, changed }: LakeReport): string {
  if (!changed) return `${namespace} is up to date`;
  const sum = (of: keyof TableChanges) =>
    count(Object.values(tables).reduce((total, one) => total + one[of], 0));
  return `${namespace}: ${sum('inserted')} new, ${sum('updated')} changed and ${sum('deleted')} deleted rows, ${count(views.length)} views replaced`;
}
