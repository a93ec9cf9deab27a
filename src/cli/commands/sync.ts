import { z } from 'zod';
import type { SyncPushReport } from '../../app/runs.js';
import type { SyncReport } from '../../sync/report.js';
import { command } from '../command.js';
import { capOptions, caps, toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/observer.js';
import { osUser, setUpAccess } from '../setup.js';
import { interruption } from '../signals.js';
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
    'dry-run': { type: 'boolean', describe: 'Only show what is due, as `plan` does' },
  },
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes and keep everything fetched'],
    ['signalhouse sync --push --max-minutes 50', 'A whole night: push changes, then pull'],
    ['signalhouse sync --only topics,companies', 'These lists and their details'],
    ['signalhouse sync --json > run.json', 'The summary as JSON'],
  ],
  flags: z.object({
    ...caps,
    acceptDeletes: toggle.default(false),
    dryRun: toggle.default(false),
    push: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ dryRun, push, ...flags }, context) {
    if (dryRun) return runPlan(flags, context);
    // Loaded only now, so that --help does not load a database.
    const { sync: runSync, syncAndPush } = await import('../../app/runs.js');
    const setup = await setUpAccess(context);
    const { config, log, progress } = setup;
    const signals = interruption(config.sync.shutdownSeconds * 1000, (text) => log.warn(text));
    try {
      const { stop, kill } = signals;
      const options = { ...flags, stop, kill };
      const observe = (api: Parameters<typeof observerOf>[0]) => observerOf(api, setup);
      const report = push
        ? await syncAndPush(setup, { ...options, requestedBy: osUser() }, observe)
        : await runSync(setup, options, observe);
      progress?.close();
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

function summaryOf(report: SyncReport | SyncPushReport): string {
  if (!('push' in report)) return syncSummary(report);
  return [inboxText(report.inbox), pushText(report), syncSummary(report)]
    .filter((text) => text !== '')
    .join('\n\n');
}

function pushText({ push, pushFailure }: SyncPushReport): string {
  return push ? pushSummary(push) : `The push FAILED: ${pushFailure}`;
}
