import { z } from 'zod';
import type { ImportFrom } from '../../../app/changes.js';
import { shellWord } from '../../../base/command-line.js';
import { type Problem, UsageError } from '../../../base/errors.js';
import { commandLine, osPerson } from '../../../base/os-user.js';
import type { PreparedImport } from '../../../push/import/import.js';
import type { ImportReport } from '../../../push/import/preview.js';
import { command } from '../../command.js';
import { text, toggle } from '../../flags.js';
import { setUp } from '../../setup.js';
import { importSummary, previewText } from '../../text/queue-summary.js';
import { queueAfterPreview } from './after-preview.js';

export const importCommand = command({
  name: 'import',
  usage: '[file]',
  summary: 'Queue the changes in a spreadsheet, after a preview',
  positionals: { file: { type: 'string', describe: '.xlsx, .ods, .csv or .tsv; - reads from stdin' } },
  options: {
    sheet: {
      type: 'string',
      requiresArg: true,
      describe: 'The sheet of a workbook (default: Topics or Companies, else the first visible one)',
    },
    sql: { type: 'string', requiresArg: true, describe: 'A SELECT instead of a file' },
    by: {
      type: 'string',
      requiresArg: true,
      describe: 'Who requests the changes (default: the user at the terminal, else who saved the file)',
    },
    full: { type: 'boolean', describe: 'Show every change in the preview, not only the first 20' },
    yes: { type: 'boolean', describe: 'Do not ask; required where nobody can be asked' },
    'skip-invalid': { type: 'boolean', describe: 'Queue the valid rows even when others are wrong' },
    'ignore-titles': {
      type: 'boolean',
      describe: 'Take each row for that of its id, also where its title or name is that of another',
    },
    'follow-merges': {
      type: 'boolean',
      describe: 'If a topic was merged since the sheet was written, change what it was merged into',
    },
    'dry-run': { type: 'boolean', describe: 'Only show what would be queued' },
    wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' },
  },
  examples: [
    ['signalhouse changes import topics.xlsx', 'Show what would change, and ask'],
    ['signalhouse changes import list.csv --yes --by kim', 'Without a question'],
    ['signalhouse changes import list.csv --skip-invalid', 'Only the valid rows'],
    [
      'signalhouse changes import --sql "SELECT topic_id, \'low\' AS priority FROM backlog WHERE companies = 0"',
      'A decision as SQL',
    ],
    ['signalhouse changes import plan.xlsx --sheet "Q3 plan"', 'One sheet of a workbook with several'],
    ['signalhouse changes import old.xlsx --follow-merges', 'Follow merges since the sheet was written'],
    ['cat list.csv | signalhouse changes import - --yes', 'From stdin'],
  ],
  flags: z.object({
    // yargs hands a lone dash over as an empty word.
    file: z.string('is given more than once').optional(),
    sheet: text.optional(),
    sql: text.optional(),
    by: text.optional(),
    full: toggle.default(false),
    yes: toggle.default(false),
    skipInvalid: toggle.default(false),
    ignoreTitles: toggle.default(false),
    followMerges: toggle.optional(),
    dryRun: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ file, sheet, sql, by, full, yes, dryRun, wait, ...rest }, context) {
    const from = sourceOf(file, sheet, sql);
    const { importChanges } = await import('../../../app/changes.js');
    const options = { requestedBy: by ?? osPerson(), otherwiseBy: commandLine, dryRun, wait, ...rest };
    const texts = textsOf([
      ...(sql === undefined ? [file || '-'] : ['--sql', sql]),
      ...(sheet === undefined ? [] : ['--sheet', sheet]),
    ]);
    return queueAfterPreview(context, { full, yes }, texts, async (confirm) =>
      importChanges(await setUp(context), from, options, confirm),
    );
  },
});

/** The texts of an import; they name the command that imports the same and follows merges. */
function textsOf(from: readonly string[]) {
  const follow = ['signalhouse', 'changes', 'import', ...from.map(shellWord), '--follow-merges'].join(' ');
  return {
    preview: (prepared: PreparedImport, isFull: boolean) => previewText(prepared, isFull, follow),
    summary: (report: ImportReport, isShown: boolean, isFull: boolean) =>
      importSummary(report, isShown, isFull, follow),
    countOf: ({ newChanges }: PreparedImport) => newChanges.length,
  };
}

function sourceOf(file: string | undefined, sheet: string | undefined, sql: string | undefined): ImportFrom {
  const problems: Problem[] = [];
  if (file !== undefined && sql !== undefined)
    problems.push({ setting: '--sql', problem: 'cannot be combined with a file' });
  if (sheet !== undefined && sql !== undefined)
    problems.push({ setting: '--sheet', problem: 'cannot be combined with --sql' });
  if (file === undefined && sql === undefined)
    problems.push({ setting: 'file', problem: 'is missing: name a file, - for stdin, or pass --sql' });
  const isPiped = file === '' || file === '-';
  if (isPiped && process.stdin.isTTY)
    problems.push({ setting: 'file', problem: 'is -, but nothing is piped in' });
  if (problems.length > 0) throw new UsageError('Cannot tell what to import.', problems);
  if (sql !== undefined) return { sql };
  return isPiped ? { stdin: process.stdin, sheet } : { path: file as string, sheet };
}
