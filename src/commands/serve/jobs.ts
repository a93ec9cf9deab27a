import { join } from 'node:path';
import type { Api } from '../../api/client.js';
import { makeFolder } from '../../base/atomic-file.js';
import { ExitCode } from '../../base/errors.js';
import { leftDue } from '../../base/facts.js';
import type { ProgressDisplay } from '../../base/observer.js';
import { type RunSignals, Stop } from '../../base/stop.js';
import { bytes, count, counted, duration } from '../../base/units.js';
import type { ServeConfig } from '../../config/load.js';
import type { PushReport } from '../../push/run.js';
import { afterFailures, type Followed } from '../../run/after-publication.js';
import { LoggedProgress, speedOf } from '../../run/progress.js';
import type { Metrics } from '../../serve/http/metrics.js';
import type { Job } from '../../serve/schedule/job.js';
import type { JobResult } from '../../serve/schedule/record.js';
import type { RunContext, RunJob } from '../../serve/schedule/scheduler.js';
import type { SyncReport } from '../../sync/report.js';
import { exportEverything } from '../export.js';
import { lakeText, publishLake } from '../lake.js';
import { pushChanges } from '../push.js';
import type { Access } from '../setup.js';
import { pullAll, pushAndPull, type SyncPushReport } from '../sync.js';
import { hasWarehouse } from '../worker.js';
import { sendDigest } from './digest.js';

/**
 * How long a run waits for an API that does not answer: a restart of the API. After that it ends, so that it holds up no other
 * organization, and is tried again (`retryPauseMs`).
 */
const outageMinutes = 1;

/** Receives the row counts of runs, for metrics. */
type RowsSink = Pick<Metrics, 'rows'>;

/**
 * Makes the function that runs a job and describes its result in one line. A job holds the warehouse only while it runs;
 * when another command holds it, the job waits, and the log names that command.
 */
export function jobRunner(
  access: Access & Pick<ServeConfig, 'readSecrets'>,
  sink: RowsSink,
  giveUp: AbortSignal,
): RunJob {
  const { log } = access;
  const { tuning } = access.config;
  return async (job, context) => {
    const signals = { stop: context.stop, kill: AbortSignal.any([context.kill, giveUp]) };
    const { maxRequests, maxMinutes } = job;
    const observe = (api: Api) => observed(context, new LoggedProgress(log, speedOf(api)));
    // With `serve --once`, nothing would try again.
    const maxOutageMinutes =
      context.trigger === 'once' ? undefined : (tuning.jobOutageMinutes ?? outageMinutes);
    const options = { maxRequests, maxMinutes, maxOutageMinutes, ...signals, wait: true, observe };
    switch (job.run) {
      case 'sync':
        return pulledResult(await pullAll(access, options), sink);
      case 'push':
        if (!hasWarehouse(access.config.dataDir))
          return doneWith('there is no warehouse yet, so nothing is queued');
        return pushedResult(await pushChanges(access, options));
      case 'sync+push':
        return bothResult(await pushAndPull(access, options), sink);
      case 'export':
        return exportTo(access, job, signals);
      case 'digest':
        return sendDigest(access, job, AbortSignal.any([signals.stop, signals.kill]));
      case 'lake':
        // With the secrets as they are now: keys of an object store are replaced often.
        return doneWith(lakeText(await publishLake({ ...access, lake: access.readSecrets().lake }, signals)));
    }
  };
}

function doneWith(message: string): JobResult {
  return { outcome: 'done', exitCode: ExitCode.done, message };
}

function bothResult(report: Followed<SyncPushReport>, sink: RowsSink): JobResult {
  const pulled = pulledResult(report, sink);
  const pushed: JobResult = report.push
    ? pushedResult(report.push)
    : { outcome: 'failed', exitCode: ExitCode.failed, message: report.pushFailure ?? 'failed' };
  // The worst of both; the files of the drop folder may make it incomplete as well.
  const outcomes = [pulled.outcome, pushed.outcome];
  if (report.exitCode === ExitCode.incomplete) outcomes.push('incomplete');
  const worst = (['failed', 'incomplete', 'stopped'] as const).find((one) => outcomes.includes(one));
  return {
    outcome: worst ?? 'done',
    exitCode: report.exitCode,
    runIds: [...(pushed.runIds ?? []), ...(pulled.runIds ?? [])],
    endedByOutage: pulled.endedByOutage || pushed.endedByOutage,
    message: `push: ${pushed.message}${droppedText(report.inbox)}; sync: ${pulled.message}`,
  };
}

