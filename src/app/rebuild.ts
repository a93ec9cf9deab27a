import { ExitCode } from '../base/errors.js';
import type { ProgressDisplay } from '../base/observer.js';
import { checkRebuild, type RebuildCheck } from '../read/rebuild-check.js';
import { limitsOf, type Setup } from './setup.js';
import { asRun, type WorkerOptions, withWarehouse } from './worker.js';

/** `signalhouse rebuild`: every table from the raw documents, and what a rebuild of a restored copy would give. */

interface Shown extends Setup {
  readonly progress?: Pick<ProgressDisplay, 'phase' | 'progress'> | undefined;
}

/** Rebuilds every table and publishes. */
export async function rebuild(setup: Shown, options: WorkerOptions) {
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
export async function rebuildCopy(
  { config, progress }: Shown,
  onFolder: (remove: () => void) => void,
): Promise<RebuildCheckReport> {
  const started = performance.now();
  const onStep = (step: string) => progress?.phase(step, null);
  const found = await checkRebuild(limitsOf(config), { onFolder, onStep });
  return {
    ...found,
    seconds: (performance.now() - started) / 1000,
    exitCode: found.differences.length === 0 ? ExitCode.done : ExitCode.incomplete,
  };
}
