import { z } from 'zod';
import { ExitCode } from '../../../base/errors.js';
import { counted } from '../../../base/units.js';
import { command } from '../../command.js';
import { text, toggle } from '../../flags.js';
import { canAsk, confirmed, notAsked, print, printJson } from '../../output.js';
import { osUser, setUp } from '../../setup.js';
import { undoPreview, undoSummary } from '../../text/undo-summary.js';

export const undo = command({
  name: 'undo',
  usage: '<what..>',
  summary: 'Queue the reverse of changes that were applied, after a preview',
  positionals: {
    what: {
      type: 'string',
      array: true,
      describe: 'A file (its last import), the id of an import, or ids from `changes list`',
    },
  },
  options: {
    by: {
      type: 'string',
      requiresArg: true,
      describe: 'Who requests the undo (default: the user of this machine)',
    },
    full: { type: 'boolean', describe: 'Show every change in the preview, not only the first 20' },
    yes: { type: 'boolean', describe: 'Do not ask' },
    'dry-run': { type: 'boolean', describe: 'Only show what would be queued' },
    wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' },
  },
  examples: [
    ['signalhouse changes undo topics.xlsx', 'Everything that the last import of a file changed'],
    ['signalhouse changes undo 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse push', 'Send the reverse changes'],
  ],
  flags: z.object({
    what: z.array(z.coerce.string().pipe(text)),
    by: text.optional(),
    full: toggle.default(false),
    yes: toggle.default(false),
    dryRun: toggle.default(false),
    wait: toggle.default(false),
  }),
  async run({ what, by, full, yes, dryRun, wait }, context) {
    const { undoChanges } = await import('../../../app/changes.js');
    const options = { requestedBy: by ?? osUser(), dryRun, wait };
    let isShown = false;
    const confirm = async (prepared: Parameters<typeof undoPreview>[0]) => {
      if (!context.json) print(undoPreview(prepared, full));
      isShown = true;
      if (context.json || !canAsk()) throw notAsked(`queue ${counted(prepared.changes.length, 'change')}`);
      return confirmed(`Queue ${prepared.changes.length === 1 ? 'this change' : 'these changes'}?`);
    };
    const report = await undoChanges(setUp(context), what, options, yes ? undefined : confirm);
    if (context.json) printJson(report);
    else print(undoSummary(report, isShown, full));
    return report.exitCode === 0 ? ExitCode.done : ExitCode.incomplete;
  },
});