/** How many files the drop folder had, and with how many something is wrong. */
function droppedText(files: SyncPushReport['inbox']): string {
  if (files.length === 0) return '';
  const wrong = (['rejected', 'failed'] as const).flatMap((outcome) => {
    const number = files.filter((file) => file.outcome === outcome).length;
    return number > 0 ? [`${number} ${outcome}`] : [];
  });
  const counts = wrong.length > 0 ? ` (${wrong.join(', ')})` : '';
  return `, ${counted(files.length, 'file')} from the drop folder${counts}`;
}

async function exportTo(access: Access, job: Job, signals: RunSignals): Promise<JobResult> {
  const dir = join(access.config.dataDir, 'reports', job.name);
  const stop = new Stop({ stop: signals.stop, maxMinutes: job.maxMinutes });
  try {
    makeFolder(dir);
    const files = await exportEverything(access, dir, true, AbortSignal.any([stop.signal, signals.kill]));
    const size = files.reduce((sum, one) => sum + one.bytes, 0);
    return doneWith(`${counted(files.length, 'table')}, ${bytes(size)}: ${dir}`);
  } finally {
    stop.release();
  }
}

function pulledResult(report: Followed<SyncReport>, sink: RowsSink): JobResult {
  for (const [table, counts] of Object.entries(report.rows)) sink.rows(table, counts);
  return resultOf(report, pulledText(report) + afterFailures(report));
}

function pushedResult(report: PushReport & Partial<Followed<object>>): JobResult {
  return resultOf(report, pushedText(report) + afterFailures(report));
}

type Report = Pick<SyncReport | PushReport, 'runId' | 'outcome' | 'exitCode' | 'stoppedBy' | 'endedByOutage'>;

function resultOf({ runId, outcome, exitCode, stoppedBy, endedByOutage }: Report, text: string): JobResult {
  // A run may stop at its cap and be incomplete as well: then the latter counts.
  const effective = outcome === 'stopped' && exitCode === ExitCode.incomplete ? 'incomplete' : outcome;
  const why = stoppedBy === null ? '' : `stopped (${stoppedBy}); `;
  return { outcome: effective, exitCode, message: why + text, runIds: [runId], endedByOutage };
}

function pulledText(report: SyncReport): string {
  const { requests, rows, rejected, failures, scans, left } = report;
  const due = `${count(left.due)} (about ${duration(left.minutes * 60_000)})`;
  const total = (kind: 'new' | 'changed' | 'removed') =>
    Object.values(rows).reduce((sum, one) => sum + one[kind], 0);
  const parts = [
    counted(requests.total, 'request'),
    `${count(total('new'))} new, ${count(total('changed'))} changed and ${count(total('removed'))} removed rows`,
    `left due: ${leftDue(left, due)}`,
  ];
  if (left.runs !== null && left.runs > 0)
    parts.push(`about ${counted(left.runs, 'more run', 'more runs')} like this one`);
  parts.push(...outagePart(report));
  if (rejected.new > 0) parts.push(`${counted(rejected.new, 'record')} newly rejected`);
  const fused = scans.filter((scan) => scan.fused).map(({ endpoint }) => endpoint);
  if (fused.length > 0) parts.push(`deletions of ${fused.join(', ')} are held back`);
  const [first] = failures;
  if (first) parts.push(`${counted(failures.length, 'failure')}, e.g. ${first.endpoint}: ${first.message}`);
  return parts.join(', ');
}

function outagePart({ unavailableMinutes }: Pick<SyncReport, 'unavailableMinutes'>): string[] {
  return unavailableMinutes > 0
    ? [`the API was unavailable for ${duration(unavailableMinutes * 60_000)}`]
    : [];
}

function pushedText(report: PushReport): string {
  const { applied, unchanged, conflict, failed, left } = report;
  const parts = [`${count(applied)} applied`];
  if (unchanged > 0) parts.push(`${count(unchanged)} already up to date`);
  if (conflict > 0) parts.push(counted(conflict, 'conflict'));
  if (failed.total > 0) parts.push(`${count(failed.total)} failed`);
  const waiting = left.queued + left.sending;
  if (waiting > 0) parts.push(`${count(waiting)} still queued`);
  parts.push(...outagePart(report));
  return parts.join(', ');
}

/** Shows progress and outages in the log, and in the schedule as well. */
function observed(context: RunContext, logged: ProgressDisplay): ProgressDisplay {
  let phase = '';
  return {
    phase(name, total) {
      phase = name;
      context.progress({ phase, done: 0, total });
      logged.phase(name, total);
    },
    progress(done, total) {
      context.progress({ phase, done, total });
      logged.progress(done, total);
    },
    phaseEnd: (result) => logged.phaseEnd(result),
    note: (text) => logged.note(text),
    unavailable(outage) {
      context.outage(outage);
      logged.unavailable(outage);
    },
    outageEnd(end) {
      // The schedule goes on from an outage that ends the run.
      if (end.isAnswered) context.outage(null);
      logged.outageEnd(end);
    },
    close: () => logged.close(),
  };
}
