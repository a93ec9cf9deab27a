import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { z } from 'zod';
import { messageOf, type Problem, UsageError } from '../../base/errors.js';
import { counted, moment } from '../../base/units.js';
import type { DuplicatesSheetOptions } from '../../push/duplicates-sheet.js';
import type { EditSheet, EditSheetOptions } from '../../push/edit-sheet.js';
import { command, names, text, toggle } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

const flags = {
  out: text.optional().describe('The file to write, ending in .xlsx or .csv'),
  where: text.optional().describe('An SQL condition on topics (or companies)'),
  query: text.optional().describe('A file with a SELECT that returns topic_id'),
  companies: toggle.describe('Companies instead of topics'),
  duplicates: toggle.describe('Pairs of topics that are probably the same, to decide which one stays'),
  columns: names.optional().describe('Only these columns, e.g. title,priority'),
  force: toggle.describe('Replace an existing file'),
};
type Flags = z.output<z.ZodObject<typeof flags>>;

export const sheet = command({
  name: 'sheet',
  summary: 'Write topics or companies to a spreadsheet to edit',
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'The backlog, ready to edit'],
    ['signalhouse changes sheet --out top.csv --where "message_count>9"', 'Some topics'],
    ['signalhouse changes sheet --out mine.xlsx --query mine.sql', 'Rows of your SQL'],
    ['signalhouse changes sheet --out vip.xlsx --companies', 'Companies'],
    ['signalhouse changes sheet --out same.xlsx --duplicates', 'Likely duplicates'],
  ],
  flags,
  async run(given, context) {
    const options = optionsOf(given);
    const { makeSheet } = await import('../../app/changes.js');
    return answer(context, await makeSheet(await setUp(context), options), madeText);
  },
});

/** The options of the sheet. Raises UsageError with every problem at once. */
function optionsOf(given: Flags): EditSheetOptions | DuplicatesSheetOptions {
  const { out, where, query, companies, duplicates, columns, force } = given;
  const others = { where, query, columns, companies: companies || undefined };
  const problems: Problem[] = [];
  if (out === undefined) problems.push({ setting: '--out', problem: 'is required: the file to write' });
  else if (!['.xlsx', '.csv'].includes(extname(out).toLowerCase()))
    problems.push({ setting: '--out', problem: 'must end in .xlsx or .csv: the ending decides the format' });
  if (where !== undefined && query !== undefined)
    problems.push({ setting: '--query', problem: 'cannot be combined with --where: both select the rows' });
  if (duplicates)
    for (const [setting, value] of Object.entries(others))
      if (value !== undefined)
        problems.push({ setting: `--${setting}`, problem: 'cannot be combined with --duplicates' });
  const sql = query === undefined ? undefined : queryIn(query, problems);
  if (problems.length > 0 || out === undefined) throw new UsageError('Cannot tell what to write.', problems);
  if (duplicates) return { out, overwrite: force };
  const entityType = companies ? 'company' : 'topic';
  return { out, entityType, where, query: sql, columns, overwrite: force };
}

function queryIn(path: string, problems: Problem[]): string {
  try {
    const sql = readFileSync(path, 'utf8');
    if (sql.trim() === '') problems.push({ setting: '--query', problem: `${path} is empty` });
    return sql;
  } catch (error) {
    problems.push({ setting: '--query', problem: messageOf(error) });
    return '';
  }
}

function madeText({ path, entityType, rows, leftOut, oldest, measured }: EditSheet): string {
  const noun = entityType === 'topic' ? 'topic' : 'company';
  const plural = entityType === 'topic' ? 'topics' : 'companies';
  const what =
    measured === undefined
      ? counted(rows, noun, plural)
      : `${counted(rows, 'pair')} of topics that are probably the same`;
  const lines = [`${path}: ${what}${oldest ? `, as of ${moment(oldest)}` : ''}`];
  if (leftOut > 0)
    lines.push(
      `${counted(leftOut, noun, plural)} left out: unknown, deleted or merged, so they cannot be changed.`,
    );
  if (measured) lines.push(measured);
  lines.push(`Edit and save it, then run: signalhouse changes import ${path}`);
  return lines.join('\n');
}
