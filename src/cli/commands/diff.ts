import { count } from '../../base/units.js';
import { command, names, text, toggle, whole } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { onDeath } from '../signals.js';

/** The rows of each kind that are shown of a table, and those that a workbook lists. */
const [shown, listed] = [3, 1_000];

export const diffCommand = command({
  name: 'diff',
  usage: '<old> [new]',
  summary: 'Show what changed between two published files: rows added, removed and changed',
  examples: [
    ['signalhouse diff 2026-11-20', 'Since that day, with publish.keep in the settings'],
    ['signalhouse diff signals-before.duckdb', 'Since a copy of the published file'],
    ['signalhouse diff old.duckdb new.duckdb --json', 'Two files, for programs'],
    ['signalhouse diff 2026-11-20 --table topics --limit 50', 'One table, with more of its rows'],
    ['signalhouse diff 2026-11-20 --out changes.xlsx', 'For a spreadsheet program, with the rows'],
  ],
  flags: {
    old: text.describe(
      'A published file, or a day: the newest kept snapshot up to then. The exit code is 0 whether or not anything differs, and 2 for files that cannot be compared',
    ),
    new: text.optional().describe('The file to compare it with (default: the published one)'),
    table: names
      .optional()
      .describe('Tables to compare, e.g. topics or ops.changes (default: all of the schema main)'),
    limit: whole(0)
      .optional()
      .describe(`Rows of each kind to show of a table (default ${shown}; with --out ${count(listed)})`),
    out: text.optional().describe('An .xlsx file to write, with the differing rows'),
    force: toggle.describe('Overwrite an existing file'),
  },
  async run({ old, new: now, table, limit, out, force }, context) {
    const [{ diff }, { diffText }] = await Promise.all([
      import('../../app/diff.js'),
      import('../text/diff.js'),
    ]);
    const setup = await setUp(context);
    let release = () => {};
    try {
      const report = await diff(setup, {
        ...{ old, new: now, tables: table, limit: limit ?? (out === undefined ? shown : listed) },
        out: out === undefined ? undefined : { path: out, force },
        onOpen: (abandon) => {
          release = onDeath(() => {
            abandon();
            return true;
          });
        },
      });
      return answer(context, report, diffText);
    } finally {
      release();
    }
  },
});
