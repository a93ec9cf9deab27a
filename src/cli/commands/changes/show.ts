import { z } from 'zod';
import { ExitCode, UsageError } from '../../../base/errors.js';
import { command } from '../../command.js';
import { text } from '../../flags.js';
import { print, printJson } from '../../output.js';
import { setUp } from '../../setup.js';
import { changeText } from '../../text/changes-text.js';

export const show = command({
  name: 'show',
  usage: '<id>',
  summary: 'Show one change with every request that was made for it',
  positionals: { id: { type: 'string', describe: 'The id from `changes list`' } },
  examples: [
    ['signalhouse changes show 20261120101500123-000001-ab12', 'One change'],
    ['signalhouse changes show 20261120101500123-000001-ab12 --json', 'For a program'],
  ],
  flags: z.object({ id: text }),
  async run({ id }, context) {
    const { showChange } = await import('../../../app/changes.js');
    const change = await showChange(await setUp(context), id);
    if (!change) {
      throw new UsageError(`There is no change ${id}.`, [], {
        hint: 'signalhouse changes list shows the ids.',
      });
    }
    if (context.json) printJson(change);
    else print(changeText(change));
    return ExitCode.done;
  },
});
