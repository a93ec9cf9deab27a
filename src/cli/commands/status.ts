import { z } from 'zod';
import { ExitCode } from '../../base/errors.js';
import { command } from '../command.js';
import { print, printJson } from '../output.js';
import { setUp } from '../setup.js';
import { statusSummary } from '../text/status-summary.js';

export const status = command({
  name: 'status',
  summary: 'What is in the warehouse, how fresh it is, and what is left due',
  examples: [
    ['signalhouse status', 'Also while a sync runs'],
    ['signalhouse status --json | jq .contents.rejected', 'For a monitor'],
  ],
  flags: z.object({}),
  async run(_flags, context) {
    const { status: readStatus } = await import('../../app.js');
    const report = await readStatus(setUp(context));
    if (context.json) printJson(report);
    else print(statusSummary(report, Date.now()));
    return ExitCode.done;
  },
});
