import { extname } from 'node:path';
import { UsageError } from '../base/errors.js';
import { counted, moment } from '../base/units.js';
import { recordExport, refuseUnrecorded } from '../privacy/audit.js';
import { type EditSheet, type EditSheetOptions, writeEditSheet } from '../push/edit-sheet.js';
import { withFullSnapshot } from '../read/snapshot.js';
import { command, text, toggle } from './command.js';
import { type Setup, setUp } from './setup.js';

export const sheet = command({
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'The backlog, ready to edit'],
    ['signalhouse changes sheet --out top.csv --where "message_count>9"', 'Some topics'],
    ['signalhouse changes sheet --out vip.xlsx --companies', 'Companies'],
  ],
  input: {
    out: text.optional().describe('The file to write, ending in .xlsx or .csv'),
    where: text.optional().describe('An SQL condition on topics (or companies)'),
    companies: toggle.describe('Companies instead of topics'),
    force: toggle.describe('Replace an existing file'),
  },
  check({ out = '' }) {
    if (['.xlsx', '.csv'].includes(extname(out).toLowerCase())) return;
    const problem = 'must end in .xlsx or .csv: the ending decides the format';
    throw new UsageError('Cannot tell what to write.', [{ setting: '--out', problem }]);
  },
  async run({ out = '', where, companies, force }, context) {
    const entityType = companies ? 'company' : 'topic';
    return makeSheet(await setUp(context), { out, where, entityType, overwrite: force });
  },
  show: madeText,
});

function madeText({ path, entityType, rows, oldest }: EditSheet): string {
  const what = entityType === 'topic' ? counted(rows, 'topic') : counted(rows, 'company', 'companies');
  return [
    `${path}: ${what}${oldest ? `, as of ${moment(oldest)}` : ''}`,
    `Edit and save it, then run: signalhouse changes import ${path}`,
  ].join('\n');
}

/** Writes a sheet to edit. `by` is who asked for it: by default the user of the operating system. */
export async function makeSheet(setup: Setup, options: EditSheetOptions, by?: string): Promise<EditSheet> {
  refuseUnrecorded(setup);
  const sheet = await withFullSnapshot(setup, (snapshot) => writeEditSheet(snapshot, options));
  const { entityType, path: file, rows } = sheet;
  const tables = [entityType === 'topic' ? 'topics' : 'companies'];
  recordExport(setup, { tables, format: 'sheet', rows, file }, by);
  return sheet;
}
