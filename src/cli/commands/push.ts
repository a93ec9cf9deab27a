import { z } from 'zod';
import { ExitCode, UsageError } from '../../base/errors.js';
import { type Context, command, limits, text, toggle, wait } from '../command.js';
import { all, forAllOrOne } from '../organizations.js';
import { observed, setUpAccess } from '../setup.js';
import { previewSummary, pushSummary } from '../text/push.js';

const conflictRules = ['report', 'overwrite', 'skip'] as const;

export const push = command({
  name: 'push',
  summary: 'Send the queued changes to the API, each exactly once',
  examples: [
    ['signalhouse push', 'Send everything that is queued'],
    ['signalhouse push --dry-run', 'Print each PATCH that it would send'],
    ['signalhouse push --result done.xlsx', 'Write the sheet again, with a result in each row'],
    ['signalhouse push --all', 'Every organization of the settings file'],
    ['signalhouse push --on-conflict overwrite', 'Overwrite what colleagues changed'],
  ],
  flags: {
    dryRun: toggle.describe('Print what would be sent, and change nothing'),
    onConflict: z.enum(conflictRules).optional().meta({
      description:
        'If somebody else changed the same field: report it (exit 3), overwrite it, or skip the change',
      choices: conflictRules,
    }),
    result: text.optional().describe('Write the imported file again, with the result of each row'),
    ...limits,
    wait,
    all,
  },
  async run({ dryRun, all: isAll, ...flags }, context) {
    const app = await import('../../app/runs.js');
    if (isAll && flags.result !== undefined) {
      const problem = 'is one file, of one organization; name that with --organization instead of --all';
      throw new UsageError('The flags contradict each other.', [{ setting: '--result', problem }]);
    }
    if (dryRun) {
      const { onConflict } = flags;
      const preview = async (one: Context) => {
        const setup = await setUpAccess(one);
        const result = await observed(setup, (signals, observe) =>
          app.pushPreview(setup, { onConflict, ...signals }, observe),
        );
        return { result, exitCode: ExitCode.done };
      };
      return forAllOrOne(context, isAll, preview, previewSummary);
    }
    const send = async (one: Context) => {
      const setup = await setUpAccess(one);
      const result = await observed(setup, (signals, observe) =>
        app.push(setup, { ...flags, ...signals }, observe),
      );
      return { result, exitCode: result.exitCode };
    };
    return forAllOrOne(context, isAll, send, pushSummary);
  },
});
