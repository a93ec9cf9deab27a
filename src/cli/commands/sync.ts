import { z } from 'zod';
import type { ExitCode } from '../../base/errors.js';
import type { SyncOptions } from '../../sync/report.js';
import { type Context, command } from '../command.js';
import { failureOf } from '../failure.js';
import { toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/watch.js';
import { setUpAccess } from '../setup.js';
import { interruption } from '../signals.js';
import { bothSummary } from '../text/both-summary.js';
import { syncSummary } from '../text/sync-summary.js';
import { capOptions, caps } from './caps.js';
import { runPlan } from './plan.js';

export const sync = command({
  name: 'sync',
  summary: 'Pull everything that is due into the warehouse, and publish it',
  options: {
    ...capOptions,
    'accept-deletes': { type: 'boolean', describe: 'Let more deletions through than the fuse allows' },
    push: { type: 'boolean', describe: 'Push what is queued first, within the same caps' },
    'dry-run': { type: 'boolean', describe: 'Only say what is due, as `plan` does' },
  },
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes with everything kept'],
    ['signalhouse sync --push --max-minutes 50', 'A whole night: what is queued, then what is due'],
    ['signalhouse sync --only topics,companies', 'These lists and their children'],
    ['signalhouse sync --json > run.json', 'The summary for a program'],
  ],
  flags: z.object({
    ...caps,
    acceptDeletes: toggle.default(false),
    push: toggle.default(false),
    dryRun: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ dryRun, push, ...flags }, context) {
    if (dryRun) return runPlan(flags, context);
    if (push) return runBoth(flags, context);
    // Loaded only now: nobody who asks for help waits for a database.
    const { sync: runSync } = await import('../../app.js');
    const ground = setUpAccess(context);
    const { config, log, progress } = ground;
    const signals = interruption(config.sync.shutdownSeconds * 1000, (text) => log.warn(text));
    try {
      const { stop, kill } = signals;
      const report = await runSync(ground, { ...flags, stop, kill }, (api) =>
        observerOf(api, ground, config.api.concurrency),
      );
      progress?.close();
      // A reader that goes away while it is printed changes nothing about how the run went.
      process.exitCode = report.exitCode;
      if (context.json) printJson(report);
      else print(syncSummary(report));
      return report.exitCode;
    } finally {
      progress?.close();
      signals.release();
    }
  },
});

/** `sync --push`: both reports, and the exit code of what went worse. */
async function runBoth(flags: SyncOptions & { readonly wait: boolean }, context: Context): Promise<ExitCode> {
  const { pushAndSync } = await import('../../app/both.js');
  const ground = setUpAccess(context);
  const { config, log, progress } = ground;
  const { stop, kill, release } = interruption(config.sync.shutdownSeconds * 1000, (text) => log.warn(text));
  try {
    const observe = (api: Parameters<typeof observerOf>[0]) =>
      observerOf(api, ground, config.api.concurrency);
    const done = await pushAndSync(ground, { ...flags, stop, kill }, observe);
    progress?.close();
    process.exitCode = done.exitCode;
    const failure = done.pushFailure === null ? null : failureOf(done.pushFailure);
    if (context.json) printJson({ ...done, pushFailure: failure });
    else print(bothSummary(done, failure));
    return done.exitCode;
  } finally {
    progress?.close();
    release();
  }
}
