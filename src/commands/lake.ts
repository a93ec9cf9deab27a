import { existsSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { ExitCode, LakeError, LockedError, SignalhouseError, UsageError } from '../base/errors.js';
import { runTask } from '../base/processes.js';
import type { RunSignals, Signals } from '../base/stop.js';
import { count, counted, duration } from '../base/units.js';
import { confirmed } from '../cli/output.js';
import { interruptible } from '../cli/signals.js';
import type { LakeNote } from '../lake/open.js';
import type { LakeCommands, LakeTask } from '../lake/process.js';
import type { LakeStatus } from '../lake/publications.js';
import type { LakeReport, TableChanges } from '../lake/publish.js';
import type { LakeDropped } from '../lake/remove.js';
import { lakePlace } from '../lake/settings.js';
import { forgottenJournalPath } from '../privacy/records.js';
import { withFullSnapshot } from '../read/snapshot.js';
import { limitsOf } from '../store/memory.js';
import type { SyncReport } from '../sync/report.js';
import { sections, table } from '../view/text.js';
import { type Context, command, toggle } from './command.js';
import { type LakeAccess, setUpLake } from './setup.js';
import { withWarehouse } from './worker.js';

/** Seconds that a commit may take after the first signal. */
const shutdownSeconds = 60;

/** Sets up a command of the lake: the first signal rolls back what is not committed, the second ends the process that writes. */
async function onLake<T>(
  context: Context,
  work: (access: LakeAccess, signals: RunSignals) => Promise<T>,
): Promise<T> {
  const access = await setUpLake(context);
  return interruptible(access, shutdownSeconds, (signals) => work(access, signals));
}

export const init = command({
  examples: [['signalhouse lake init', 'Also checks the settings and the login at the catalog']],
  input: {},
  run: (_input, context) => onLake(context, (access, signals) => runOnLake(access, 'init', signals)),
  show: lakeReportText,
});

export const publish = command({
  examples: [
    ['signalhouse lake publish', 'Tables and views that differ'],
    ['signalhouse lake publish --json', 'Rows by table, as JSON'],
  ],
  input: {},
  run: (_input, context) => onLake(context, publishLake),
  show: lakeReportText,
});

export const status = command({
  examples: [
    ['signalhouse lake status', 'Rows and the last publication'],
    ['signalhouse lake status --json | jq .behind', 'Whether it is behind'],
  ],
  input: {},
  run: (_input, context) => onLake(context, (access, signals) => runOnLake(access, 'status', signals)),
  show: lakeStatusText,
});

export const drop = command({
  examples: [
    ['signalhouse lake drop', 'Asks before'],
    ['signalhouse lake drop --yes --json', 'Skips the question, for scripts'],
  ],
  input: { yes: toggle.describe('Skip confirmation (required when non-interactive)') },
  run: ({ yes }, context) =>
    onLake(context, async (access, signals) => {
      const what = `the tables of this organization from the lake at ${access.config.lake.catalog}`;
      const hint = 'Nothing was removed. Pass --yes to go ahead without a question.';
      if (!yes && !(await confirmed(context, `remove ${what}`, `Remove ${what}?`, hint))) return null;
      return runOnLake(access, 'drop', signals);
    }),
  show: (dropped) => (dropped === null ? 'Nothing was removed.' : lakeDroppedText(dropped)),
});

function lakeReportText(report: LakeReport): string {
  const { namespace, organization, changed, views, leftOut } = report;
  const rows = Object.entries(report.tables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { inserted, updated, deleted }]) => [name, inserted, updated, deleted]);
  const details = sections([
    ['Rows', rows.length > 0 ? table(['table', 'new#', 'changed#', 'deleted#'], rows) : null],
    ['Replaced views', views.join(', ')],
    ['Views left out', changed ? leftOut.join(', ') : null],
  ]);
  const who = organization.name ?? organization.id;
  const state = changed ? 'has everything of the published file' : 'was up to date';
  const what = report.publicationId === null ? 'is ready for the first publication' : state;
  return `${details}\n\n${namespace} (${who}) ${what}, after ${duration(report.seconds * 1000)}.`.trimStart();
}

