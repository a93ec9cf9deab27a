import type { ConfirmMerge } from '../../app/merge-people.js';
import { shellWord } from '../../base/command-line.js';
import { UsageError } from '../../base/errors.js';
import { commandLine, osPerson } from '../../base/os-user.js';
import type { Pair } from '../../push/merge-people.js';
import { command, text, toggle, wait } from '../command.js';
import { answer, answerTo, canAsk, print } from '../output.js';
import { observed, setUpAccess } from '../setup.js';
import { mergeQuestion, mergeSummary, pairText } from '../text/merge-people.js';

export const mergePeople = command({
  name: 'merge-people',
  usage: '<source>',
  summary: 'Merge one person into another; it cannot be undone',
  examples: [
    ['signalhouse changes merge-people 4711 --into 1234 --dry-run', 'Show both, and whether it may be done'],
    [
      'signalhouse changes merge-people 4711 --into 1234',
      'Show both, and ask for the id of the one that stays',
    ],
    [
      'signalhouse changes merge-people 4711 --into 1234 --confirm 4711:1234 --by kim --reason "same person"',
      'Without a question',
    ],
  ],
  flags: {
    source: text.describe('The id of the person who goes (people.id)'),
    into: text.describe('The id of the person who stays and gets everything'),
    confirm: text.optional().describe('SOURCE:TARGET once more; required where nobody can be asked'),
    by: text.optional().describe('Who requests it, for the audit (default: the user at the terminal)'),
    reason: text.optional().describe('Why, for the audit'),
    dryRun: toggle.describe('Only show both people, and whether they may be merged'),
    wait,
  },
  async run({ source, into, confirm, by, reason, dryRun, wait }, context) {
    if (confirm !== undefined && confirm !== `${source}:${into}`) {
      const problem = `is ${confirm}, and this would merge ${source} into ${into}: nothing was sent`;
      throw new UsageError('The confirmation is of another merge.', [{ setting: '--confirm', problem }]);
    }
    const options = {
      ...{ requestedBy: by ?? osPerson() ?? commandLine, requestedReason: reason ?? null },
      ...{ dryRun, wait },
    };
    const ask: ConfirmMerge = async (pair, asked) => {
      if (context.json || !canAsk()) {
        const problem =
          'is missing, and there is nobody to ask: this is not a terminal, or --json was passed';
        const given = `--confirm ${shellWord(`${source}:${into}`)}`;
        throw new UsageError(
          `This would merge ${source} into ${into}.`,
          [{ setting: '--confirm', problem }],
          {
            hint: `Nothing was sent. Pass ${given} to confirm it once more, or --dry-run to look only.`,
          },
        );
      }
      return answerTo(mergeQuestion(pair, asked));
    };
    const app = await import('../../app/merge-people.js');
    const show = (pair: Pair) => {
      if (!context.json) print(pairText(pair));
    };
    const report = await observed(setUpAccess(context), (access, run) =>
      app.mergePeople(access, [source, into], { ...options, ...run }, show, confirm ? undefined : ask),
    );
    return answer(context, report, mergeSummary, report.exitCode);
  },
});
