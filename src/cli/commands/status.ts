import { ExitCode } from '../../base/errors.js';
import { viewText } from '../../view/text.js';
import { command } from '../command.js';
import { all, forEach } from '../organizations.js';
import { answer, tableWidth } from '../output.js';
import { eachOrganization, setUp } from '../setup.js';

export const status = command({
  name: 'status',
  summary: 'Show what is stored, how fresh, what is due (exit 3: stale, missing)',
  examples: [
    ['signalhouse status', 'Works while a sync runs'],
    ['signalhouse status --all', 'Every organization, the worst first'],
    ['signalhouse status --json | jq .contents.rejected', 'Rejected records, as JSON'],
    ['signalhouse status > /dev/null || alert', 'Exit 3: stale, missing, incomplete'],
  ],
  flags: { all },
  async run({ all: isAll }, context) {
    const app = await import('../../app/status.js');
    if (!isAll) {
      const report = await app.status(await setUp(context));
      return answer(
        context,
        report,
        (one) => viewText(app.statusOf(one, Date.now()), Date.now()),
        report.exitCode,
      );
    }
    const { contexts } = await eachOrganization(context, { all: true, withKeys: false });
    const outcomes = await forEach(contexts, async (one) => {
      const result = await app.organizationStatus(await setUp(one), one.organization);
      return { result, exitCode: ExitCode.done };
    });
    const lines = app.inOrder(
      outcomes.map(({ organization, report, error }) => report ?? app.unreadable(organization, error)),
    );
    const exitCode = lines.every(app.isWell) ? ExitCode.done : ExitCode.incomplete;
    return answer(
      context,
      lines,
      (found) => viewText(app.organizationsView(found), Date.now(), tableWidth() ?? Number.POSITIVE_INFINITY),
      exitCode,
    );
  },
});
