import { ExitCode } from '../base/errors.js';
import type { Age } from '../privacy/expire.js';
import { ageBy, confirmedNow } from '../run/lifecycle.js';
import { runPlan } from '../sync/plan.js';
import type { PlanReport, SyncOptions } from '../sync/report.js';
import { selectResources } from '../sync/selection.js';
import { planView } from '../view/run.js';
import { type Context, command, limits, only, wait } from './command.js';
import { observed, setUpAccess } from './setup.js';
import { type WorkerOptions, withWorker } from './worker.js';

export const plan = command({
  examples: [
    ['signalhouse plan', 'What is due, in requests and minutes'],
    ['signalhouse plan --max-minutes 60', 'Also what an hour would leave due'],
    ['signalhouse plan --only topics --json', 'Topics and their details, as JSON'],
  ],
  input: { only, ...limits, wait },
  run: planSync,
  show: planView,
  exitCode: planExitCode,
});

/** What a sync would do. */
export interface Planned extends PlanReport {
  /**
   * Rows that it would drop because they are too old (`retention`): how many messages lose their content, how many people their
   * personal fields, and before when each is too old. Null when no answer of the service confirms the time.
   */
  readonly retention: { readonly before: Age; readonly messages: number; readonly people: number } | null;
}

/** What a sync with these options would fetch, and what retention would drop: for `plan`, and `sync --dry-run`. */
export function planSync(input: SyncOptions & WorkerOptions, context: Context): Promise<Planned> {
  return observed(setUpAccess(context), (access, run) => {
    selectResources(input.only);
    const options = { ...input, ...run };
    return withWorker(access, options, async (parts, display) => {
      const report = await runPlan(parts, options, display);
      const { warehouse, clock, config } = parts;
      const now = confirmedNow(clock, new Date(clock.now()));
      if (now === null) return { ...report, retention: null };
      const before = ageBy(config.retention, now);
      return { ...report, retention: { before, ...(await warehouse.countExpired(before)) } };
    });
  });
}

export function planExitCode({ failures }: Planned): ExitCode {
  return failures.length > 0 ? ExitCode.incomplete : ExitCode.done;
}
