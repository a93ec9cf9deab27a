import { command } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { statusSummary } from '../text/status.js';

export const status = command({
  name: 'status',
  summary: 'Show what is in the warehouse, how fresh it is and what is left due (exit 3: stale or missing)',
  examples: [
    ['signalhouse status', 'Works while a sync runs'],
    ['signalhouse status --json | jq .contents.rejected', 'Rejected records, as JSON'],
    ['signalhouse status > /dev/null || alert', 'Exit 3 when data is too old (serve.freshness), or missing'],
  ],
  flags: {},
  async run(_flags, context) {
    const { status: readStatus } = await import('../../app/status.js');
    const report = await readStatus(await setUp(context));
    return answer(context, report, (one) => statusSummary(one, Date.now()), report.exitCode);
  },
});
