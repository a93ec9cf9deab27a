import type { ConfirmMerge } from '../../app/changes.js';
import { shellWord } from '../../base/command-line.js';
import { widthOf } from '../../base/display-width.js';
import { UsageError } from '../../base/errors.js';
import { commandLine, osPerson } from '../../base/os-user.js';
import { count, moment } from '../../base/units.js';
import type { KnownPerson, MergeReport, Pair } from '../../push/merges.js';
import { nameOf } from '../../view/run.js';
import { printable, rowLines, table, wide, wrap } from '../../view/text.js';
import { command, text, toggle, wait } from '../command.js';
import { answer, answerTo, print, refuseUnlessAsked, tableWidth } from '../output.js';
import { observed, setUpAccess } from '../setup.js';

export const mergePeople = command({
  name: 'merge-people',
  usage: '<source>',
  summary: 'Merge one person into another; it cannot be undone',
  examples: [
    ['signalhouse changes merge-people 47 --into 12 --dry-run', 'Only show both'],
    ['signalhouse changes merge-people 47 --into 12', 'Ask who stays'],
    ['signalhouse changes merge-people 47 --into 12 --confirm 47:12', 'Ask nothing'],
  ],
  flags: {
    source: text.describe('The id of the person who goes (people.id)'),
    into: text.describe('The id of the person who stays and gets everything'),
    confirm: text.optional().describe('SOURCE:TARGET once more (required when non-interactive)'),
    by: text.optional().describe('Requester, for the audit log (default: the user at the terminal)'),
    reason: text.optional().describe('Why, for the audit log'),
    dryRun: toggle.describe('Only show both people'),
    wait,
  },
  async run({ source, into, confirm, by, reason, dryRun, wait }, context) {
    if (confirm !== undefined && confirm !== `${source}:${into}`) {
      const problem = `is ${confirm}, and this would merge ${source} into ${into}: nothing was sent`;
      throw new UsageError('The confirmation is of another merge.', [{ setting: '--confirm', problem }]);
    }
    const options = {
      requestedBy: by ?? osPerson() ?? commandLine,
      requestedReason: reason ?? null,
      dryRun,
      wait,
    };
    const ask: ConfirmMerge = async (pair) => {
      const given = `--confirm ${shellWord(`${source}:${into}`)}`;
      const hint = `Nothing was sent. Pass ${given} to confirm it once more, or --dry-run to look only.`;
      refuseUnlessAsked(context, `merge ${source} into ${into}`, '--confirm', hint);
      const who = printable(nameOf(pair.target));
      return answerTo(`Type the id of the person who stays (${who}) to merge them for good: `);
    };
    const app = await import('../../app/changes.js');
    const show = (pair: Pair) => {
      if (!context.json) print(pairText(pair));
    };
    const report = await observed(setUpAccess(context), (access, run) =>
      app.mergePeople(access, [source, into], { ...options, ...run }, show, confirm ? undefined : ask),
    );
    return answer(context, report, mergeSummary, report.exitCode);
  },
});

/** Both people side by side, why they are probably the same, and what a merge does. */
function pairText({ source, target, score, reasons }: Pair): string {
  const at = (iso: string | null) => (iso === null ? null : moment(iso));
  const facts: [string, (one: KnownPerson) => string | number | null][] = [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['e-mail', ({ email }) => email],
    ['company', ({ company, companyId }) => company ?? companyId],
    ['accounts', ({ accounts, accountNames }) => accountNames.join(', ') || accounts],
    ['messages', ({ messages }) => messages],
    ['conversations', ({ conversations }) => conversations],
    ['last seen', ({ lastSeenAt }) => at(lastSeenAt)],
    ['is', ({ role }) => role],
    ['as of', ({ syncedAt }) => at(syncedAt)],
  ];
  const room = Math.max(20, Math.floor(((tableWidth() ?? 120) - 17) / 2));
  const rows = facts.flatMap(([name, of]) => {
    return rowLines([[name], whole(of(source), room), whole(of(target), room)]);
  });
  const why =
    score === null
      ? 'Nothing says that they are the same: they are not in probable_duplicates.'
      : `Probably the same (score ${score}): ${reasons.join('; ')}.`;
  const what = `Every account, e-mail address, company and conversation of ${nameOf(source)} moves to ${nameOf(target)}, and ${nameOf(source)} is gone. This cannot be undone: the API has no way back.`;
  return [
    table(['', 'goes', 'stays'], rows),
    ...[why, what].map((one) => wrap(printable(one), wide).join('\n')),
  ].join('\n\n');
}

/** A value in lines of at most `room` columns. Nothing is cut off: who decides for good has to see all of it. */
function whole(value: string | number | null, room: number): string[] {
  const text = printable(typeof value === 'number' ? count(value) : (value ?? '-'));
  return wrap(text, room).flatMap((line) => {
    // Characters may take two columns.
    const most = widthOf(line) === line.length ? room : Math.floor(room / 2);
    return line.match(new RegExp(`.{1,${most}}`, 'gu')) ?? [''];
  });
}

function mergeSummary({ source, target, outcome, error, id }: MergeReport): string {
  const pair = `${nameOf(source)} into ${nameOf(target)}`;
  const texts: Readonly<Record<MergeReport['outcome'], string>> = {
    merged: `Merged ${pair} (change ${id}). The next sync shows it.`,
    already_merged: `Nothing was sent: the API shows that ${pair} was merged already. The next sync shows it.`,
    declined: 'Nothing was sent: what was typed is not the id of the person who stays.',
    dry_run: 'Nothing was sent: --dry-run.',
    failed: `Not merged: ${error ?? ''}`,
    waiting: `Not merged yet, and it may have been sent: ${error ?? ''}\nIt is change ${id}: the next signalhouse push, or this command again, settles it.`,
  };
  return `\n${texts[outcome].split('\n').map(printable).join('\n')}`;
}
