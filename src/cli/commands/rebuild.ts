import { z } from 'zod';
import { ExitCode } from '../../base/errors.js';
import { bytes, count, duration } from '../../base/units.js';
import type { Published } from '../../warehouse/publish.js';
import { command } from '../command.js';
import { toggle } from '../flags.js';
import { print, printJson } from '../output.js';
import { setUp } from '../setup.js';
import { table } from '../text/layout.js';

export const rebuild = command({
  name: 'rebuild',
  summary: 'Rebuild every table from the raw documents, without requests',
  options: { wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' } },
  examples: [
    ['signalhouse rebuild', 'After an upgrade that adds columns'],
    ['signalhouse rebuild --json', 'Rows by table, as JSON'],
  ],
  flags: z.object({ wait: toggle.default(false) }),
  async run({ wait }, context) {
    const { withWarehouse, worthCompacting } = await import('../../app/worker.js');
    const setup = await setUp(context);
    const { log, progress } = setup;
    try {
      const { rebuilt, published } = await withWarehouse(setup, { wait }, async (warehouse) => {
        log.info('rebuilding every table from the raw documents');
        progress?.phase('rebuild', null);
        const result = await warehouse.rebuild(({ table: name, done, total }) => {
          progress?.phase(`rebuild: ${name}`, total);
          progress?.progress(done, total);
        });
        progress?.phase('publish', null);
        return {
          rebuilt: result,
          published: await warehouse.publish({
            compactWhen: setup.config.tuning.compactWhen ?? worthCompacting,
          }),
        };
      });
      progress?.close();
      const { documents, rows, ms } = rebuilt;
      if (context.json) printJson({ documents, rows, seconds: ms / 1000, published });
      else print(rebuiltText(documents, rows, ms, published));
      return ExitCode.done;
    } finally {
      progress?.close();
    }
  },
});

function rebuiltText(
  documents: number,
  rows: Readonly<Record<string, number>>,
  ms: number,
  { path, bytes: size, userViews }: Published,
): string {
  const cells = Object.entries(rows)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, number]) => [name, count(number)]);
  const notes = userViews
    .flatMap(({ file, error }) => (error === null ? [] : [`\nviews/${file} is left out: ${error}`]))
    .join('');
  return `${table([{ name: 'table' }, { name: 'rows', right: true }], cells)}

${count(documents)} documents in ${duration(ms)}; published ${path} (${bytes(size)})${notes}`;
}
