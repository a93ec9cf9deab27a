import { z } from 'zod';
import { ExitCode } from '../../base/errors.js';
import { command } from '../command.js';
import { amount, capOptions, toggle, whole } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/observer.js';
import { setUpAccess } from '../setup.js';
import { interruption } from '../signals.js';
import { previewSummary, pushSummary } from '../text/push-summary.js';

export const push = command({
  name: 'push',
  summary: 'Send the queued changes to the API, each exactly once',
  options: {
    'dry-run': { type: 'boolean', describe: 'Print what would be sent, and change nothing' },
    'on-conflict': {
      type: 'string',
      choices: ['report', 'overwrite', 'skip'],
      requiresArg: true,
      describe:
        'If somebody else changed the same field: report it (exit 3), overwrite it, or skip the change',
    },
    result: {
      type: 'string',
      requiresArg: true,
      describe: 'Write the imported file again, with the result of each row',
    },
    'max-requests': capOptions['max-requests'],
    'max-minutes': capOptions['max-minutes'],
    wait: capOptions.wait,
  },
  examples: [
    ['signalhouse push', 'Send everything that is queued'],
    ['signalhouse push --dry-run', 'Print each PATCH that it would send'],
    ['signalhouse push --result done.xlsx', 'Write the sheet again, with a result in each row'],
    ['signalhouse push --on-conflict overwrite', 'Overwrite what colleagues changed'],
  ],
  flags: z.object({
    dryRun: toggle.default(false),
    onConflict: z.enum(['report', 'overwrite', 'skip']).optional(),
    result: z.string().optional(),
    maxRequests: whole().optional(),
    maxMinutes: amount.optional(),
    wait: toggle.default(false),
  }),
  async run({ dryRun, ...flags }, context) {
    const app = await import('../../app/runs.js');
    const setup = await setUpAccess(context);
    const { config, log, progress } = setup;
    const signals = interruption(config.shutdownSeconds * 1000, (text) => log.warn(text));
    const { stop, kill } = signals;
    try {
      const observe = (api: Parameters<typeof observerOf>[0]) => observerOf(api, setup);
      if (dryRun) {
        const preview = await app.pushPreview(setup, { onConflict: flags.onConflict, stop, kill }, observe);
        progress?.close();
        if (context.json) printJson(preview);
        else print(previewSummary(preview));
        return ExitCode.done;
      }
      const report = await app.push(setup, { ...flags, stop, kill }, observe);
      progress?.close();
      process.exitCode = report.exitCode;
      if (context.json) printJson(report);
      else print(pushSummary(report));
      return report.exitCode;
    } finally {
      progress?.close();
      signals.release();
    }
  },
});
