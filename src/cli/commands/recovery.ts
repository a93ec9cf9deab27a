import type { RebuildCheckReport } from '../../app/rebuild.js';
import type { RestoreReport } from '../../app/restore.js';
import { bytes, count, counted, duration, moment } from '../../base/units.js';
import { nameOf } from '../../view/run.js';
import { countsTable, list, pairs, paragraphs, sections, some } from '../../view/text.js';
import { command, text, toggle, wait } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { onDeath } from '../signals.js';

/** The commands that make a warehouse again: `rebuild` from its documents, `restore` from a backup. */

export const rebuild = command({
  name: 'rebuild',
  summary: 'Rebuild every table from the raw documents, without requests',
  examples: [
    ['signalhouse rebuild', 'After an upgrade that adds columns'],
    ['signalhouse rebuild --json', 'Rows by table, as JSON'],
    ['signalhouse rebuild --check', 'Whether a restored copy gives the same tables'],
  ],
  flags: {
    check: toggle.describe(
      'Restore and rebuild a copy of the published file and compare; exit 3 when a row differs',
    ),
    wait,
  },
  async run({ check, wait }, context) {
    const app = await import('../../app/rebuild.js');
    const setup = await setUp(context);
    const { progress } = setup;
    if (check) {
      let release = () => {};
      const report = await app
        .rebuildCopy(setup, (remove) => {
          release = onDeath(() => {
            remove();
            return true;
          });
        })
        .finally(() => {
          release();
          progress?.close();
        });
      return answer(context, report, checkText, report.exitCode);
    }
    const done = await app.rebuild(setup, { wait }).finally(() => progress?.close());
    return answer(context, done, ({ documents, rows, seconds, published }) => {
      const { path, bytes: size, userViews } = published;
      const notes = userViews.flatMap(({ file, error }) =>
        error === null ? [] : `\nviews/${file} is left out: ${error}`,
      );
      const took = `${count(documents)} documents in ${duration(seconds * 1000)}`;
      const what = `${took}; published ${path} (${bytes(size)})${notes.join('')}`;
      return paragraphs([countsTable('table', 'rows', rows), what]);
    });
  },
});

function checkText({ file, publishedAt, tables, rows, seconds, differences }: RebuildCheckReport): string {
  const what = `${file} of ${moment(publishedAt)}`;
  const effort = `${count(tables)} tables, ${count(rows)} rows, ${duration(seconds * 1000)}`;
  if (differences.length === 0) return `A restored and rebuilt copy is equal to ${what} (${effort}).`;
  const found = differences.map(({ table, missing, more, different, keys }) => {
    const rows = `${count(missing)} rows missing, ${count(more)} more, ${count(different)} different`;
    return `${table}: ${rows}${keys.length === 0 ? '' : `; first keys: ${keys.join('; ')}`}`;
  });
  return paragraphs([
    `A restored and rebuilt copy differs from ${what} (${effort}).`,
    list(found),
    'signalhouse rebuild makes these tables again from the raw documents, and publishes them.',
  ]);
}

export const restore = command({
  name: 'restore',
  usage: '<dir>',
  summary: 'Restore the data directory from a backup of another one',
  examples: [
    ['signalhouse restore /tmp/backup/var/lib/signalhouse', 'As restic restored it'],
    ['signalhouse restore /tmp/backup/data --dry-run', 'Check it, show its age'],
    ['signalhouse restore /tmp/backup/data --replace', 'Move what is there'],
  ],
  flags: {
    dir: text.describe('The data directory as a backup program restored it'),
    dryRun: toggle.describe('Only check the backup and show what is in it'),
    replace: toggle.describe('Move existing files into a subfolder first'),
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
