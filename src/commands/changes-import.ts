import { z } from 'zod';
import { systemClock } from '../base/clock.js';
import { ExitCode, UsageError } from '../base/errors.js';
import { commandLine, osPerson } from '../base/os-user.js';
import { counted } from '../base/units.js';
import { confirmed, print, terminalText } from '../cli/output.js';
import { type ImportOptions, prepareImport } from '../push/import/import.js';
import { fromRecords, fromSheet, type ImportSource } from '../push/import/source.js';
import { type Plan, type PlanParts, type PlanReport, reportOf } from '../push/plan.js';
import { type Preview, Previews } from '../push/previews.js';
import { readQueue } from '../push/queue.js';
import { prepareUndo } from '../push/undo.js';
import { withFullSnapshot } from '../read/snapshot.js';
import type { Intake } from '../serve/http/writes.js';
import { headText, leftView, planView } from '../view/preview.js';
import { paragraphs } from '../view/text.js';
import type { View } from '../view/view.js';
import { changeQueue, type QueueOptions } from './changes.js';
import { type Context, command, text, toggle, wait } from './command.js';
import { type Setup, setUp } from './setup.js';
import { refuseWithoutWarehouse, type WorkerOptions } from './worker.js';

/**
 * Adds changes to the queue, from spreadsheets and as an undo, on the command line and over HTTP: a preview is made without the
 * warehouse, shown, and confirmed by its id, which queues exactly these changes.
 */

const reason = text.optional().describe('Why, for the record: who reads what was decided sees it');
const full = toggle.describe('Show every change in the preview, not only the first 20');
const dryRun = toggle.describe('Only show what would be queued');

