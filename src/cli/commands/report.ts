import { z } from 'zod';
import { ExitCode } from '../../base/errors.js';
import { bytes } from '../../base/units.js';
import { command } from '../command.js';
import { text, toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { setUp } from '../setup.js';

export const report = command({
  name: 'report',
  summary:
    'Write a report of charts and tables from the published file: one HTML file to read, print or send',
  options: {
    out: { type: 'string', requiresArg: true, describe: 'File to write (default report.html)' },
    since: {
      type: 'string',
      requiresArg: true,
      describe:
        'Show what changed and what was pushed since this date (default: 7 days before the end of the data)',
    },
    force: { type: 'boolean', describe: 'Replace a file that is not a report' },
  },
  examples: [
    ['signalhouse report --out report.html', 'Open it in a browser; it needs no network'],
    ['signalhouse report --since 2026-11-01', 'What changed this month'],
  ],
  flags: z.object({
    out: text.default('report.html'),
    since: text.optional(),
    force: toggle.default(false),
  }),
  async run({ out, since, force }, context) {
    const { momentFrom, writeReport } = await import('../../app/report.js');
    const from = since === undefined ? null : momentFrom(since, '--since');
    const done = await writeReport(await setUp(context), { out, since: from, force });
    if (context.json) printJson(done);
    else print(`${done.path}: ${bytes(done.bytes)}${done.asOf === null ? '; there are no data yet' : ''}`);
    return ExitCode.done;
  },
});
