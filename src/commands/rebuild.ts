import { ExitCode } from '../base/errors.js';
import { bytes, count, duration, moment } from '../base/units.js';
import { onDeath } from '../cli/signals.js';
import { checkRebuild, type RebuildCheck } from '../read/rebuild-check.js';
import { limitsOf } from '../store/memory.js';
import { countsTable, list, paragraphs } from '../view/text.js';
import { command, toggle, wait } from './command.js';
import { type CommandSetup, type Setup, setUp } from './setup.js';
import { asRun, type WorkerOptions, withWarehouse } from './worker.js';

export const rebuild = command({
  examples: [
    ['signalhouse rebuild', 'After an upgrade that adds columns'],
    ['signalhouse rebuild --json', 'Rows by table, as JSON'],
    ['signalhouse rebuild --check', 'Whether a restored copy gives the same tables'],
  ],
  input: {
    check: toggle.describe(
      'Restore and rebuild a copy of the published file and compare; exit 3 when a row differs',
    ),
    wait,
  },
  async run({ check, wait }, context): Promise<Rebuilt | RebuildCheckReport> {
    const setup = await setUp(context);
    const work = check ? rebuildCopy(setup) : rebuildAll(setup, { wait });
    return work.finally(() => setup.progress?.close());
  },
  show: (done) => ('differences' in done ? checkText(done) : doneText(done)),
});

function doneText({ documents, rows, seconds, published }: Rebuilt): string {
  const { path, bytes: size, userViews } = published;
  const notes = userViews.flatMap(({ file, error }) =>
    error === null ? [] : `\nviews/${file} is left out: ${error}`,
  );
  const took = `${count(documents)} documents in ${duration(seconds * 1000)}`;
  const what = `${took}; published ${path} (${bytes(size)})${notes.join('')}`;
  return paragraphs([countsTable('table', 'rows', rows), what]);
}

function checkText({ file, publishedAt, tables, rows, seconds, differences }: RebuildCheckReport): string {
  const what = `${file} of ${moment(publishedAt)}`;
  const effort = `${count(tables)} tables, ${count(rows)} rows, ${duration(seconds * 1000)}`;
  if (differences.length === 0) return `A restored and rebuilt copy is equal to ${what} (${effort}).`;
  const found = differences.map(({ table, missing, more, different, keys }) => {
    const rows = `${count(missing)} rows missing, ${count(more)} more, ${count(different)} different`;
    return `${table}: ${rows}${keys.length === 0 ? '' : `; first keys: ${keys.join('; ')}`}`;
  });
  return paragraphs([
    `A restored and rebuilt copy differs from ${what} (${effort}).`,
    list(found),
    'signalhouse rebuild makes these tables again from the raw documents, and publishes them.',
  ]);
}

type Shown = CommandSetup<Setup>;

type Rebuilt = Awaited<ReturnType<typeof rebuildAll>>;

/** Rebuilds every table and publishes. */
async function rebuildAll(setup: Shown, options: WorkerOptions) {
  const { log, progress } = setup;
  return withWarehouse(setup, options, async (warehouse) => {
    log.info('rebuilding every table from the raw documents');
    progress?.phase('rebuild', null);
    const { documents, rows, ms } = await asRun(warehouse, setup, 'rebuild', () =>
      warehouse.rebuild(({ table, done, total }) => {
        progress?.phase(`rebuild: ${table}`, total);
        progress?.progress(done, total);
      }),
    );
    progress?.phase('publish', null);
    return { documents, rows, seconds: ms / 1000, published: await warehouse.publish() };
  });
}

export interface RebuildCheckReport extends RebuildCheck {
  readonly seconds: number;
  readonly exitCode: ExitCode;
}

/** Rebuilds a restored copy of the full snapshot, and compares; see `checkRebuild`. Takes no lock and changes nothing. */
async function rebuildCopy({ config, progress }: Shown): Promise<RebuildCheckReport> {
  const started = performance.now();
  let release = () => {};
  const onFolder = (remove: () => void) => {
    release = onDeath(() => {
      remove();
      return true;
    });
  };
  const onStep = (step: string) => progress?.phase(step, null);
  const found = await checkRebuild(limitsOf(config), { onFolder, onStep }).finally(() => release());
  return {
    ...found,
    seconds: (performance.now() - started) / 1000,
    exitCode: found.differences.length === 0 ? ExitCode.done : ExitCode.incomplete,
  };
}
