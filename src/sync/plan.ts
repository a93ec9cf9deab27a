import { minutesFor } from '../api/budget-time.js';
import { ExitCode, SignalhouseError } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { countDue } from './due.js';
import { readLists } from './lists.js';
import type { PlanReport, ScanReport, SyncOptions } from './report.js';
import { landOrganization, type RunParts, running } from './running.js';

/**
 * Reads the lists and says what a sync would fetch of their children and what that costs, before a request is spent on
 * any. What the lists said is kept; nothing is deleted. With a cap, says what the cap would leave.
 */
export async function runPlan(
  parts: RunParts,
  options: SyncOptions,
  observer: RunObserver,
): Promise<PlanReport> {
  const uncapped: SyncOptions = { ...options, maxRequests: undefined, maxMinutes: undefined };
  return running(parts, 'plan', uncapped, observer, async (run) => {
    const { context, selection, tally, runId } = run;
    const scans: ScanReport[] = [];
    const ended = await (async () => {
      await landOrganization(run);
      return readLists(context, selection.lists, scans, { settles: false });
    })().catch((error: unknown) => error);
    if (ended instanceof Error && !(ended instanceof SignalhouseError)) throw ended;
    await context.batcher.flush();
    const now = new Date(parts.clock.now());
    const lines = await countDue(context.store, selection.children, parts.config, now);
    const spent = tally.requests.total;
    const children = lines.reduce((sum, line) => sum + line.requests, 0);
    const total = spent + children;
    const failed = ended instanceof SignalhouseError;
    const report: PlanReport = {
      organization: parts.identity.organization,
      lists: scans,
      lines,
      spent,
      requests: { lists: spent, children, total },
      minutes: minutesFor(total, parts.config),
      left: leftBy(options, spent, children, parts),
    };
    await parts.warehouse.finishRun(runId, {
      endedAt: now,
      outcome: failed ? 'failed' : 'done',
      exitCode: failed ? ended.exitCode : ExitCode.done,
      requests: spent,
      rateLimited: tally.requests.rateLimited,
      ...tally.rowTotals,
      rejected: tally.rejected.new,
      leftDue: lines.reduce((sum, line) => sum + line.due, 0),
      error: failed ? ended.message : null,
      summary: report,
    });
    if (failed) throw ended;
    return report;
  });
}

/** What a cap on requests or minutes leaves of the children, the lists being paid for first. */
function leftBy(
  options: SyncOptions,
  lists: number,
  children: number,
  { config }: RunParts,
): PlanReport['left'] {
  const { maxRequests, maxMinutes } = options;
  if (maxRequests === undefined && maxMinutes === undefined) return null;
  const perMinute = config.rateLimit.requests / (config.rateLimit.windowMs / 60_000);
  const allowed = Math.min(
    maxRequests ?? Number.POSITIVE_INFINITY,
    (maxMinutes ?? Number.POSITIVE_INFINITY) * perMinute,
  );
  const requests = Math.max(0, children - Math.max(0, Math.floor(allowed) - lists));
  return { requests, minutes: minutesFor(requests, config) };
}
