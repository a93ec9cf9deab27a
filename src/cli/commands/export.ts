import { extname } from 'node:path';
import { z } from 'zod';
import { ExitCode, type Problem, UsageError } from '../../base/errors.js';
import { bytes, count } from '../../base/units.js';
import type { Exported, ExportFormat } from '../../warehouse/read/export.js';
import { command } from '../command.js';
import { text, toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { setUp } from '../setup.js';
import { table } from '../text/layout.js';

const formats = ['parquet', 'csv', 'json', 'ndjson'] as const satisfies readonly ExportFormat[];
const byExtension: Readonly<Record<string, ExportFormat>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

const flags = z.object({
  table: text.optional(),
  query: text.optional(),
  all: toggle.default(false),
  format: z.enum(formats, `must be one of ${formats.join(', ')}`).optional(),
  out: text.optional(),
  force: toggle.default(false),
});
type Flags = z.infer<typeof flags>;

export const exportCommand = command({
  name: 'export',
  usage: '[table]',
  summary: 'Write a table, a view, a query result or everything to Parquet, CSV or JSON',
  positionals: { table: { type: 'string', describe: 'A table or view, e.g. backlog or raw.documents' } },
  options: {
    query: {
      type: 'string',
      requiresArg: true,
      describe: 'Export the result of a SELECT instead of a table',
    },
    all: { type: 'boolean', describe: 'Export every table and view to a directory of Parquet files' },
    format: {
      type: 'string',
      requiresArg: true,
      describe: `${formats.join(', ')} (default: by file extension)`,
    },
    out: { type: 'string', requiresArg: true, describe: 'File to write; with --all, the directory' },
    force: { type: 'boolean', describe: 'Overwrite existing files' },
  },
  examples: [
    ['signalhouse export backlog --out backlog.csv', 'A view as CSV'],
    ['signalhouse export messages --out messages.parquet --force', 'A table; overwrite the file'],
    ['signalhouse export --query "FROM topics" --out t.json', 'A query result as JSON'],
    ['signalhouse export --all --out warehouse', 'Everything, as Parquet'],
  ],
  flags,
  async run(given, context) {
    const { exportEverything, exportOne } = await import('../../app/snapshot.js');
    const task = taskOf(given);
    const setup = setUp(context);
    const done =
      'dir' in task
        ? await exportEverything(setup, task.dir, given.force)
        : [await exportOne(setup, task.what, { ...task, force: given.force })];
    if (context.json) printJson(done);
    else print(doneText(done));
    return ExitCode.done;
  },
});

type Task =
  | { readonly dir: string }
  | {
      readonly what: { table: string } | { sql: string };
      readonly out: string;
      readonly format: ExportFormat;
    };

/** What to write where. Throws UsageError with every problem. */
function taskOf({ table: name, query, all, format: asked, out }: Flags): Task {
  const problems: Problem[] = [];
  const chosen = [name !== undefined, query !== undefined, all].filter(Boolean).length;
  if (chosen !== 1) problems.push({ setting: 'arguments', problem: 'give one of: a table, --query, --all' });
  if (out === undefined)
    problems.push({ setting: '--out', problem: 'is required: the file (or directory) to write' });
  if (all && asked !== undefined && asked !== 'parquet') {
    problems.push({ setting: '--format', problem: 'must be parquet with --all' });
  }
  const format = asked ?? byExtension[extname(out ?? '').toLowerCase()];
  if (!all && out !== undefined && format === undefined) {
    problems.push({ setting: '--format', problem: `is required: the extension of ${out} is not known` });
  }
  if (problems.length > 0 || out === undefined) throw new UsageError('The export cannot start.', problems);
  if (all) return { dir: out };
  const what = query === undefined ? { table: name ?? '' } : { sql: query };
  return { what, out, format: format ?? 'parquet' };
}

function doneText(done: readonly Exported[]): string {
  const [only] = done;
  if (done.length === 1 && only) return `${only.path}: ${count(only.rows)} rows, ${bytes(only.bytes)}`;
  return table(
    [{ name: 'name' }, { name: 'rows', right: true }, { name: 'size', right: true }],
    done.map((one) => [one.name, count(one.rows), bytes(one.bytes)]),
  );
}
