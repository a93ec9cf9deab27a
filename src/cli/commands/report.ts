import { bytes } from '../../base/units.js';
import { command, text, toggle } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

export const report = command({
  name: 'report',
  summary: 'Write a report of charts and tables as one HTML file',
  examples: [
    ['signalhouse report --out report.html', 'Open it in a browser'],
    ['signalhouse report --since 2026-11-01', 'What changed this month'],
    ['signalhouse report --digest --out digest.txt', 'News since the last digest'],
  ],
  flags: {
    out: text
      .optional()
      .describe('File to write (default report.html or digest.html); .txt for a digest as text'),
    digest: toggle.describe('One short page instead: what is new, grew, waits, was decided and is at risk'),
    since: text
      .optional()
      .describe(
        'What changed since this date (default: 7 days before the end of the data; for a digest, the end of the one that is replaced)',
      ),
    force: toggle.describe('Replace a file that is not a report or digest'),
  },
  async run({ out, digest, since, force }, context) {
    const { momentFrom, writeDigest, writeReport } = await import('../../app/report.js');
    const from = since === undefined ? null : momentFrom(since, '--since');
    const name = out ?? (digest ? 'digest.html' : 'report.html');
    const write = digest ? writeDigest : writeReport;
    const done = await write(await setUp(context), { out: name, since: from, force });
    return answer(context, done, ({ path, bytes: size, asOf }) => {
      return `${path}: ${bytes(size)}${asOf === null ? '; there are no data yet' : ''}`;
    });
  },
});