export const importChanges = command({
  usage: '[file]',
  examples: [
    ['signalhouse changes import topics.xlsx', 'Show what would change, and ask'],
    ['signalhouse changes import list.csv --yes --by kim', 'Without a question'],
    ['signalhouse changes import list.csv --skip-invalid', 'Only the valid rows'],
    ['signalhouse changes import plan.xlsx --sheet "Q3 plan"', 'One of several sheets'],
    ['cat list.csv | signalhouse changes import - --yes', 'From stdin'],
  ],
  input: {
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
  check({ file = '' }) {
    if (!isPiped(file) || !process.stdin.isTTY) return;
    const problem = 'is missing: name a file, or pipe one in and pass -';
    throw new UsageError('Cannot tell what to import.', [{ setting: 'file', problem }]);
  },
  async run({ file = '', sheet, by, reason: requestedReason, ...options }, context) {
    const setup = await setUp(context);
    const from = isPiped(file) ? { stream: process.stdin, name: 'standard input' } : { path: file };
    const source = await fromSheet(from, { sheet });
    const who = { requestedBy: by ?? osPerson(), otherwiseBy: commandLine, requestedReason };
    return importFrom(setup, source, { ...options, ...who }, askAbout(context, options));
  },
  show: queuedView,
  exitCode: queuedExitCode,
});

function isPiped(file: string): boolean {
  return file === '' || file === '-';
}

export const undo = command({
  usage: '<what..>',
  examples: [
    ['signalhouse changes undo topics.xlsx', 'All that this file changed'],
    ['signalhouse changes undo 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse push', 'Send the reverse changes'],
  ],
  input: {
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
  async run({ what, by, reason: requestedReason, ...options }, context) {
    const setup = await setUp(context);
    const who = { requestedBy: by ?? osPerson() ?? commandLine, requestedReason };
    const plan = await planned(setup, (parts) => prepareUndo(parts, what, who));
    return afterPreview(setup, plan, options, askAbout(context, options));
  },
  show: queuedView,
  exitCode: queuedExitCode,
});

/** Sees a plan and decides. */
type ConfirmPlan = (plan: Plan) => Promise<boolean>;

interface Shown {
  readonly yes: boolean;
  readonly full: boolean;
  readonly dryRun: boolean;
}

/** Shows the preview on the terminal, and asks; undefined with `--yes`. */
function askAbout(context: Context, { yes, full }: Shown): ConfirmPlan | undefined {
  if (yes) return undefined;
  return (plan) => {
    if (!context.json) print(terminalText(planView(plan, full)));
    const number = plan.changes.length;
    const question = `Queue ${number === 1 ? 'this change' : 'these changes'}?`;
    return confirmed(context, `queue ${counted(number, 'change')}`, question, howToQueue);
  };
}

const howToQueue =
  'Nothing was queued. Pass --yes to go ahead without a question, or --dry-run for the preview only.';

/** The report; only the outcome where the preview has shown the rest. */
function queuedView(report: PlanReport, { yes, full, dryRun }: Shown): View | string {
  const isShown = !yes && !dryRun && report.changes.length > 0;
  if (!isShown) return planView(report, full);
  return paragraphs([headText(report), terminalText(leftView(report))]);
}

function queuedExitCode({ exitCode }: PlanReport): ExitCode {
  return exitCode === 0 ? ExitCode.done : ExitCode.incomplete;
}

export function previewsOf({ config, clock = systemClock }: Setup): Previews {
  return new Previews(config.dataDir, clock);
}

/** Makes a plan from the published file and the queue as they are now. */
export function planned(setup: Setup, prepare: (parts: PlanParts) => Promise<Plan>): Promise<Plan> {
  const { config, log } = setup;
  refuseWithoutWarehouse(config.dataDir);
  return withFullSnapshot(setup, async (store) => {
    const all = await readQueue(store, config, log);
    return prepare({ store, queue: { all: () => all }, settings: config });
  });
}

interface PlanOptions extends WorkerOptions {
  readonly dryRun: boolean;
}

/** Plans an import, and queues it. Without `confirm`, it goes ahead. */
export async function importFrom(
  setup: Setup,
  source: ImportSource,
  options: ImportOptions & PlanOptions,
  confirm?: ConfirmPlan,
): Promise<PlanReport> {
  const plan = await planned(setup, (parts) => prepareImport(parts, source, options));
  return afterPreview(setup, plan, options, confirm, source);
}

/** Stores the preview of a plan, has it confirmed, and queues exactly what it shows. */
async function afterPreview(
  setup: Setup,
  plan: Plan,
  options: PlanOptions,
  confirm?: ConfirmPlan,
  source?: ImportSource,
): Promise<PlanReport> {
  if (options.dryRun) return reportOf(plan, 'dry_run');
  const previews = previewsOf(setup);
  const preview = previews.add(plan, source);
  if (plan.changes.length === 0) {
    previews.set(preview.id, { state: 'done' });
    return reportOf(plan, 'nothing');
  }
  if (confirm && !(await confirm(plan))) {
    previews.set(preview.id, { state: 'cancelled' });
    return reportOf(plan, 'declined');
  }
  return confirmPreview(setup, preview, options);
}

/** Queues exactly what a preview shows. */
export function confirmPreview(setup: Setup, preview: Preview, options: QueueOptions): Promise<PlanReport> {
  return changeQueue(setup, options, async (queue) => previewsOf(setup).confirm(queue, preview));
}

/** The source of changes that come over HTTP, in messages and in the queue. */
const overHttp = 'HTTP';

/**
 * `POST /changes`: the rules of `changes import`, under the same lock. Rows of JSON are numbered from 1, rows of CSV as in
 * a spreadsheet program. `exclusively` runs work while no job runs, and rejects when one does.
 */
export function intakeOf(
  setup: Setup,
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>,
): Intake {
  return async (sheet, by) => {
    const options = { requestedBy: by, dryRun: false };
    // Read before anything is locked: a sheet that makes no sense must not block others.
    const source =
      sheet.kind === 'csv'
        ? await fromSheet({ bytes: sheet.bytes, name: overHttp })
        : fromRecords(sheet.rows, overHttp);
    return exclusively('an import', async () => {
      const { queued, problems, rows } = await importFrom(setup, source, options);
      const conflicts = rows.flatMap(({ row, outcome, text: problem }) =>
        outcome === 'conflict' ? [{ row, column: null, value: null, problem }] : [],
      );
      return { queued: queued.length, problems: [...problems, ...conflicts] };
    });
  };
}
