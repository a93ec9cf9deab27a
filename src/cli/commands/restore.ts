import type { RestoreReport } from '../../app/restore.js';
import { count, counted, duration, moment } from '../../base/units.js';
import { command, text, toggle } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { countsTable, list, pairs, sections, some } from '../text/layout.js';
import { nameOf } from '../text/sync.js';

export const restore = command({
  name: 'restore',
  usage: '<dir>',
  summary: 'Restore the data directory from a backup of another one',
  examples: [
    ['signalhouse restore /tmp/backup/var/lib/signalhouse', 'The folder that a backup program restored'],
    ['signalhouse restore /tmp/backup/data --dry-run', 'Check it, and show what it has and how old it is'],
    ['signalhouse restore /tmp/backup/data --replace', 'Where the data directory is not empty'],
  ],
  flags: {
    dir: text.describe('The data directory as a backup program restored it'),
    dryRun: toggle.describe('Only check the backup and show what is in it'),
    replace: toggle.describe('Move what is in the data directory aside, into a folder in it'),
  },
  async run({ dir, dryRun, replace }, context) {
    const { restore } = await import('../../app/restore.js');
    const setup = await setUp(context);
    const report = await restore(setup, dir, { dryRun, replace }).finally(() => setup.progress?.close());
    return answer(context, report, restoreText);
  },
});

function restoreText(report: RestoreReport): string {
  const { outcome, from, to, organization, asOf, ageMinutes, changes, mayHaveBeenSent, movedTo } = report;
  const age = `${moment(asOf)} (${duration(ageMinutes * 60_000)} ago)`;
  const notes = [...report.notes];
  if (mayHaveBeenSent > 0)
    notes.push(
      `${counted(mayHaveBeenSent, 'queued change')} may have been sent after the backup: the next push asks the API before it sends one`,
    );
  if (outcome === 'restored')
    notes.push('What happened in the API since then comes with the next signalhouse sync');
  return sections([
    [
      outcome === 'restored' ? `Restored ${to}` : `Nothing was changed: --dry-run of a restore to ${to}`,
      pairs([
        ['from', from],
        ['organization', organization && nameOf(organization)],
        ['as of', age],
        ['forgotten', report.forgotten === 0 ? null : `${counted(report.forgotten, 'request')} completed`],
        ['other files', count(report.files.length)],
        ['moved aside', movedTo],
      ]),
    ],
    ['Rows', countsTable('table', 'rows', report.rows)],
    ['Changes', countsTable('status', 'changes', changes as Record<string, number>)],
    ['Files', list(some(report.files))],
    ['Notes', list(notes)],
  ]);
}
