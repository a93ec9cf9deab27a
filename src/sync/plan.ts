import { minutesFor } from '../api/budget.js';
import type { RunObserver } from '../base/observer.js';
import { runLifecycle } from '../run/lifecycle.js';
import { readMeasured } from './ages.js';
import { countChecks } from './checks.js';
import { type SyncParts, syncContext } from './context.js';
import { due, inputOf } from './due.js';
import { foreseen } from './explained.js';
import { readLists } from './lists.js';
import type { PlanReport, ScanReport, SyncOptions } from './report.js';
import { stageOrganization } from './run.js';
import { selectResources } from './selection.js';
import { cost } from './task.js';

/**
 * Reads the lists and reports what a sync would fetch and how many requests that costs. What the lists returned is
 * stored; nothing is deleted. A list that cannot be read is named in the report. With a cap, the report says what the cap would leave.
 */
export async function runPlan(
  parts: SyncParts,
  options: SyncOptions,
  observer: RunObserver,
): Promise<PlanReport> {
  const { config, identity } = parts;
  const selection = selectResources(options.only, parts.resources);
  const uncapped = { stop: options.stop, kill: options.kill };
  const kind = { command: 'plan', publishes: () => false } as const;
  const { report, error } = await runLifecycle(parts, kind, uncapped, observer, (run) => {
    const context = syncContext(run, parts, options);
    const scans: ScanReport[] = [];
    return {
      afterMerge: ({ known }) => context.known.apply(known),
      async work() {
        context.known.apply(await context.store.readKnown());
        await stageOrganization(context, identity);
        await readLists(context, selection.lists, scans, { settles: false });
      },
      verdict: () => ({ incomplete: context.failures.length > 0 }),
      async report({ head, endedAt }) {
        const measured = await readMeasured(context.store);
        const found = due({ ...inputOf(context, selection.children), measured }, endedAt);
        const { tasks, mayBeExplained } = await foreseen(context.store, found.tasks);
        const lines = cost(tasks, selection.children);
        const spent = head.requests.total;
        const children = lines.reduce((sum, line) => sum + line.requests, 0);
        const checks = countChecks(context, found, spent + children);
        const total = spent + children + checks;
        const plan: PlanReport = {
          organization: identity.organization,
          lists: scans,
          lines,
          failures: context.failures,
          spent,
          requests: { lists: spent, children, checks, total },
          mayBeExplained: {
            lists: mayBeExplained.length,
            requests: mayBeExplained.reduce((sum, { requests }) => sum + requests, 0),
          },
          minutes: minutesFor(total, config),
          left: leftBy(options, spent, children, parts),
        };
        const leftDue = lines.reduce((sum, line) => sum + line.due, 0);
        return { report: plan, leftDue, summary: { ...plan, rows: context.tally.rows } };
      },
    };
  });
  if (error) throw error;
  return report;
}

/** What a cap on requests or minutes leaves unfetched; the lists are paid for first. */
function leftBy(
  options: SyncOptions,
  lists: number,
  children: number,
  { config }: Pick<SyncParts, 'config'>,
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
