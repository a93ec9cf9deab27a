import { z } from 'zod';
import { commandLine, osPerson } from '../../../base/os-user.js';
import type { PreparedUndo } from '../../../push/undo.js';
import { command } from '../../command.js';
import { text, toggle } from '../../flags.js';
import { setUp } from '../../setup.js';
import { undoPreview, undoSummary } from '../../text/queue-summary.js';
import { queueAfterPreview } from './after-preview.js';

const texts = {
  preview: undoPreview,
  summary: undoSummary,
  countOf: ({ changes }: PreparedUndo) => changes.length,
};

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
      describe: 'Who requests the undo (default: the user at the terminal)',
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
    const options = { requestedBy: by ?? osPerson() ?? commandLine, dryRun, wait };
    return queueAfterPreview(context, { full, yes }, texts, async (confirm) =>
      undoChanges(await setUp(context), what, options, confirm),
    );
  },
});
