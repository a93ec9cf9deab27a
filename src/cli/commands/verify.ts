import type { VerifyReport } from '../../app/verify.js';
import { count, duration, moment } from '../../base/units.js';
import { command } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { list } from '../text/layout.js';

export const verify = command({
  name: 'verify',
  summary: 'Rehearse a restore: restore a copy of the published file, rebuild it, and compare',
  examples: [
    ['signalhouse verify', 'Exit 3 when a row of the copy is not as it was published'],
    ['signalhouse verify --json', 'The tables that differ, with the first keys, as JSON'],
  ],
  flags: {},
  async run(_flags, context) {
    const { verify } = await import('../../app/verify.js');
    const setup = await setUp(context);
    const { progress } = setup;
    const report = await verify(setup, { progress }).finally(() => progress?.close());
    return answer(context, report, verifyText, report.exitCode);
  },
});

function verifyText({ file, publishedAt, tables, rows, seconds, differences }: VerifyReport): string {
  const what = `${file} of ${moment(publishedAt)}`;
  const effort = `${count(tables)} tables, ${count(rows)} rows, ${duration(seconds * 1000)}`;
  if (differences.length === 0) return `A restored and rebuilt copy is equal to ${what} (${effort}).`;
  const found = differences.map(({ table, missing, more, different, keys }) => {
    const rows = `${count(missing)} rows missing, ${count(more)} more, ${count(different)} different`;
    return `${table}: ${rows}${keys.length === 0 ? '' : `; first keys: ${keys.join('; ')}`}`;
  });
  return `A restored and rebuilt copy differs from ${what} (${effort}).

${list(found)}

signalhouse rebuild makes these tables again from the raw documents, and publishes them.`;
}
