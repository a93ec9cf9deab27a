import { bytes } from '../../base/units.js';
import { command, text, toggle } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

export const report = command({
  name: 'report',
  summary:
    'Write a report of charts and tables from the published file: one HTML file to read, print or send',
  examples: [
    ['signalhouse report --out report.html', 'Open it in a browser; it needs no network'],
    ['signalhouse report --since 2026-11-01', 'What changed this month'],
  ],
  flags: {
    out: text.default('report.html').describe('File to write (default report.html)'),
    since: text
      .optional()
      .describe(
        'Show what changed and what was pushed since this date (default: 7 days before the end of the data)',
      ),
    force: toggle.describe('Replace a file that is not a report'),
  },
  async run({ out, since, force }, context) {
    const { momentFrom, writeReport } = await import('../../app/report.js');
    const from = since === undefined ? null : momentFrom(since, '--since');
    const done = await writeReport(await setUp(context), { out, since: from, force });
    return answer(context, done, ({ path, bytes: size, asOf }) => {
      return `${path}: ${bytes(size)}${asOf === null ? '; there are no data yet' : ''}`;
    });
  },
});
