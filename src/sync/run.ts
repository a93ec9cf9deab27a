import { minutesFor } from '../api/budget-time.js';
import { ExitCode, messageOf, RefusedError, SignalhouseError, StoppedError } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import type { Context } from './context.js';
import { fetchDetails } from './details.js';
import { countDue } from './due.js';
import { noteMissingFields } from './landing/expected.js';
import { Landing } from './landing/landing.js';
import { readLists } from './lists.js';
import { resolveMerges } from './merges.js';
import type { ScanReport, SyncOptions, SyncReport } from './report.js';
import { lists } from './resources.js';
import { landOrganization, type Running, type RunParts, running } from './running.js';
import { sweepReport } from './sweep-report.js';
import type { Tally } from './tally.js';

/**
 * Brings the warehouse in step: lists, what is missing from them, what is due of their children. Everything fetched
 * is committed and published however the run ends; the report says what was done, what went wrong and what is left.
 * Throws only what leaves nothing to report: a wrong option, or a warehouse that cannot be written.
 */
export async function runSync(
  parts: RunParts,
  options: SyncOptions,
  observer: RunObserver,
): Promise<SyncReport> {
  return running(parts, 'sync', options, observer, async (run) => {
    const work: Work = { scans: [], listsFailed: false };
    const ended = await fetchEverything(run, work).then(
      () => undefined,
      (error: unknown) => error,
    );
    return finish(run, options, work, ended);
  });
}

/** What is known of the lists, even when the run ends in the middle of them. */
interface Work {
  readonly scans: ScanReport[];
  listsFailed: boolean;
}

async function fetchEverything(run: Running, work: Work): Promise<void> {
  const { context, selection } = run;
  await landOrganization(run);
  work.listsFailed = await readLists(context, selection.lists, work.scans, { settles: true });
  await fetchDetails(context, selection.children);
  await resolveMerges(context);
}

/** How a run ended, and with which exit code. */
interface End {
  readonly outcome: SyncReport['outcome'];
  readonly exitCode: ExitCode;
  readonly stoppedBy: string | null;
}

async function finish(run: Running, options: SyncOptions, work: Work, ended: unknown): Promise<SyncReport> {
  const { parts, context, tally, runId, startedAt, selection } = run;
  // What is no error of ours, and what says that nothing can be written, has nothing to report.
  if (ended !== undefined && !(ended instanceof SignalhouseError)) throw ended;
  const landing = new Landing(new Date(parts.clock.now()));
  noteMissingFields(landing, context.schemaDrift);
  await context.batcher.add(landing);
  await context.batcher.flush();
  const end = endOf(context, work, tally, ended);
  if (ended && end.outcome === 'failed') {
    const failure = { endpoint: 'sync', entityId: null, message: messageOf(ended), hint: ended.hint ?? null };
    context.failures.push(failure);
  }
  if (context.shortHistories.size > 0) {
    context.notes.push(
      `${context.shortHistories.size} histories hold more records than the API shows of them`,
    );
  }
  const pages = work.scans.reduce((sum, scan) => sum + scan.pages, 0);
  const sweep = await sweepReport(context, selection.children, options, pages);
  if (sweep !== null) context.notes.push(sweep);
  const now = new Date(parts.clock.now());
  const left = await countDue(context.store, selection.children, parts.config, now);
  const leftRequests = left.reduce((sum, line) => sum + line.requests, 0);
  const report: SyncReport = {
    runId,
    ...end,
    organization: parts.identity.organization,
    requests: tally.requests,
    scans: work.scans,
    rows: tally.rows,
    rejected: tally.rejected,
    drift: tally.drift,
    failures: context.failures,
    left: {
      due: left.reduce((sum, line) => sum + line.due, 0),
      requests: leftRequests,
      minutes: minutesFor(leftRequests, parts.config),
      runs: end.outcome === 'stopped' ? runsFor(leftRequests, tally) : null,
    },
    notes: context.notes,
    published: null,
    startedAt: startedAt.toISOString(),
    minutes: (parts.clock.now() - startedAt.getTime()) / 60_000,
  };
  await parts.warehouse.finishRun(runId, {
    endedAt: now,
    outcome: report.outcome,
    exitCode: report.exitCode,
    requests: report.requests.total,
    rateLimited: report.requests.rateLimited,
    ...tally.rowTotals,
    rejected: report.rejected.new,
    leftDue: report.left.due,
    error: ended && end.outcome === 'failed' ? messageOf(ended) : null,
    summary: report,
  });
  // After the end is written down, which is what the next run goes by, and before it is published.
  await parts.warehouse.trim(parts.config.retention, now);
  context.observer.phase('publish', null);
  const published = await parts.warehouse.publish();
  context.observer.phaseEnd(`${(published.bytes / 1e6).toFixed(1)} MB`);
  return { ...report, published: { path: published.path, bytes: published.bytes, ms: published.ms } };
}

/** Every run reads the lists first: what one gets done of the rest is what it spent on other things. */
function runsFor(left: number, { requests: { byEndpoint } }: Tally): number | null {
  const everyRun = new Set<string>(['whoami', ...lists.map(({ name }) => name)]);
  const spent = Object.entries(byEndpoint).reduce(
    (sum, [endpoint, count]) => sum + (everyRun.has(endpoint) ? 0 : count),
    0,
  );
  return spent === 0 ? null : Math.ceil(left / spent);
}

function endOf(context: Context, work: Work, tally: Tally, ended: SignalhouseError | undefined): End {
  const incomplete =
    tally.rejected.new > 0 || context.failures.length > 0 || work.scans.some(({ fused }) => fused);
  if (ended instanceof RefusedError) return { outcome: 'failed', exitCode: ended.exitCode, stoppedBy: null };
  if (ended instanceof StoppedError) {
    const exitCode = incomplete ? ExitCode.incomplete : ExitCode.done;
    return { outcome: 'stopped', exitCode, stoppedBy: ended.message };
  }
  if (ended || work.listsFailed) return { outcome: 'failed', exitCode: ExitCode.failed, stoppedBy: null };
  if (incomplete) return { outcome: 'incomplete', exitCode: ExitCode.incomplete, stoppedBy: null };
  return { outcome: 'done', exitCode: ExitCode.done, stoppedBy: null };
}
