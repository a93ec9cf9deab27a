import { z } from 'zod';
import type { ConfirmPlan, ImportFrom } from '../../app/changes.js';
import { ExitCode, UsageError } from '../../base/errors.js';
import { commandLine, osPerson } from '../../base/os-user.js';
import { counted } from '../../base/units.js';
import type { PlanReport } from '../../push/plan.js';
import { headText, leftView, planView } from '../../view/preview.js';
import { paragraphs, viewText } from '../../view/text.js';
import { type Context, command, text, toggle, wait } from '../command.js';
import { answer, confirmed, print } from '../output.js';
import { setUp } from '../setup.js';

/** The commands that queue changes, after a preview: `changes import` and `changes undo`. */

const reason = text.optional().describe('Why, for the record: who reads what was decided sees it');
const full = toggle.describe('Show every change in the preview, not only the first 20');
const dryRun = toggle.describe('Only show what would be queued');

export const importChanges = command({
  name: 'import',
  usage: '[file]',
  summary: 'Queue the changes in a spreadsheet, after a preview',
  examples: [
    ['signalhouse changes import topics.xlsx', 'Show what would change, and ask'],
    ['signalhouse changes import list.csv --yes --by kim', 'Without a question'],
    ['signalhouse changes import list.csv --skip-invalid', 'Only the valid rows'],
    ['signalhouse changes import plan.xlsx --sheet "Q3 plan"', 'One of several sheets'],
    ['cat list.csv | signalhouse changes import - --yes', 'From stdin'],
  ],
  flags: {
    // yargs hands a lone dash over as an empty word.
    file: z
      .string('is given more than once')
      .optional()
      .describe('.xlsx, .ods, .csv or .tsv; - reads from stdin'),
    sheet: text
      .optional()
      .describe('The sheet of a workbook (default: Topics or Companies, else the first visible one)'),
    by: text
      .optional()
      .describe('Who requests the changes (default: the user at the terminal, else who saved the file)'),
    reason,
    full,
    yes: toggle.describe('Skip confirmation (required when non-interactive)'),
    skipInvalid: toggle.describe('Queue the valid rows even when others are wrong'),
    dryRun,
    wait,
  },
  async run({ file = '', sheet, by, reason: requestedReason, full, yes, dryRun, wait, ...rest }, context) {
    const from = sourceOf(file, sheet);
    const app = await import('../../app/changes.js');
    const who = { requestedBy: by ?? osPerson(), otherwiseBy: commandLine, requestedReason };
    const options = { ...who, dryRun, wait, ...rest };
    return queueAfterPreview(context, { yes, full }, async (confirm) =>
      app.importChanges(await setUp(context), from, options, confirm),
    );
  },
});

function sourceOf(file: string, sheet: string | undefined): ImportFrom {
  const isPiped = file === '' || file === '-';
  if (!isPiped) return { path: file, sheet };
  if (!process.stdin.isTTY) return { stream: process.stdin, name: 'standard input', sheet };
  const problem = 'is missing: name a file, or pipe one in and pass -';
  throw new UsageError('Cannot tell what to import.', [{ setting: 'file', problem }]);
}

export const undo = command({
  name: 'undo',
  usage: '<what..>',
  summary: 'Queue the reverse of changes that were applied, after a preview',
  examples: [
    ['signalhouse changes undo topics.xlsx', 'All that this file changed'],
    ['signalhouse changes undo 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse push', 'Send the reverse changes'],
  ],
  flags: {
    what: z
      .array(z.coerce.string().pipe(text))
      .describe('A file (by its content), the id of an import, or ids from `changes list`'),
    by: text.optional().describe('Who requests the undo (default: the user at the terminal)'),
    reason,
    full,
    yes: toggle.describe('Skip confirmation (required when non-interactive)'),
    dryRun,
    wait,
  },
  async run({ what, by, reason: requestedReason, full, yes, dryRun, wait }, context) {
    const { undoChanges } = await import('../../app/changes.js');
    const options = { requestedBy: by ?? osPerson() ?? commandLine, requestedReason, dryRun, wait };
    return queueAfterPreview(context, { yes, full }, async (confirm) =>
      undoChanges(await setUp(context), what, options, confirm),
    );
  },
});

/**
 * Runs a command that queues changes: shows the preview, asks, and prints the report, of which only the outcome where the
 * preview has shown the rest. With `--yes`, `work` gets no `confirm` and goes ahead.
 */
async function queueAfterPreview(
  context: Context,
  { yes, full }: { readonly yes: boolean; readonly full: boolean },
  work: (confirm?: ConfirmPlan) => Promise<PlanReport>,
): Promise<ExitCode> {
  let isShown = false;
  const confirm: ConfirmPlan = async (plan) => {
    if (!context.json) print(viewText(planView(plan, full), Date.now()));
    isShown = true;
    const number = plan.changes.length;
    const question = `Queue ${number === 1 ? 'this change' : 'these changes'}?`;
    return confirmed(context, `queue ${counted(number, 'change')}`, question, howToQueue);
  };
  const report = await work(yes ? undefined : confirm);
  const exitCode = report.exitCode === 0 ? ExitCode.done : ExitCode.incomplete;
  const text = () =>
    isShown
      ? paragraphs([headText(report), viewText(leftView(report), Date.now())])
      : viewText(planView(report, full), Date.now());
  return answer(context, report, text, exitCode);
}

const howToQueue =
  'Nothing was queued. Pass --yes to go ahead without a question, or --dry-run for the preview only.';
