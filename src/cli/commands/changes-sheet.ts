import { extname } from 'node:path';
import { UsageError } from '../../base/errors.js';
import { counted, moment } from '../../base/units.js';
import type { EditSheet } from '../../push/edit-sheet.js';
import { command, text, toggle } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

export const sheet = command({
  name: 'sheet',
  summary: 'Write topics or companies to a spreadsheet to edit',
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'The backlog, ready to edit'],
    ['signalhouse changes sheet --out top.csv --where "message_count>9"', 'Some topics'],
    ['signalhouse changes sheet --out vip.xlsx --companies', 'Companies'],
  ],
  flags: {
    out: text.optional().describe('The file to write, ending in .xlsx or .csv'),
    where: text.optional().describe('An SQL condition on topics (or companies)'),
    companies: toggle.describe('Companies instead of topics'),
    force: toggle.describe('Replace an existing file'),
  },
  async run({ out = '', where, companies, force }, context) {
    if (!['.xlsx', '.csv'].includes(extname(out).toLowerCase())) {
      const problem = 'must end in .xlsx or .csv: the ending decides the format';
      throw new UsageError('Cannot tell what to write.', [{ setting: '--out', problem }]);
    }
    const { makeSheet } = await import('../../app/changes.js');
    const options = { out, where, entityType: companies ? 'company' : 'topic', overwrite: force } as const;
    return answer(context, await makeSheet(await setUp(context), options), madeText);
  },
});

function madeText({ path, entityType, rows, oldest }: EditSheet): string {
  const what = entityType === 'topic' ? counted(rows, 'topic') : counted(rows, 'company', 'companies');
  return [
    `${path}: ${what}${oldest ? `, as of ${moment(oldest)}` : ''}`,
    `Edit and save it, then run: signalhouse changes import ${path}`,
  ].join('\n');
}
