import { z } from 'zod';
import { command } from '../command.js';
import { print, printJson } from '../output.js';
import { setUp } from '../setup.js';
import { statusSummary } from '../text/status-summary.js';

export const status = command({
  name: 'status',
  summary: 'What is in the warehouse, how fresh it is, and what is left due (exit 3: too old)',
  examples: [
    ['signalhouse status', 'Also while a sync runs'],
    ['signalhouse status --json | jq .contents.rejected', 'For a program'],
    ['signalhouse status > /dev/null || alert', 'Exit 3: older than serve.freshness allows'],
  ],
  flags: z.object({}),
  async run(_flags, context) {
    const { status: readStatus } = await import('../../app/status.js');
    const report = await readStatus(setUp(context));
    if (context.json) printJson(report);
    else print(statusSummary(report, Date.now()));
    return report.exitCode;
  },
});
