import { z } from 'zod';
import type { LakeAfterSync } from '../../app/lake.js';
import type { SyncPushReport } from '../../app/runs.js';
import type { SyncReport } from '../../sync/report.js';
import { command } from '../command.js';
import { capOptions, caps, toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/observer.js';
import { setUpAccess, setUpLakeAccess } from '../setup.js';
import { interruption } from '../signals.js';
import { lakeAfterSyncText } from '../text/lake.js';
import { inboxText, pushSummary } from '../text/push-summary.js';
import { syncSummary } from '../text/sync-summary.js';
import { runPlan } from './plan.js';

export const sync = command({
  name: 'sync',
  summary: 'Pull everything that is due into the warehouse, and publish it',
  options: {
    ...capOptions,
    push: { type: 'boolean', describe: 'First import the drop folder (inbox/) and send the queued changes' },
    'accept-deletes': { type: 'boolean', describe: 'Accept more deletions than the fuse allows' },
    lake: { type: 'boolean', describe: 'Then publish to the lake; exit 3 when only that fails' },
    'dry-run': { type: 'boolean', describe: 'Only show what is due, as `plan` does' },
  },
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes and keep everything fetched'],
    ['signalhouse sync --push --max-minutes 50', 'A whole night: push changes, then pull'],
    ['signalhouse sync --lake', 'Pull, then publish to the lake what was pulled'],
    ['signalhouse sync --only topics,companies', 'These lists and their details'],
    ['signalhouse sync --json > run.json', 'The summary as JSON'],
  ],
  flags: z.object({
    ...caps,
    acceptDeletes: toggle.default(false),
    dryRun: toggle.default(false),
    push: toggle.default(false),
    lake: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ dryRun, push, lake, ...flags }, context) {
    if (dryRun) return runPlan(flags, context);
    // Loaded only now, so that --help does not load a database.
    const { sync: runSync, syncAndPush } = await import('../../app/runs.js');
    const toLake = lake ? await import('../../app/lake.js') : undefined;
    const lakeAccess = toLake && (await setUpLakeAccess(context, toLake.lakeSettingsProblems));
    const setup = lakeAccess ?? (await setUpAccess(context));
    const { config, log, progress } = setup;
    const signals = interruption(config.shutdownSeconds * 1000, (text) => log.warn(text));
    try {
      const { stop, kill } = signals;
      const options = { ...flags, stop, kill };
      const observe = (api: Parameters<typeof observerOf>[0]) => observerOf(api, setup);
      const pulled = push
        ? await syncAndPush(setup, options, observe)
        : await runSync(setup, options, observe);
      progress?.close();
      const report =
        toLake && lakeAccess ? await toLake.publishAfterSync(lakeAccess, pulled, signals) : pulled;
      // Set before printing: a reader that closes the pipe must not change the exit code.
      process.exitCode = report.exitCode;
      if (context.json) printJson(report);
      else print(summaryOf(report));
      return report.exitCode;
    } finally {
      progress?.close();
      signals.release();
    }
  },
});

function summaryOf(report: (SyncReport | SyncPushReport) & { readonly lake?: LakeAfterSync }): string {
  const pushed = 'push' in report ? [inboxText(report.inbox), pushText(report)] : [];
  const published = report.lake ? [lakeAfterSyncText(report.lake)] : [];
  return [...pushed, syncSummary(report), ...published].filter((text) => text !== '').join('\n\n');
}

function pushText({ push, pushFailure }: SyncPushReport): string {
  return push ? pushSummary(push) : `The push FAILED: ${pushFailure}`;
}
