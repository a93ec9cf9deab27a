import { bytes, count, duration } from '../../base/units.js';
import type { Published } from '../../warehouse/publish.js';
import { command, wait } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';
import { countsTable } from '../text/layout.js';

export const rebuild = command({
  name: 'rebuild',
  summary: 'Rebuild every table from the raw documents, without requests',
  examples: [
    ['signalhouse rebuild', 'After an upgrade that adds columns'],
    ['signalhouse rebuild --json', 'Rows by table, as JSON'],
  ],
  flags: { wait },
  async run({ wait }, context) {
    const { withWarehouse, worthCompacting } = await import('../../app/worker.js');
    const setup = await setUp(context);
    const { config, log, progress } = setup;
    const done = await withWarehouse(setup, { wait }, async (warehouse): Promise<Rebuilt> => {
      log.info('rebuilding every table from the raw documents');
      progress?.phase('rebuild', null);
      const { documents, rows, ms } = await warehouse.rebuild(({ table, done, total }) => {
        progress?.phase(`rebuild: ${table}`, total);
        progress?.progress(done, total);
      });
      progress?.phase('publish', null);
      const compactWhen = config.tuning.compactWhen ?? worthCompacting;
      return { documents, rows, seconds: ms / 1000, published: await warehouse.publish({ compactWhen }) };
    }).finally(() => progress?.close());
    return answer(context, done, rebuiltText);
  },
});

interface Rebuilt {
  readonly documents: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly published: Published;
}

function rebuiltText({ documents, rows, seconds, published }: Rebuilt): string {
  const { path, bytes: size, userViews } = published;
  const notes = userViews
    .flatMap(({ file, error }) => (error === null ? [] : [`\nviews/${file} is left out: ${error}`]))
    .join('');
  return `${countsTable('table', 'rows', rows)}

${count(documents)} documents in ${duration(seconds * 1000)}; published ${path} (${bytes(size)})${notes}`;
}
