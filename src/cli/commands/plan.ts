import type { WorkerOptions } from '../../app/worker.js';
import { ExitCode } from '../../base/errors.js';
import type { SyncOptions } from '../../sync/report.js';
import { type Context, command, limits, only, wait } from '../command.js';
import { answer } from '../output.js';
import { observing, setUpAccess } from '../setup.js';
import { interruptible } from '../signals.js';
import { planSummary } from '../text/sync.js';

export const plan = command({
  name: 'plan',
  summary: 'Show what a sync would fetch and how many requests that costs',
  examples: [
    ['signalhouse plan', 'What is due, in requests and minutes'],
    ['signalhouse plan --max-minutes 60', 'Also what an hour would leave for the next run'],
    ['signalhouse plan --only topics --json', 'Topics and their details, as JSON'],
  ],
  flags: { only, ...limits, wait },
  run: runPlan,
});

/** `plan`, and `sync --dry-run`. */
export async function runPlan(
  flags: Pick<SyncOptions & WorkerOptions, 'only' | 'maxRequests' | 'maxMinutes' | 'wait'>,
  context: Context,
): Promise<ExitCode> {
  const { plan: makePlan } = await import('../../app/runs.js');
  const setup = await setUpAccess(context);
  const observe = await observing(setup);
  const report = await interruptible(setup, setup.config.shutdownSeconds, (signals) =>
    makePlan(setup, { ...flags, ...signals }, observe),
  );
  const isIncomplete = report.failures.length > 0;
  return answer(context, report, planSummary, isIncomplete ? ExitCode.incomplete : ExitCode.done);
}
