import { z } from 'zod';
import { command } from '../command.js';
import { toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/watch.js';
import { setUpAccess } from '../setup.js';
import { interruption } from '../signals.js';
import { syncSummary } from '../text/sync-summary.js';
import { capOptions, caps } from './caps.js';
import { runPlan } from './plan.js';

export const sync = command({
  name: 'sync',
  summary: 'Pull everything that is due into the warehouse, and publish it',
  options: {
    ...capOptions,
    'accept-deletes': { type: 'boolean', describe: 'Let more deletions through than the fuse allows' },
    'dry-run': { type: 'boolean', describe: 'Only say what is due, as `plan` does' },
  },
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes with everything kept'],
    ['signalhouse sync --only topics,companies', 'These lists and their children'],
    ['signalhouse sync --json > run.json', 'The summary for a program'],
  ],
  flags: z.object({
    ...caps,
    acceptDeletes: toggle.default(false),
    dryRun: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ dryRun, ...flags }, context) {
    if (dryRun) return runPlan(flags, context);
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
