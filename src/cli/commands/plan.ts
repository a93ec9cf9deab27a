import { z } from 'zod';
import type { Access } from '../../app/setup.js';
import { ExitCode } from '../../base/errors.js';
import type { SyncOptions } from '../../sync/report.js';
import { type Context, command } from '../command.js';
import { capOptions, caps, toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { observerOf } from '../progress/observer.js';
import { setUpAccess } from '../setup.js';
import { interruption } from '../signals.js';
import { planSummary } from '../text/sync-summary.js';

export const plan = command({
  name: 'plan',
  summary: 'Show what a sync would fetch and how many requests that costs',
  options: capOptions,
  examples: [
    ['signalhouse plan', 'What is due, in requests and minutes'],
    ['signalhouse plan --max-minutes 60', 'Also what an hour would leave for the next run'],
    ['signalhouse plan --only topics --json', 'Topics and their details, as JSON'],
  ],
  flags: z.object({ ...caps, wait: toggle.optional() }),
  run: (flags, context) => runPlan(flags, context),
});

/** `plan`, and `sync --dry-run`. */
export async function runPlan(
  flags: Pick<SyncOptions, 'only' | 'maxRequests' | 'maxMinutes'> & { wait?: boolean | undefined },
  context: Context,
): Promise<ExitCode> {
  const { plan: makePlan } = await import('../../app/runs.js');
  const setup = await setUpAccess(context);
  const { config, log, progress } = setup;
  const signals = interruption(config.shutdownSeconds * 1000, (text) => log.warn(text));
  try {
    const { stop, kill } = signals;
    const options = { ...flags, wait: flags.wait ?? false, stop, kill };
    const report = await makePlan(setup satisfies Access, options, (api) => observerOf(api, setup));
    progress?.close();
    if (context.json) printJson(report);
    else print(planSummary(report));
    return report.failures.length > 0 ? ExitCode.incomplete : ExitCode.done;
  } finally {
    progress?.close();
    signals.release();
  }
}
