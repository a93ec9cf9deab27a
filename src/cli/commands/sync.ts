import type { LakeAfterSync } from '../../app/lake.js';
import type { SyncPushReport } from '../../app/runs.js';
import type { WorkerOptions } from '../../app/worker.js';
import { ExitCode } from '../../base/errors.js';
import type { PlanReport, SyncOptions, SyncReport } from '../../sync/report.js';
import { type Context, command, limits, only, toggle, wait } from '../command.js';
import { all, type Done, forAllOrOne } from '../organizations.js';
import { answer } from '../output.js';
import { observed, setUpAccess, setUpLakeAccess } from '../setup.js';
import { lakeAfterSyncText } from '../text/lake.js';
import { paragraphs } from '../text/layout.js';
import { inboxText, pushSummary } from '../text/push.js';
import { planSummary, syncSummary } from '../text/sync.js';

export const sync = command({
  name: 'sync',
  summary: 'Pull everything that is due into the warehouse, and publish it',
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes and keep everything fetched'],
    ['signalhouse sync --push --max-minutes 50', 'A whole night: push changes, then pull'],
    ['signalhouse sync --lake', 'Pull, then publish to the lake what was pulled'],
    ['signalhouse sync --only topics,companies', 'These lists and their details'],
    ['signalhouse sync --push --all', 'Every organization of the settings file'],
    ['signalhouse sync --json > run.json', 'The summary as JSON'],
  ],
  flags: {
    only,
    ...limits,
    wait,
    push: toggle.describe('First import the drop folder (inbox/) and send the queued changes'),
    acceptDeletes: toggle.describe('Accept more deletions than sync.deletes allows'),
    lake: toggle.describe('Then publish to the lake; exit 3 when only that fails'),
    dryRun: toggle.describe('Only show what is due, as `plan` does'),
    all,
  },
  async run({ dryRun, all: isAll, ...flags }, context) {
    if (dryRun) return forAllOrOne(context, isAll, (one) => planOf(flags, one), planSummary);
    return forAllOrOne(context, isAll, (one) => syncOf(flags, one), summaryOf);
  },
});

interface SyncFlags
  extends Pick<SyncOptions & WorkerOptions, 'only' | 'maxRequests' | 'maxMinutes' | 'wait'> {
  readonly push: boolean;
  readonly lake: boolean;
  readonly acceptDeletes: boolean;
}

type Synced = (SyncReport | SyncPushReport) & { readonly lake?: LakeAfterSync };

async function syncOf({ push, lake, ...flags }: SyncFlags, context: Context): Promise<Done<Synced>> {
  // Loaded only now, so that --help does not load a database.
  const { sync: runSync, syncAndPush } = await import('../../app/runs.js');
  const toLake = lake ? await import('../../app/lake.js') : undefined;
  const lakeAccess = toLake && (await setUpLakeAccess(context));
  const setup = lakeAccess ?? (await setUpAccess(context));
  const result = await observed(setup, async (signals, observe) => {
    const pulled = await (push ? syncAndPush : runSync)(setup, { ...flags, ...signals }, observe);
    return toLake && lakeAccess ? toLake.publishAfterSync(lakeAccess, pulled, signals) : pulled;
  });
  return { result, exitCode: result.exitCode };
}

function summaryOf(report: Synced): string {
  const parts = [syncSummary(report)];
  if ('push' in report) {
    const { push, pushFailure, inbox } = report;
    parts.unshift(inboxText(inbox), push ? pushSummary(push) : `The push FAILED: ${pushFailure}`);
  }
  if (report.lake) parts.push(lakeAfterSyncText(report.lake));
  return paragraphs(parts);
}

export const plan = command({
  name: 'plan',
  summary: 'Show what a sync would fetch and how many requests that costs',
  examples: [
    ['signalhouse plan', 'What is due, in requests and minutes'],
    ['signalhouse plan --max-minutes 60', 'Also what an hour would leave for the next run'],
    ['signalhouse plan --only topics --json', 'Topics and their details, as JSON'],
  ],
  flags: { only, ...limits, wait },
  async run(flags, context) {
    const { result, exitCode } = await planOf(flags, context);
    return answer(context, result, planSummary, exitCode);
  },
});

/** `plan`, and `sync --dry-run`. */
async function planOf(
  flags: Pick<SyncOptions & WorkerOptions, 'only' | 'maxRequests' | 'maxMinutes' | 'wait'>,
  context: Context,
): Promise<Done<PlanReport>> {
  const { plan: makePlan } = await import('../../app/runs.js');
  const setup = await setUpAccess(context);
  const result = await observed(setup, (signals, observe) =>
    makePlan(setup, { ...flags, ...signals }, observe),
  );
  return { result, exitCode: result.failures.length > 0 ? ExitCode.incomplete : ExitCode.done };
}
