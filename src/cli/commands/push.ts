import { z } from 'zod';
import { command, limits, text, toggle, wait } from '../command.js';
import { answer } from '../output.js';
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
  },
  async run({ dryRun, ...flags }, context) {
    const app = await import('../../app/runs.js');
    const setup = await setUpAccess(context);
    if (dryRun) {
      const { onConflict } = flags;
      const preview = await observed(setup, (signals, observe) =>
        app.pushPreview(setup, { onConflict, ...signals }, observe),
      );
      return answer(context, preview, previewSummary);
    }
    const report = await observed(setup, (signals, observe) =>
      app.push(setup, { ...flags, ...signals }, observe),
    );
    return answer(context, report, pushSummary, report.exitCode);
  },
});