function lakeStatusText(found: LakeStatus): string {
  const { namespace, organization, exists, lastPublication: last, behind, snapshot } = found;
  if (!exists) return `${namespace} has no tables yet. Run signalhouse lake publish.`;
  const rows = found.tables.map((one) => [one.table, one.rows ?? '(none)', one.snapshotRows ?? '(view)']);
  const numbers = sections([['Rows', table(['table', 'in the lake#', 'published file#'], rows)]]);
  const who = organization.name ?? organization.id;
  const published =
    last === null
      ? `${who} was not published to ${namespace} yet.`
      : `${who} was published to ${namespace} at ${last.publishedAt}, with run ${last.runId}.`;
  const state = behind
    ? `The lake is BEHIND the published file (run ${snapshot.runId}). Run signalhouse lake publish.`
    : 'The lake is up to date.';
  return `${numbers}\n\n${published}\n${state}`;
}

function lakeDroppedText({ namespace, organization, tables }: LakeDropped): string {
  const who = organization.name ?? organization.id;
  if (tables.length === 0) return `${namespace} has nothing of ${who}: nothing was removed.`;
  return `${counted(tables.length, 'table')} of ${who} dropped from ${namespace}.\nTheir files stay in the object store until you or the catalog's collector remove them (docs/lake.md, Maintenance).`;
}

export function lakeAfterSyncText({ report, failure, skipped }: LakeAfterSync): string {
  if (report) return lakeReportText(report);
  if (failure) {
    return `The lake is NOT published: ${failure.message}\n${failure.hint ?? ''}\nThe local warehouse is published. Once the lake works, run signalhouse lake publish.`;
  }
  return `The lake is not published: ${skipped ?? ''}.`;
}

/**
 * Runs one command of the lake in a process of its own, and returns its report. `stop` rolls back what is not committed yet;
 * `kill` ends the process at once, which the lake survives as well. Secrets are sent to it, and are neither in its
 * arguments nor its environment.
 */
function runOnLake<N extends keyof LakeCommands>(
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

/** `lake publish`, alone, after a sync, or as a job, with the rest of a request to forget. */
export async function publishLake(access: LakeAccess, signals: Signals): Promise<LakeReport> {
  const done = await runOnLake(access, 'publish', signals);
  await finishForgettingInLake(access, signals);
  return done;
}

/** Makes the lake equal to the published file; returns a sentence about what is left to do there. */
export async function forgetInLake(access: LakeAccess, signals: Signals): Promise<string> {
  const { namespace } = await runOnLake(access, 'publish', signals);
  return `Earlier snapshots of ${namespace} in the lake still have the rows: compact the tables (rewrite-all) and expire their snapshots with Spark, or with the catalog's own collector (docs/lake.md).`;
}

/**
 * After a publication: completes a request to forget that could not reach the lake then. A
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
  /** Why it failed. The local warehouse is published anyway. */
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
    return { ...report, lake: { ...none, report: await publishLake(access, signals) } };
  } catch (error) {
    if (!(error instanceof SignalhouseError)) throw error;
    access.log.warn(`the lake is not published: ${error.message}`);
    const exitCode = report.exitCode === ExitCode.done ? ExitCode.incomplete : report.exitCode;
    const failure = { message: error.message, hint: error.hint ?? null };
    return { ...report, exitCode, lake: { ...none, failure } };
  }
}

/** The result of a publication, in one line. */
export function lakeText({ namespace, tables, views, changed }: LakeReport): string {
  if (!changed) return `${namespace} is up to date`;
  const sum = (of: keyof TableChanges) =>
    count(Object.values(tables).reduce((total, one) => total + one[of], 0));
  return `${namespace}: ${sum('inserted')} new, ${sum('updated')} changed and ${sum('deleted')} deleted rows, ${count(views.length)} views replaced`;
}
