import { extname } from 'node:path';
import { z } from 'zod';
import type { ExportedSheet } from '../../app/export.js';
import type { PersonReport } from '../../app/export-person.js';
import { type Problem, UsageError } from '../../base/errors.js';
import { bytes, count, counted } from '../../base/units.js';
import type { Exported, ExportFormat } from '../../read/export.js';
import { countsTable, sections, table } from '../../view/text.js';
import { command, text, toggle, wait } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { notHeldText } from './forget.js';

type Format = ExportFormat | 'xlsx';
const formats = ['parquet', 'csv', 'xlsx', 'json', 'ndjson'] as const satisfies readonly Format[];
const byExtension: Readonly<Record<string, Format>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.xlsx': 'xlsx',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
};

const flags = {
  table: text.optional().describe('A table or view, e.g. backlog or raw.documents'),
  query: text.optional().describe('Export the result of a SELECT instead of a table'),
  all: toggle.describe(
    'Export every table and view: to a directory with a folder for each and a manifest.json, or to an .xlsx file with a sheet for each',
  ),
  format: z
    .enum(formats, `must be one of ${formats.join(', ')}`)
    .optional()
    .describe(`${formats.join(', ')} (default: by file extension)`),
  person: text
    .optional()
    .describe(
      'Everything that is held about one person (id or e-mail address), without data of others, as JSON',
    ),
  out: text.optional().describe('File to write; with --all, the directory'),
  bom: toggle.describe('CSV: start with a byte order mark, so that Excel reads it as UTF-8'),
  safeCells: toggle.describe(
    'CSV: put an apostrophe before text that a spreadsheet program would run as a formula',
  ),
  force: toggle.describe('Overwrite existing files'),
  wait: wait.describe('--person: wait while another process holds the warehouse'),
};
type Flags = z.output<z.ZodObject<typeof flags>>;

export const exportCommand = command({
  name: 'export',
  usage: '[table]',
  summary: 'Write a table, a query or everything to Parquet, CSV, Excel or JSON',
  examples: [
    ['signalhouse export backlog --out backlog.csv', 'A view as CSV'],
    ['signalhouse export backlog --out backlog.xlsx', 'For Excel, without formulas'],
    ['signalhouse export messages --out messages.parquet --force', 'A table'],
    ['signalhouse export --query "FROM topics" --out t.json', 'A query result as JSON'],
    ['signalhouse export --all --out warehouse', 'Everything, as Parquet'],
    ['signalhouse export --person 90210 --out request-17.json', 'What is held of one'],
  ],
  flags,
  async run(given, context) {
    const task = taskOf(given);
    const setup = await setUp(context);
    const { force, wait } = given;
    if ('person' in task) {
      const { exportPerson } = await import('../../app/export-person.js');
      const done = await exportPerson(setup, task.person, { out: task.out, force, wait });
      return answer(context, done, personText, done.exitCode);
    }
    const { exportEverything, exportOne, exportWorkbook } = await import('../../app/export.js');
    if ('workbook' in task) {
      const done = await exportWorkbook(setup, task.workbook, { out: task.out, force });
      return answer(context, done, workbookText);
    }
    const done =
      'dir' in task
        ? await exportEverything(setup, task.dir, force)
        : [await exportOne(setup, task.what, { ...task, force })];
    return answer(context, done, doneText);
  },
});

type Named = { readonly table: string } | { readonly sql: string };

type Task =
  | { readonly person: string; readonly out: string }
  | { readonly dir: string }
  | { readonly workbook: Named | 'everything'; readonly out: string }
  | {
      readonly what: Named;
      readonly out: string;
      readonly format: ExportFormat;
      readonly bom: boolean;
      readonly safeCells: boolean;
    };

/** What to write where. Throws UsageError with every problem. */
function taskOf(given: Flags): Task {
  const { table: name, query, all, person, format: asked, out, bom, safeCells } = given;
  const problems: Problem[] = [];
  const wrong = (setting: string, problem: string) => problems.push({ setting, problem });
  const chosen = [name !== undefined, query !== undefined, all, person !== undefined].filter(Boolean).length;
  if (chosen !== 1) wrong('arguments', 'give one of: a table, --query, --all, --person');
  if (out === undefined) wrong('--out', 'is required: the file (or directory) to write');
  const csvFlags = [...(bom ? ['--bom'] : []), ...(safeCells ? ['--safe-cells'] : [])];
  if (person !== undefined) {
    for (const flag of [...(asked === undefined ? [] : ['--format']), ...csvFlags])
      wrong(flag, 'is not for --person, which writes JSON');
    if (problems.length > 0 || out === undefined) throw new UsageError('The export cannot start.', problems);
    return { person, out };
  }
  const ofFile = byExtension[extname(out ?? '').toLowerCase()];
  const format = asked ?? (all && ofFile !== 'xlsx' ? 'parquet' : ofFile);
  if (all && format !== 'parquet' && format !== 'xlsx')
    wrong('--format', 'must be parquet or xlsx with --all');
  if (out !== undefined && format === undefined)
    wrong('--format', `is required: the extension of ${out} is not known`);
  const why = format === 'xlsx' ? ': an .xlsx file needs neither, its text is UTF-8 and never a formula' : '';
  if (format !== undefined && format !== 'csv') for (const flag of csvFlags) wrong(flag, `is for CSV${why}`);
  if (problems.length > 0 || out === undefined || format === undefined)
    throw new UsageError('The export cannot start.', problems);
  const what = query === undefined ? { table: name ?? '' } : { sql: query };
  if (format === 'xlsx') return { workbook: all ? 'everything' : what, out };
  return all ? { dir: out } : { what, out, format, bom, safeCells };
}

function personText({ outcome, who, ids, held, leftOut, out }: PersonReport): string {
  if (outcome === 'nothing_held') return `${notHeldText('person', [who])} Nothing was written.`;
  return sections([
    [`Written: ${out}`, ids.length > 1 ? `People who were merged: ${ids.join(', ')}` : null],
    ['Rows that forget would change', countsTable('documents or table', 'rows', held)],
    [
      'Left out, because it is about others',
      table(
        ['column'],
        leftOut.map((one) => [one]),
        100,
      ),
    ],
  ]);
}

function workbookText(sheets: readonly ExportedSheet[]): string {
  const [first] = sheets;
  const rows = sheets.reduce((sum, one) => sum + one.rows, 0);
  const cut = sheets.reduce((sum, { cutCells }) => sum + cutCells, 0);
  const lines = [
    `${first?.path}: ${counted(sheets.length, 'sheet')}, ${counted(rows, 'row')}, ${bytes(first?.bytes ?? 0)}`,
  ];
  if (cut > 0) {
    lines.push(
      `${counted(cut, 'cell')} cut: a cell of an .xlsx file holds 32,767 characters. Export to .csv or .parquet for the whole text.`,
    );
  }
  return lines.join('\n');
}

function doneText(done: readonly Exported[]): string {
  const [only] = done;
  if (done.length === 1 && only) return `${only.path}: ${count(only.rows)} rows, ${bytes(only.bytes)}`;
  return table(
    ['name', 'rows#', 'size#'],
    done.map((one) => [one.name, one.rows, bytes(one.bytes)]),
  );
}
