import { z } from 'zod';
import type { LakeAfterSync } from '../../app/lake.js';
import type { Planned, SyncPushReport } from '../../app/runs.js';
import { ExitCode, UsageError } from '../../base/errors.js';
import type { SyncReport } from '../../sync/report.js';
import { inboxView, planView, pushView, syncView } from '../../view/run.js';
import { paragraphs, viewText } from '../../view/text.js';
import type { View } from '../../view/view.js';
import { type Context, command, limits, only, text, toggle, wait } from '../command.js';
import { all, type Done, forAllOrOne } from '../organizations.js';
import { answer } from '../output.js';
import { observed, setUpAccess, setUpLakeAccess } from '../setup.js';
import { lakeAfterSyncText } from './lake.js';

/** The commands that make a run: `sync`, `plan` and `push`. */

/** Loaded only when one of them runs, so that --help does not load a database. */
const app = () => import('../../app/runs.js');

const syncFlags = {
  only,
  ...limits,
  wait,
  push: toggle.describe('First import the drop folder (inbox/) and send the queued changes'),
  acceptDeletes: toggle.describe('Accept more deletions than sync.deletes allows'),
  lake: toggle.describe('Then publish to the lake; exit 3 when only that fails'),
};
type SyncFlags = z.output<z.ZodObject<typeof syncFlags>>;

export const sync = command({
  name: 'sync',
  summary: 'Pull everything that is due into the warehouse, and publish it',
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes'],
    ['signalhouse sync --push --max-minutes 50', 'Push changes, then pull'],
    ['signalhouse sync --lake', 'Pull, then publish to the lake'],
    ['signalhouse sync --only topics,companies', 'These lists and their details'],
    ['signalhouse sync --push --all', 'Every organization of the file'],
    ['signalhouse sync --json > run.json', 'The summary as JSON'],
  ],
  flags: {
    ...syncFlags,
    dryRun: toggle.describe('Only show what is due and what retention drops, as `plan` does'),
    all,
  },
  async run({ dryRun, all: isAll, ...flags }, context) {
    if (dryRun)
      return forAllOrOne(
        context,
        isAll,
        (one) => planOf(flags, one),
        (report) => shown(planView(report)),
      );
    return forAllOrOne(context, isAll, (one) => syncOf(flags, one), summaryOf);
  },
});

function shown(view: View): string {
  return viewText(view, Date.now());
}

type Synced = (SyncReport | SyncPushReport) & { readonly lake?: LakeAfterSync };

async function syncOf({ push, lake, ...flags }: SyncFlags, context: Context): Promise<Done<Synced>> {
  const { sync: runSync, syncAndPush } = await app();
  const pull = push ? syncAndPush : runSync;
  const result = lake
    ? await observed(setUpLakeAccess(context), async (access, run) => {
        const { publishAfterSync } = await import('../../app/lake.js');
        return publishAfterSync(access, await pull(access, { ...flags, ...run }), run);
      })
    : await observed(setUpAccess(context), (access, run) => pull(access, { ...flags, ...run }));
  return { result, exitCode: result.exitCode };
}

function summaryOf(report: Synced): string {
  const parts = [shown(syncView(report))];
  if ('push' in report) {
    const { push, pushFailure, inbox } = report;
    parts.unshift(shown(inboxView(inbox)), push ? shown(pushView(push)) : `The push FAILED: ${pushFailure}`);
  }
  if (report.lake) parts.push(lakeAfterSyncText(report.lake));
  return paragraphs(parts);
}

const planFlags = { only, ...limits, wait };

export const plan = command({
  name: 'plan',
  summary: 'Show what a sync would fetch and how many requests that costs',
  examples: [
    ['signalhouse plan', 'What is due, in requests and minutes'],
    ['signalhouse plan --max-minutes 60', 'Also what an hour would leave due'],
    ['signalhouse plan --only topics --json', 'Topics and their details, as JSON'],
  ],
  flags: planFlags,
  async run(flags, context) {
    const { result, exitCode } = await planOf(flags, context);
    return answer(context, result, (report) => shown(planView(report)), exitCode);
  },
});

/** `plan`, and `sync --dry-run`. */
async function planOf(
  flags: z.output<z.ZodObject<typeof planFlags>>,
  context: Context,
): Promise<Done<Planned>> {
  const { plan: makePlan } = await app();
  const result = await observed(setUpAccess(context), (access, run) =>
    makePlan(access, { ...flags, ...run }),
  );
  return { result, exitCode: result.failures.length > 0 ? ExitCode.incomplete : ExitCode.done };
}

const conflictRules = ['report', 'overwrite'] as const;

export const push = command({
  name: 'push',
  summary: 'Send the queued changes to the API, each exactly once',
  examples: [
    ['signalhouse push', 'Send everything that is queued'],
    ['signalhouse push --result done.xlsx', 'Write the sheet with results'],
    ['signalhouse push --all', 'Every organization of the file'],
    ['signalhouse push --on-conflict overwrite', 'Overwrite what colleagues changed'],
  ],
  flags: {
    onConflict: z.enum(conflictRules).optional().meta({
      description: 'If somebody else changed the same field: report it (exit 3), or overwrite it',
      choices: conflictRules,
    }),
    result: text.optional().describe('Write the imported file again, with the result of each row'),
    ...limits,
    wait,
    all,
  },
  async run({ all: isAll, ...flags }, context) {
    const { push: runPush } = await app();
    if (isAll && flags.result !== undefined) {
      const problem = 'is one file, of one organization; name that with --organization instead of --all';
      throw new UsageError('The flags contradict each other.', [{ setting: '--result', problem }]);
    }
    const send = async (one: Context) => {
      const result = await observed(setUpAccess(one), (access, run) => runPush(access, { ...flags, ...run }));
      return { result, exitCode: result.exitCode };
    };
    return forAllOrOne(context, isAll, send, (report) => shown(pushView(report)));
  },
});
